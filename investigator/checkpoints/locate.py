"""Where a key stands in the text of a JSON file, so that a claim can quote its line."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')


@dataclass(frozen=True)
class Lines:
    """From the key to the end of its value; both count from 1, inclusive."""

    line: int
    end_line: int


@dataclass
class _Level:
    """One open object or list while the text is walked."""

    path: tuple[str, ...]
    is_object: bool
    index: int = 0
    key: str | None = None
    key_line: int = 0

    def close_value(self, line: int, spans: dict[str, Lines]) -> None:
        """The value at the current key or index ends on ``line``."""
        if self.is_object and self.key is not None:
            spans.setdefault(".".join((*self.path, self.key)), Lines(self.key_line, line))
            self.key = None


def key_lines(text: str) -> Mapping[str, Lines]:
    """Dotted key (``dflash_config.target_layer_ids``) -> its lines.

    ``text`` must be JSON that :func:`~investigator.checkpoints.strict_json.read_json` took;
    on other text the result is meaningless, but the walk ends. Keys inside lists carry the
    index: ``quantization.groups.0.bits``.
    """
    spans: dict[str, Lines] = {}
    stack: list[_Level] = []
    for part, line, end_line in _parts(text):
        top = stack[-1] if stack else None
        if part in "{[":
            name = () if top is None else (top.key or "",) if top.is_object else (str(top.index),)
            stack.append(_Level((*(top.path if top else ()), *name), part == "{"))
        elif part in "}]":
            if stack:
                stack.pop()
            if stack:
                stack[-1].close_value(line, spans)
        elif top is None or part == ":":
            continue
        elif part == ",":
            top.index += 1
        elif top.is_object and top.key is None:
            top.key, top.key_line = json.loads(part), line
        else:
            top.close_value(end_line, spans)
    return spans


def _parts(text: str) -> Iterator[tuple[str, int, int]]:
    """Each token with the line it starts on and the one it ends on."""
    line, at = 1, 0
    for match in _PART.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        yield match[0], line, line + match[0].count("\n")
