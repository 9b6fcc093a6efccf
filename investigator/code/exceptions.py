"""Exceptions: which class a handler catches, what an exception object holds."""

from __future__ import annotations

import builtins

from investigator.code.values import Value, find_unknown

_BUILTIN = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}

_PLAIN = (str, int, float, bool, type(None))


def is_exception_name(name: str) -> bool:
    """Whether one of Python's own exception classes has this name."""
    return name in _BUILTIN


def is_subclass_of_builtin(name: str, parent: str) -> bool:
    """Whether two of Python's own exception classes are so related."""
    return name in _BUILTIN and parent in _BUILTIN and issubclass(_BUILTIN[name], _BUILTIN[parent])


def message_of(args: tuple[Value, ...]) -> str:
    """What a person reads of an exception's arguments."""
    return " ".join(arg for arg in args if isinstance(arg, str))


def text_of(kind: str, args: tuple[Value, ...]) -> str | None:
    """``str(error)`` of an exception below ``kind``; None when that is not known."""
    if find_unknown(args) is not None or not all(isinstance(arg, _PLAIN) for arg in args):
        return None
    if len(args) == 1:
        return repr(args[0]) if is_subclass_of_builtin(kind, "KeyError") else str(args[0])
    if args and is_subclass_of_builtin(kind, "OSError"):
        return None
    return str(args) if args else ""
