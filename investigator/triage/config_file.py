"""A deployment's settings in a file: vLLM's ``--config`` YAML, a JSON of arguments, ``LLM(...)`` in Python.

All three name the drafter under ``speculative_config``, with the same keys and one pair a line.
The target's ``model`` counts only near such a block: alone the word means anything.
"""

import re

from investigator.triage.reader import Piece
from investigator.triage.symptom import Setting

_BLOCK = re.compile(r"(?P<indent>\s*)['\"]?speculative[-_]config['\"]?\s{0,4}[:=]\s{0,4}(?P<rest>.*)$")
_MODEL = re.compile(
    r"(?:\s*|.{0,60}\bLLM\(\s*)['\"]?(?:model|model[-_]tag|model[-_]path)['\"]?\s{0,4}[:=]\s{0,4}"
    r"['\"]?(?P<value>[\w./@-]{1,200})['\"]?\s*[,)]?\s*$"
)
_PAIR = re.compile(
    r"\b(?P<key>method|model|revision|num_speculative_tokens)['\"]?\s{0,4}[:=]\s{0,4}['\"]?"
    r"(?P<value>[\w./@-]{1,200})"
)
_NAMES = {
    "method": "method",
    "model": "draft",
    "revision": "draft-revision",
    "num_speculative_tokens": "draft-tokens",
}
MAX_LINES = 40
NEAR = 60
"""Lines between the target's name and the block, at most."""


class ConfigFiles:
    """Finds ``speculative_config`` blocks and what stands beside them."""

    def __init__(self) -> None:
        self.settings: list[Setting] = []
        self._held: list[str] = []
        self._line = self._indent = self._seen = 0
        self._model: Setting | None = None

    def feed(self, piece: Piece) -> bool:
        """Take one piece; True when it belongs to such a block, or names its target."""
        if self._held and self._goes_on(piece.text):
            return True
        if "speculative" in piece.text and (match := _BLOCK.match(piece.text)) and "--" not in piece.text:
            self._held, self._line = [match["rest"]], piece.line
            self._indent, self._seen = len(match["indent"]), piece.line
            return True
        if "model" in piece.text and (match := _MODEL.match(piece.text)):
            self._model = Setting(name="target", value=match["value"], line=piece.line)
            if self._seen and piece.line - self._seen <= NEAR:
                self.settings.append(self._model)
                return True
        return False

    def finish(self) -> None:
        """Read the block that the input's end left open."""
        if self._held:
            self._close()

    def _goes_on(self, text: str) -> bool:
        """Hold a line of an open block; False when it stands outside."""
        whole = self._held[0].strip()
        braces = whole.startswith(("{", "dict("))
        depth = len(text) - len(text.lstrip())
        inside = _depth(self._held) > 0 if braces else not whole and depth > self._indent
        if inside and len(self._held) < MAX_LINES:
            self._held.append(text)
            return True
        self._close()
        return False

    def _close(self) -> None:
        found = list(_PAIR.finditer("\n".join(self._held)))
        self._held = []
        if {match["key"] for match in found} & {"method", "model"}:
            near = self._model and self._line - self._model.line <= NEAR
            self.settings += [self._model] if self._model and near else []
            self.settings += [
                Setting(name=_NAMES[match["key"]], value=match["value"], line=self._line) for match in found
            ]


def _depth(lines: list[str]) -> int:
    """How many braces and parentheses are open behind these lines."""
    text = "\n".join(lines)
    return sum(text.count(mark) for mark in "{(") - sum(text.count(mark) for mark in "})")
