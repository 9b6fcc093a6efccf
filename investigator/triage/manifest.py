"""A deployment's command as YAML spells it: a pod's ``command`` and ``args``, a compose file's ``command``.

Read line by line, so that a manifest and a log may stand in one input, and without a YAML parser,
which would need the whole of it. What comes out are the words of a command line.
"""

import json
import re
import shlex

from investigator.triage.command import ENGINE, Commands
from investigator.triage.reader import Piece

_KEY = re.compile(
    r"(?P<indent>[ ]{0,80}(?:-[ ]{1,8})?)(?P<key>image|entrypoint|command|args):(?:[ ]+(?P<rest>\S.*))?[ ]*$"
)
_KEYS = ("image:", "entrypoint:", "command:", "args:")
_VARIABLE = re.compile(
    r"[ ]*(?:-[ ]+)?(?:name:[ ]*)?['\"]?(?P<name>(?:VLLM|SGLANG)_[A-Z0-9_]{1,60})['\"]?"
    r"(?:[ ]*[:=][ ]*['\"]?(?P<value>[^\s'\"]{1,100})['\"]?)?[ ]*$"
)
_VALUE = re.compile(r"[ ]*value:[ ]*['\"]?(?P<value>[^\s'\"]{1,100})")
_BLOCK = re.compile(r"[|>][+-]?\d?")
MAX_TEXT = 64 * 1024
"""Characters of one container's command; more is no command."""


class Manifests:
    """Gathers each container's words and hands them to ``commands``."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._keys: dict[str, list[str]] = {}
        self._image = self._variable = ""
        self._line = self._size = 0
        self._open = ""
        self._depth = 0

    def feed(self, piece: Piece) -> bool:
        """Take one piece; True when it belongs to a container of an engine, as far as is known yet."""
        text = piece.text.rstrip()
        if self._open and self._goes_on(text):
            return True
        self._open = ""
        if self._variable or "LLM_" in text or "SGLANG_" in text:
            return self._environment(text, piece.line)
        if not text.lstrip(" -").startswith(_KEYS) or (match := _KEY.match(text)) is None:
            return False
        self._begin(match, piece.line)
        return True

    def finish(self) -> None:
        """Hand on what the last container asks for."""
        words = [
            word for key in ("entrypoint", "command", "args") for word in _words(self._keys.get(key, []))
        ]
        said = " ".join([self._image, *words])
        self._keys, self._open, self._size = {}, "", 0
        if ENGINE.search(said):
            self._commands.run(words, said, self._line)
        self._image = ""

    def _begin(self, match: re.Match[str], line: int) -> None:
        key, rest = match["key"], (match["rest"] or "").strip()
        if key in self._keys or (key == "image" and self._image):
            self.finish()
        self._line = self._line if self._keys or self._image else line
        if key == "image":
            self._image = _scalar(rest)
            return
        self._open, self._depth = key, len(match["indent"])
        self._keys[key] = [] if not rest or _BLOCK.fullmatch(rest) else [rest]
        if _BLOCK.fullmatch(rest):
            self._keys[key] = [""]

    def _goes_on(self, text: str) -> bool:
        """Add a line to the key that is open; False when it belongs to something else."""
        held, inner = self._keys[self._open], text.strip()
        depth = len(text) - len(text.lstrip(" "))
        self._size += len(text)
        if self._size > MAX_TEXT:
            return False
        if held and held[0].startswith("["):
            if not held[0].endswith("]"):
                held[0] += f" {inner}"
                return True
            return False
        if inner.startswith("- ") and depth >= self._depth - 2 and not (held and held[0] == ""):
            held.append(inner)
            return True
        if held and inner and depth > self._depth:
            held[-1] += f" {inner.removesuffix(chr(92))}"
            return True
        return not inner

    def _environment(self, text: str, line: int) -> bool:
        name, self._variable = self._variable, ""
        if name and (value := _VALUE.match(text)):
            self._commands.environment(name, value["value"], line)
            return True
        if (match := _VARIABLE.match(text)) is None:
            return False
        if match["value"]:
            self._commands.environment(match["name"], match["value"], line)
        else:
            self._variable = match["name"]
        return True


def _words(held: list[str]) -> list[str]:
    """The words of one key: a flow list, a list with an item a line, or a shell's line."""
    if held and held[0].startswith("["):
        return _flow(held[0])
    if held and held[0].startswith("- "):
        return [_scalar(item.removeprefix("- ").strip()) for item in held]
    return _shell(_scalar(" ".join(held).strip()))


def _flow(text: str) -> list[str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        words = shlex.shlex(text.strip("[] "), posix=True)
        words.whitespace, words.whitespace_split, words.commenters = ", ", True, ""
        try:
            return list(words)
        except ValueError:
            return []
    return [str(word) for word in found] if isinstance(found, list) else []


def _scalar(text: str) -> str:
    """A YAML scalar as it is meant; what a block scalar's sign introduces stands behind it."""
    text = _BLOCK.sub("", text, count=1).strip() if text[:1] in "|>" else text
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except (ValueError, RecursionError):
            return text[1:-1]
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return re.sub(r"\s#.*$", "", text)


def _shell(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
