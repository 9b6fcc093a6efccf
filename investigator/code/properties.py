"""What an attribute of a class gives an object: bound methods, properties, what ``super()`` finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import construction
from investigator.code.classes import (
    _MADE_BY_OBJECT,
    _is_outside,
    class_attribute,
    definitions,
    first_along,
    is_marked,
    mro,
)
from investigator.code.frames import Frame
from investigator.code.values import (
    BoundMethod,
    ClassValue,
    FunctionValue,
    Instance,
    NativeMethod,
    OneOf,
    Super,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def bind_attribute(interp: Interpreter, frame: Frame, node: Node, owner: Value, value: Value) -> Value:
    """What ``instance.name`` gives for a value found on its class."""
    if isinstance(value, OneOf):
        return interp.over(frame, node, value, lambda v: bind_attribute(interp, frame, node, owner, v))
    cls = value.cls if isinstance(value, Instance) else None
    if cls is not None and class_attribute(interp, cls, "__get__") is not NotImplemented:
        return Unknown(f"a descriptor of class {cls.name}", frame.module.place(node))
    if not isinstance(value, FunctionValue) or is_marked(value, "staticmethod"):
        return value
    if is_accessor_of_another(value):
        return Unknown(f"{value.name} adds to a property of another class", frame.module.place(node))
    if is_marked(value, "classmethod"):
        return BoundMethod(owner.cls, value)
    if is_marked(value, "property", "cached_property", "cached_property_no_lock"):
        return _property(interp, frame, node, owner, value)
    return BoundMethod(owner, value)


def _property(interp: Interpreter, frame: Frame, node: Node, owner: Value, getter: FunctionValue) -> Value:
    handler = interp.natives.get(getter.qualified_name)
    value = (
        interp.invoke(frame, node, getter, (owner,), {}) if handler is None else handler(interp, (owner,), {})
    )
    if isinstance(owner, Instance) and not is_marked(getter, "property"):
        interp.journal.touch(owner.attributes, getter.name)
        owner.attributes[getter.name] = value
    return value


def is_accessor_of_another(function: FunctionValue) -> bool:
    """Whether this is an ``@Base.name.getter`` (setter, deleter): a property made from another's."""
    ends = (".getter", ".setter", ".deleter")
    return any(mark.endswith(ends) and mark.count(".") > 1 for mark in function.decorators)


def property_accessor(interp: Interpreter, cls: ClassValue, name: str, kind: str) -> FunctionValue | None:
    """The function under ``@name.setter`` (or ``deleter``), along the resolution order."""
    for base in mro(interp, cls):
        found = definitions(base).get(name, ()) if isinstance(base, ClassValue) else ()
        for each in reversed(found):
            marks = each.decorators if each.node.type == "function_definition" else ()
            if f"{name}.{kind}" in marks:
                return FunctionValue(name, each.node, base.scope, base, marks)
        if found:
            return None
    return None


def is_read_only(interp: Interpreter, cls: ClassValue, name: str) -> bool:
    """Whether the name is a property without a setter."""
    value = class_attribute(interp, cls, name)
    return isinstance(value, FunctionValue) and is_marked(value, "property")


def super_attribute(interp: Interpreter, owner: Super, name: str) -> Value:
    """``super().name``: the next class along the receiver's order that has it."""
    receiver = owner.receiver
    cls = receiver.cls if isinstance(receiver, Instance) else receiver
    order = mro(interp, cls if isinstance(cls, ClassValue) else owner.owner)
    after = order[order.index(owner.owner) + 1 :] if owner.owner in order else ()
    if name == "__init__" and isinstance(construction.initialiser_along(interp, after), ClassValue):
        return NativeMethod(owner, name)
    value = first_along(interp, after, name)
    if value is not NotImplemented:
        return _bound_to_super(interp, receiver, value)
    if owner.owner not in order or any(map(_is_outside, after)):
        return Unknown(f"super().{name} lies outside the tree")
    return NativeMethod(owner, name) if name in _MADE_BY_OBJECT or name.startswith("__") else NotImplemented


def _bound_to_super(interp: Interpreter, receiver: Value, value: Value) -> Value:
    if not isinstance(value, FunctionValue) or is_marked(value, "staticmethod"):
        return value
    if is_marked(value, "classmethod"):
        return BoundMethod(receiver.cls if isinstance(receiver, Instance) else receiver, value)
    if is_marked(value, "property", "cached_property"):
        return interp.enter(value, (receiver,), {})
    return BoundMethod(receiver, value)
