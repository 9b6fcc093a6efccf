"""Whether what the interpreter says agrees with what Python itself came to."""

from __future__ import annotations

import enum
from typing import Any

from investigator.code.values import (
    ABSENT,
    BudgetSpent,
    Instance,
    IntMember,
    OneOf,
    Raised,
    Stream,
    StrMember,
    Unknown,
    View,
    is_spread,
)

_DEEPEST = 12


def equals(answer: Any, real: Any) -> bool:
    """Whether an answer is what Python came to, nothing of it left open; an exception of the same
    name where Python raised one."""
    if isinstance(real, Exception):
        return isinstance(answer, Raised) and _kind(answer.error.name) == _kind(type(real).__name__)
    return not isinstance(answer, (Raised, BudgetSpent)) and is_decided(answer) and agrees(answer, real)


def _kind(error: str) -> str:
    """Pythons differ in which of the two a comprehension raises."""
    return "NameError" if error == "UnboundLocalError" else error


def is_decided(answer: Any, depth: int = _DEEPEST) -> bool:
    """Whether nothing of a value is left open."""
    if depth == 0:
        return True
    if isinstance(answer, (Unknown, OneOf)):
        return False
    parts: list[Any] = []
    if isinstance(answer, dict):
        parts = [*answer.keys(), *answer.values()]
    elif isinstance(answer, (list, tuple, set, frozenset)):
        parts = list(answer)
    elif isinstance(answer, Instance):
        parts = list(answer.attributes.values())
    return all(is_decided(part, depth - 1) for part in parts)


def agrees(answer: Any, real: Any, depth: int = _DEEPEST) -> bool:
    """Whether ``answer`` stands for ``real``, among others perhaps."""
    if depth == 0 or isinstance(answer, Unknown):
        return True
    if isinstance(answer, OneOf):
        return any(agrees(o, real, depth) for o in answer.options if o is not ABSENT)
    if isinstance(real, enum.Enum):
        if isinstance(answer, (StrMember, IntMember)):
            return answer.member == real.name
        return isinstance(answer, Instance) and answer.attributes["name"] == real.name
    if isinstance(answer, Instance):
        if answer.cls is None or answer.cls.name != type(real).__name__:
            return False
        attributes = real._asdict() if isinstance(real, tuple) else vars(real)
        if not answer.complete:  # it may have any others
            attributes = {name: value for name, value in attributes.items() if name in answer.attributes}
        return agrees_by_key(answer.attributes, attributes, depth - 1, ordered=False)
    if isinstance(answer, View):
        return True
    if isinstance(answer, (list, tuple)):
        return type(answer) is type(real) and agrees_in_order(list(answer), list(real), depth - 1)
    if isinstance(answer, dict):
        return type(real) is dict and agrees_by_key(answer, real, depth - 1, ordered=True)
    if isinstance(answer, (set, frozenset)):
        return type(answer) is type(real) and agrees_in_any_order(list(answer), list(real), depth - 1)
    if isinstance(answer, Stream):
        return hasattr(real, "__next__")
    if isinstance(answer, (int, float, str, bool, type(None))):
        return type(answer) is type(real) and answer == real
    return not isinstance(real, (int, float, str, bool, type(None), list, tuple, dict, set))


def agrees_in_order(answer: list[Any], real: list[Any], depth: int) -> bool:
    """Whether a row of items, spreads among them, stands for a row of real ones."""
    sure = next((number for number, item in enumerate(answer) if is_spread(item)), len(answer))
    if len(real) < sure or not all(agrees(a, r, depth) for a, r in zip(answer[:sure], real, strict=False)):
        return False
    if sure == len(answer):
        return len(real) == sure
    return any(agrees_in_order(answer[sure + 1 :], real[n:], depth) for n in range(sure, len(real) + 1))


def agrees_in_any_order(answer: list[Any], real: list[Any], depth: int) -> bool:
    """Whether the items of a set, spreads among them, stand for those of a real one."""
    known = [item for item in answer if not is_spread(item)]
    left = list(real)
    for item in known:
        found = next((number for number, other in enumerate(left) if agrees(item, other, depth)), None)
        if found is None:
            return False
        del left[found]
    return not left or len(known) < len(answer)


def agrees_by_key(answer: dict[Any, Any], real: dict[Any, Any], depth: int, *, ordered: bool) -> bool:
    """Whether a dict, spread keys and values that may be absent among it, stands for a real one."""
    if any(not isinstance(key, (str, int, float, bool, type(None), tuple)) for key in real):
        return len(real) == len(answer) or any(is_spread(key) for key in answer)  # objects as keys
    loose = any(is_spread(key) for key in answer)
    for key, value in answer.items():
        if is_spread(key):
            continue
        may_miss = value is ABSENT or (isinstance(value, OneOf) and ABSENT in value.options)
        if key not in real:
            if not may_miss:
                return False
        elif value is ABSENT or not agrees(value, real[key], depth):
            return False
    if not loose and any(key not in answer for key in real):
        return False
    if ordered and not loose:
        return [key for key in answer if key in real] == list(real)
    return True
