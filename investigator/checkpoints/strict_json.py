"""JSON from outside, within limits.

Python's own reader takes duplicate keys (the last one wins), ``NaN``, numbers of any
length and nesting of any depth. A config decides verdicts, so what two readers would read
differently is refused here instead of guessed.
"""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from investigator.errors import LimitError, UsageError
from investigator.model import Json

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 64
MAX_INT_DIGITS = 18
"""Enough for every count and id in a config, and within 64 bits."""

_ADVICE = "check the file: it must be plain JSON, as Hugging Face's save_pretrained writes it"


def read_json(data: bytes, name: str) -> Json:
    """Parse ``data``; ``name`` says in error messages what it is.

    Raises UsageError when it is not JSON that every reader would read alike (not UTF-8,
    duplicate keys, ``NaN``), LimitError when it is larger or deeper than the limits.
    """
    if len(data) > MAX_BYTES:
        raise LimitError(
            f"{name} has {len(data):,} bytes; at most {MAX_BYTES:,} are read",
            "check that it is a config.json and not a weights or tokenizer file",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not JSON: not UTF-8 at byte {error.start}", _ADVICE) from None
    if not text.strip():
        raise UsageError(f"{name} is empty", _ADVICE)
    if _depth(text) > MAX_DEPTH:
        raise LimitError(f"{name} is nested deeper than {MAX_DEPTH} levels", _ADVICE)

    def refuse_constant(constant: str) -> NoReturn:
        raise UsageError(f"{name} holds {constant}, which is not JSON", _ADVICE)

    def read_int(digits: str) -> int:
        if len(digits.lstrip("-")) > MAX_INT_DIGITS:
            raise LimitError(f"{name} holds a number of {len(digits)} digits", _ADVICE)
        return int(digits)

    def read_float(digits: str) -> float:
        value = float(digits)
        if value in (float("inf"), float("-inf")):
            raise LimitError(f"{name} holds a number too large to be read", _ADVICE)
        return value

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise UsageError(f"{name} has the key {twice[:80]!r} twice in one object", _ADVICE)
        return found

    try:
        value: Json = json.loads(
            text,
            parse_constant=refuse_constant,
            parse_int=read_int,
            parse_float=read_float,
            object_pairs_hook=unique,
        )
    except json.JSONDecodeError as error:
        raise UsageError(f"{name} is not JSON: {error.msg} at line {error.lineno}", _ADVICE) from None
    if "\\ud" in text.lower() and not _is_text(value):
        raise UsageError(f"{name} holds half of a character (a lone surrogate)", _ADVICE)
    return value


def read_object(data: bytes, name: str) -> Mapping[str, Json]:
    """Like :func:`read_json`, for a file whose top level must be an object."""
    value = read_json(data, name)
    if not isinstance(value, Mapping):
        kind = "a list" if isinstance(value, list) else type(value).__name__
        raise UsageError(f"{name} holds {kind} where an object was expected", _ADVICE)
    return value


def _is_text(value: Json) -> bool:
    """Whether its strings can be written; an escaped lone surrogate cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _depth(text: str) -> int:
    """How deep brackets nest outside strings. Linear, and no recursion to run out of."""
    deepest = depth = 0
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest
