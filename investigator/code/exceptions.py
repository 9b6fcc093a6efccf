"""Exceptions: which class a handler catches, what an exception object holds."""

from __future__ import annotations

import builtins

from investigator.code.values import ExceptionValue, Value, find_unknown

_BUILTIN = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


def is_exception_name(name: str) -> bool:
    """Whether one of Python's own exception classes has this name."""
    return name in _BUILTIN


def is_subclass_of_builtin(name: str, parent: str) -> bool:
    """Whether two of Python's own exception classes are so related."""
    return name in _BUILTIN and parent in _BUILTIN and issubclass(_BUILTIN[name], _BUILTIN[parent])


def message_of(args: tuple[Value, ...]) -> str:
    """What a person reads of an exception's arguments."""
    return " ".join(arg for arg in args if isinstance(arg, str))


def text_of(error: ExceptionValue) -> str | None:
    """``str(error)``; None when that is not known."""
    if error.cls is not None or find_unknown(error.args) is not None:
        return None
    if len(error.args) == 0:
        return ""
    if len(error.args) == 1 and isinstance(error.args[0], (str, int, float, bool, type(None))):
        # KeyError shows the repr of its argument.
        return repr(error.args[0]) if error.name == "KeyError" else str(error.args[0])
    return None
