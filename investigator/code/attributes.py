"""Attributes of every kind of value: reading and setting them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import builtin_methods, classes, dataclass_fields, effects, enums, properties
from investigator.code.branching import over
from investigator.code.exceptions import is_subclass_of_builtin
from investigator.code.frames import Frame
from investigator.code.heap import join_values, may_be_absent, without_absent
from investigator.code.trace import Happening
from investigator.code.values import (
    ABSENT,
    Builtin,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    IntMember,
    ModuleValue,
    OneOf,
    Raised,
    StrMember,
    Super,
    Symbol,
    Unknown,
    Value,
    is_spread,
    single,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

_WITHOUT_ATTRIBUTES = (int, float, str, list, tuple, dict, set, frozenset, range, slice, type(None))


def attribute(interp: Interpreter, frame: Frame, node: Node, owner: Value, name: str) -> Value:
    """``owner.name``. Raises Raised(AttributeError) where it surely does not exist."""
    value = attribute_or_missing(interp, frame, node, owner, name)
    if value is NotImplemented:
        return not_there(interp, frame, node, owner, name)
    if may_be_absent(value):
        interp.doubts += 1
        interp.note(Happening.ASSUME, "no AttributeError", value, frame, node)
        return without_absent(value)
    return value


def not_there(interp: Interpreter, frame: Frame, node: Node, owner: Value, name: str) -> Unknown:
    """What an attribute comes to that is asked for outright and is not there: its class's default,
    which is not known, or Raised(AttributeError)."""
    if isinstance(owner, Instance) and owner.defaults:
        return Unknown(f"{owner!r} names no {name}: its class's default", frame.module.place(node))
    raise interp.fail("AttributeError", f"{owner!r} has no attribute {name!r}", frame, node)


def attribute_or_missing(interp: Interpreter, frame: Frame, node: Node, owner: Value, name: str) -> Value:
    """``owner.name``; NotImplemented where it surely does not exist; ABSENT among its
    options where it may not."""
    if isinstance(owner, Instance):
        return _instance_attribute(interp, frame, node, owner, name)
    if isinstance(owner, Unknown):
        return builtin_methods.attribute_of_unknown(owner, name)
    if isinstance(owner, OneOf):
        value = over(interp, frame, node, owner, lambda o: _option_attribute(interp, frame, node, o, name))
        return NotImplemented if value is ABSENT else value
    if isinstance(owner, Symbol):
        kept = owner.kept()
        value = kept[name] if kept is not None and name in kept else owner.attribute(name)
        if value is ABSENT:
            return NotImplemented
        return (
            Unknown(f".{name} is not followed", frame.module.place(node))
            if value is NotImplemented
            else value
        )
    if isinstance(owner, ModuleValue):
        return interp.module_attribute(owner.module, name)
    if isinstance(owner, External):
        return External(f"{owner.dotted}.{name}")
    if isinstance(owner, ClassValue):
        return classes.attribute_of_class(interp, owner, name)
    if isinstance(owner, Super):
        return properties.super_attribute(interp, owner, name)
    if isinstance(owner, (StrMember, IntMember)):
        value = enums.member_attribute(interp, owner, name)
        if value is not NotImplemented:
            return properties.bind_attribute(interp, frame, node, owner, value)
    return builtin_methods.attribute(owner, name, frame.module.place(node))


def _option_attribute(interp: Interpreter, frame: Frame, node: Node, option: Value, name: str) -> Value:
    value = attribute_or_missing(interp, frame, node, option, name)
    return ABSENT if value is NotImplemented else value


def _instance_attribute(interp: Interpreter, frame: Frame, node: Node, owner: Instance, name: str) -> Value:
    hook = classes.hook(interp, owner.cls, "__getattribute__") if owner.cls is not None else None
    if hook is None:
        return plain_attribute(interp, frame, node, owner, name)
    try:
        return interp.invoke(frame, node, hook, (owner, name), {})
    except Raised as error:
        if not is_subclass_of_builtin(error.error.name, "AttributeError"):
            raise
        return _made_up(interp, frame, node, owner, name, surely_missing=True)


def plain_attribute(interp: Interpreter, frame: Frame, node: Node, owner: Instance, name: str) -> Value:
    """What an object has, its class's own ``__getattribute__`` passed by."""
    value = owner.attributes.get(name, ABSENT)
    if may_be_absent(value):
        value = _not_on_instance(interp, frame, node, owner, name, value)
    if owner.label is not None:
        interp.note(Happening.READ, f"{owner.label}.{name}", value, frame, node)
    return value


def _not_on_instance(
    interp: Interpreter, frame: Frame, node: Node, owner: Instance, name: str, found: Value
) -> Value:
    """An attribute that the object itself does not have, or (ABSENT among its options) may
    not have."""
    rest = without_absent(found)
    loose = next((key for key in owner.attributes if is_spread(key)), None)
    if loose is not None:
        return single(loose)
    value = _find_on_class(interp, frame, node, owner, name)
    if rest is ABSENT or not isinstance(found, OneOf):
        return value
    return join_values(rest, ABSENT if value is NotImplemented else value, found.reason)


def _find_on_class(interp: Interpreter, frame: Frame, node: Node, owner: Instance, name: str) -> Value:
    cls = owner.cls
    if cls is not None:
        if name == "__class__":
            return cls
        value = classes.class_attribute(interp, cls, name)
        if value is not NotImplemented:
            own = _made_attribute(interp, owner, name, value)
            if own is not NotImplemented and own is not ABSENT:
                return own
            return properties.bind_attribute(interp, frame, node, owner, value)
    if name == "__dict__":
        if owner.complete:
            return owner.attributes
        return Unknown(f"{owner!r}.__dict__", hides=(owner.attributes,))
    if owner.made_by is not None:
        with interp.timeless():
            value = owner.made_by(name)
        if value is not NotImplemented and value is not ABSENT:
            return value
        if value is ABSENT:
            return _made_up(interp, frame, node, owner, name, surely_missing=True)
    return _made_up(interp, frame, node, owner, name, surely_missing=owner.complete)


