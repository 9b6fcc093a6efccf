"""Enumerations: members as objects, compared by identity; members of enumerations of strings
or integers are strings and integers as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes
from investigator.code.frames import Frame
from investigator.code.heap import lost
from investigator.code.program import Definition
from investigator.code.syntax import text
from investigator.code.values import (
    Builtin,
    ClassValue,
    External,
    Instance,
    IntMember,
    OneOf,
    StrMember,
    Unknown,
    Value,
    find_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

_MODULES = ("enum.", "aenum.")
_OF_STRINGS = ("StrEnum",)
_OF_INTEGERS = ("IntEnum", "IntFlag")


def is_enum(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether the class is an enumeration."""
    return any(
        isinstance(base, External) and base.dotted.startswith(_MODULES) for base in classes.mro(interp, cls)
    )


def mixed_type(interp: Interpreter, cls: ClassValue) -> type[StrMember] | type[IntMember] | None:
    """What the members are besides members: strings, integers, or nothing else."""
    for base in classes.mro(interp, cls):
        name = base.dotted.rpartition(".")[2] if isinstance(base, External) else ""
        if name in _OF_STRINGS or base == Builtin("str"):
            return StrMember
        if name in _OF_INTEGERS or base == Builtin("int"):
            return IntMember
    return None


def shows_value(interp: Interpreter, cls: ClassValue) -> bool:
    """Whether ``str(member)`` is the value: so for StrEnum and IntEnum, not for ``(str, Enum)``."""
    return any(
        isinstance(base, External) and base.dotted.rpartition(".")[2] in (*_OF_STRINGS, *_OF_INTEGERS)
        for base in classes.mro(interp, cls)
    )


def member_definitions(cls: ClassValue) -> dict[str, Definition]:
    """The assignments of the class's body that make members, in order."""
    return {
        name: found
        for name, found in classes.own_definitions(cls).items()
        if found.node.type == "assignment" and not name.startswith("_") and found.imported is None
    }


def member(interp: Interpreter, cls: ClassValue, name: str, value: Value) -> Value:
    """The member of this name; one whose value another has already is that other."""
    for other in member_definitions(cls):
        if other == name:
            break
        known = cls.namespace.get(other)
        if known is not None and _same_value(known, value):
            return known
    mixed = mixed_type(interp, cls)
    if find_unknown(value) is not None:
        return value if mixed is not None else _object(cls, name, value)
    made: Value
    if mixed is StrMember and isinstance(value, str):
        made = StrMember(value)
    elif mixed is IntMember and isinstance(value, int):
        made = IntMember(value)
    else:
        return _object(cls, name, value)
    made.cls, made.member = cls, name
    return made


def _object(cls: ClassValue, name: str, value: Value) -> Instance:
    return Instance(cls, {"name": name, "value": value, "_name_": name, "_value_": value})


def _same_value(known: Value, value: Value) -> bool:
    other = known.attributes["value"] if isinstance(known, Instance) else known
    return find_unknown((other, value)) is None and bool(other == value)


def next_value(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """What ``auto()`` gives a member."""
    if classes.class_attribute(interp, cls, "_generate_next_value_") is not NotImplemented:
        return Unknown("auto() of an enumeration that makes its own values")
    if any(isinstance(b, External) and "Flag" in b.dotted for b in classes.mro(interp, cls)):
        return Unknown("auto() of a flag")
    if mixed_type(interp, cls) is StrMember:
        return name.lower()
    last = 0
    for other, found in member_definitions(cls).items():
        if other == name:
            return last + 1
        right = found.node.child_by_field_name("right")
        if right is not None and text(right) in ("auto()", "enum.auto()"):
            last += 1
            continue
        value = value_of(classes.own_attribute(interp, cls, other))
        if not isinstance(value, int) or value < last:
            return Unknown("auto() after a value that is no larger number")  # Pythons differ here
        last = value
    return Unknown("auto() outside a member")


def value_of(found: Value) -> Value:
    """``member.value``."""
    if isinstance(found, StrMember):
        return str.__str__(found)
    if isinstance(found, IntMember):
        return int(found)
    return found.attributes["value"] if isinstance(found, Instance) else found


def member_attribute(interp: Interpreter, found: StrMember | IntMember, name: str) -> Value:
    """``member.name``, ``member.value`` or what the class gives; NotImplemented for what the
    string or integer itself gives."""
    if name in ("name", "_name_"):
        return found.member
    if name in ("value", "_value_"):
        return value_of(found)
    if name == "__class__":
        return found.cls
    return classes.class_attribute(interp, found.cls, name)


def members(interp: Interpreter, frame: Frame, node: Node, cls: ClassValue) -> list[Value]:
    """The members in order, each once."""
    listed = [classes.own_attribute(interp, cls, name) for name in member_definitions(cls)]
    return list({id(value): value for value in listed}.values())


def by_name(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """``Class[name]``; NotImplemented where no member has the name."""
    return classes.own_attribute(interp, cls, name) if name in member_definitions(cls) else NotImplemented


def by_value(interp: Interpreter, frame: Frame, node: Node, cls: ClassValue, value: Value) -> Value:
    """``Class(value)``. Raises Raised(ValueError) where no member has the value."""
    found = members(interp, frame, node, cls)
    if isinstance(value, Instance) and any(value is one for one in found):
        return value
    undecided = find_unknown([value, *map(value_of, found)])
    if undecided is not None:
        if isinstance(value, (Unknown, OneOf)):
            return lost(undecided, *found)
        return undecided
    for one in found:
        if value_of(one) == value:
            return one
    if classes.class_attribute(interp, cls, "_missing_") is not NotImplemented:
        return Unknown(f"{cls.name}({value!r}) is made up", frame.module.place(node))
    raise interp.fail("ValueError", f"{value!r} is not a valid {cls.name}", frame, node)
