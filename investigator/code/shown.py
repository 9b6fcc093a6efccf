"""What ``str(value)`` and an f-string show of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, enums
from investigator.code.builtin_call import PLAIN
from investigator.code.equality import is_plain
from investigator.code.exceptions import text_of
from investigator.code.frames import Frame
from investigator.code.values import (
    Builtin,
    ExceptionValue,
    FunctionValue,
    Instance,
    IntMember,
    StrMember,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def shown_text(interp: Interpreter, frame: Frame, node: Node, value: Value) -> str | None:
    """``str(value)``; None when it is not known."""
    if isinstance(value, StrMember):
        return (
            str.__str__(value) if enums.shows_value(interp, value.cls) else f"{value.cls.name}.{value.member}"
        )
    if isinstance(value, IntMember):
        return str(int(value)) if enums.shows_value(interp, value.cls) else f"{value.cls.name}.{value.member}"
    if isinstance(value, str):
        return value
    if isinstance(value, PLAIN) or (is_plain(value) and not has_members_or_unordered(value)):
        return _host_text(interp, frame, node, value)
    if isinstance(value, ExceptionValue):
        return _text_of_exception(interp, value)
    if isinstance(value, Instance) and value.cls is not None:
        for name in ("__str__", "__repr__"):
            method = classes.class_attribute(interp, value.cls, name)
            if isinstance(method, FunctionValue):
                made = interp.invoke(frame, node, method, (value,), {})
                return made if isinstance(made, str) else None
        if enums.is_enum(interp, value.cls):
            return f"{value.cls.name}.{value.attributes['name']}"
    return None


def _text_of_exception(interp: Interpreter, error: ExceptionValue) -> str | None:
    if error.cls is None:
        return text_of(error.name, error.args)
    own = ("__init__", "__new__", "__str__", "__repr__")
    if any(classes.class_attribute(interp, error.cls, name) is not NotImplemented for name in own):
        return None
    kinds = [base.name for base in classes.mro(interp, error.cls) if isinstance(base, Builtin)]
    texts = {text_of(kind, error.args) for kind in kinds}
    return texts.pop() if len(texts) == 1 else None


def _host_text(interp: Interpreter, frame: Frame, node: Node, value: Value) -> str:
    with interp.host_errors(frame, node):
        return str(value)


def has_members_or_unordered(value: Value) -> bool:
    """Whether printing shows a set (in no order) or a member of an enumeration (in its own way)."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, (set, frozenset, StrMember, IntMember)):
            return True
        if isinstance(part, (list, tuple)):
            stack.extend(part)
        elif isinstance(part, dict):
            stack.extend((*part.keys(), *part.values()))
    return False