def _made_attribute(interp: Interpreter, owner: Instance, name: str, on_class: Value) -> Value:
    """What an object worked out on demand has itself of an attribute that its class has too."""
    if owner.made_by is None or owner.cls is None:
        return NotImplemented
    if isinstance(on_class, FunctionValue) and classes.is_marked(on_class, "property"):
        return NotImplemented
    order = classes.mro(interp, owner.cls)
    if not any(isinstance(b, ClassValue) and name in interp.assigned_attributes(b) for b in order):
        return NotImplemented
    with interp.timeless():
        return owner.made_by(name)


def _made_up(
    interp: Interpreter, frame: Frame, node: Node, owner: Instance, name: str, *, surely_missing: bool
) -> Value:
    """What ``__getattr__`` gives; NotImplemented or Unknown where the class has none."""
    if owner.cls is not None and not name.startswith("__"):
        getter = classes.class_attribute(interp, owner.cls, "__getattr__")
        if isinstance(getter, FunctionValue):
            try:
                return interp.invoke(frame, node, getter, (owner, name), {})
            except Raised as error:
                if not is_subclass_of_builtin(error.error.name, "AttributeError"):
                    raise
                return NotImplemented
    if surely_missing and not _is_made_up_elsewhere(interp, owner, name):
        return NotImplemented
    if owner.cls is not None and classes.builtin_base(interp, owner.cls) is not None:
        return Unknown(f"{name} of {owner!r}", frame.module.place(node), hides=(owner,))
    advice = f"; {owner.advice}" if owner.advice is not None else ""
    return Unknown(f"{owner!r} may have an attribute {name}{advice}", frame.module.place(node))


def _is_made_up_elsewhere(interp: Interpreter, owner: Instance, name: str) -> bool:
    """Whether an attribute that no class writes may be there all the same: a named tuple's own
    methods, and what the making of the class may have added."""
    if owner.cls is None:
        return False
    if classes.is_made_by_code(interp, owner.cls):
        return True
    return name in dataclass_fields.OF_NAMED_TUPLES and dataclass_fields.is_named_tuple(interp, owner.cls)


def set_attribute(
    interp: Interpreter, frame: Frame, node: Node, owner: Value, name: str, value: Value
) -> None:
    """``owner.name = value``."""
    if isinstance(owner, OneOf):
        interp.over(frame, node, owner, lambda o: set_attribute(interp, frame, node, o, name, value))
    elif isinstance(owner, Unknown):
        effects.set_on_unknown(interp, owner, name, value)
    elif isinstance(owner, ClassValue):
        interp.journal.touch(owner.assigned, name)
        owner.assigned[name] = value
    elif isinstance(owner, ModuleValue):
        scope = interp.globals_of(owner.module)
        interp.journal.touch(scope.variables, name)
        scope.variables[name] = value
    elif isinstance(owner, Instance):
        _set_on_instance(interp, frame, node, owner, name, value)
    elif isinstance(owner, Symbol):
        kept = owner.kept()
        if kept is not None:
            interp.journal.touch(kept, name)
            kept[name] = value
            interp.note(Happening.STORE, f"{type(owner).__name__}.{name}", (owner, value), frame, node)
    elif isinstance(owner, Builtin):
        raise interp.fail("TypeError", f"cannot set {name!r} of {owner.name!r}", frame, node)
    elif isinstance(owner, _WITHOUT_ATTRIBUTES):
        raise interp.fail("AttributeError", f"{type(owner).__name__} has no {name!r}", frame, node)


def _set_on_instance(
    interp: Interpreter, frame: Frame, node: Node, owner: Instance, name: str, value: Value
) -> None:
    cls = owner.cls
    hook = classes.hook(interp, cls, "__setattr__") if cls is not None else None
    if hook is not None:
        interp.invoke(frame, node, hook, (owner, name, value), {})
        return
    if cls is not None and dataclass_fields.is_frozen(interp, cls):
        raise interp.fail("FrozenInstanceError", f"cannot assign to field {name!r}", frame, node)
    set_plainly(interp, frame, node, owner, name, value)


def set_plainly(
    interp: Interpreter, frame: Frame, node: Node, owner: Instance, name: str, value: Value
) -> None:
    """Set an attribute, the class's own ``__setattr__`` passed by."""
    cls = owner.cls
    if cls is not None:
        setter = properties.property_accessor(interp, cls, name, "setter")
        if setter is not None:
            interp.invoke(frame, node, setter, (owner, value), {})
            return
        if properties.is_read_only(interp, cls, name):
            raise interp.fail("AttributeError", f"{cls.name}.{name} has no setter", frame, node)
        found = classes.class_attribute(interp, cls, name)
        if isinstance(found, FunctionValue) and properties.is_accessor_of_another(found):
            because = Unknown(f"{name} adds to a property of another class", frame.module.place(node))
            effects.unsettle(interp, owner, because, value)
            return
    interp.journal.touch(owner.attributes, name)
    owner.attributes[name] = value
    owner_name = owner.label or (cls.name if cls else "object")
    interp.note(Happening.STORE, f"{owner_name}.{name}", (owner, value), frame, node)
