"""Which names Python's builtins have."""

import builtins

from investigator.code.values import Builtin, Value

_CONSTANTS: dict[str, Value] = {"True": True, "False": False, "None": None, "__debug__": True}


def is_builtin(name: str) -> bool:
    """Whether Python's builtins have this name."""
    return hasattr(builtins, name)


def constant(name: str) -> Value:
    """The builtin of this name."""
    return _CONSTANTS[name] if name in _CONSTANTS else Builtin(name)
