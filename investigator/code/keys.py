"""Values as keys of dicts and members of sets, and dicts some of whose keys are not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from investigator.code import classes, dataclass_fields
from investigator.code.equality import MAX_DEPTH, MAX_PARTS
from investigator.code.frames import Frame
from investigator.code.heap import join_values, may_be_absent, roots, spread, without_absent
from investigator.code.values import (
    ABSENT,
    ClassValue,
    Instance,
    OneOf,
    Unknown,
    Value,
    View,
    find_unknown,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def as_key(interp: Interpreter, frame: Frame, node: Node, value: Value) -> Value:
    """The value as it can stand in a dict or set here; Unknown where it is not decided which
    key it is. Raises Raised(TypeError) for what cannot be a key in Python."""
    if isinstance(value, (str, int, float, type(None))):
        return value
    stack: list[tuple[Value, int]] = [(value, 0)]
    count = 0
    decides: Unknown | None = None
    while stack:
        part, depth = stack.pop()
        count += 1
        if isinstance(part, View) and part.kind != "values":
            raise interp.fail("TypeError", f"unhashable type: 'dict_{part.kind}'", frame, node)
        if isinstance(part, (list, dict, set)) or (isinstance(part, slice) and slice.__hash__ is None):
            raise interp.fail("TypeError", f"unhashable type: {type(part).__name__!r}", frame, node)
        if isinstance(part, Unknown):
            return part
        if isinstance(part, OneOf):
            return part.reason
        if isinstance(part, Instance) and _has_no_hash(interp, part):
            raise interp.fail("TypeError", f"unhashable type: {part!r}", frame, node)
        if isinstance(part, Instance) and _compares_by_value(interp, part):
            decides = Unknown("a key that decides itself what it equals", frame.module.place(node))
            stack.extend((inner, depth + 1) for inner in _hashed_fields(interp, part))
        if count > MAX_PARTS or depth > MAX_DEPTH:
            return Unknown("a very large key", frame.module.place(node))
        if isinstance(part, (tuple, frozenset)):
            stack.extend((inner, depth + 1) for inner in part)
    return value if decides is None else decides


def _hashed_fields(interp: Interpreter, value: Instance) -> list[Value]:
    """The fields that the hash of a frozen dataclass's object is made of; none where its class has
    a hash of its own."""
    cls = value.cls
    if cls is None or not dataclass_fields.is_dataclass(interp, cls):
        return []
    if classes.class_attribute(interp, cls, "__hash__") is not NotImplemented:
        return []
    names = dataclass_fields.compared(interp, cls) or ()
    return [value.attributes[name] for name in names if name in value.attributes]


def _has_no_hash(interp: Interpreter, value: Instance) -> bool:
    """Whether the class says what is equal to its objects, and not how they are hashed."""
    for base in classes.mro(interp, value.cls) if value.cls is not None else ():
        own = classes.definitions(base) if isinstance(base, ClassValue) else {}
        if "__hash__" in own or not isinstance(base, ClassValue):
            return False
        if dataclass_fields.makes_equality(base):
            return not any(dataclass_fields.option(base, name) for name in ("frozen", "unsafe_hash"))
        if "__eq__" in own:
            return True
    return False


def _compares_by_value(interp: Interpreter, value: Instance) -> bool:
    cls = value.cls
    if cls is None:
        return False
    if classes.builtin_base(interp, cls) is not None:
        return True
    return classes.class_attribute(interp, cls, "__eq__") is not NotImplemented or (
        dataclass_fields.is_dataclass(interp, cls) and dataclass_fields.option(cls, "eq", default=True)
    )


def make_set(interp: Interpreter, frame: Frame, node: Node, items: list[Value]) -> set[Value]:
    """A set of the items; an undecided item stands for any number of them."""
    made: set[Value] = interp.journal.born(set())
    for item in items:
        key = item if is_spread(item) else as_key(interp, frame, node, item)
        made.add(spread(key, item) if isinstance(key, Unknown) else key)
    return made


def set_entry(
    interp: Interpreter, frame: Frame, node: Node, owner: dict[Any, Any], key: Value, value: Value
) -> None:
    """``owner[key] = value``; under an undecided key it may have replaced any value."""
    known = key if is_spread(key) else as_key(interp, frame, node, key)
    if not isinstance(known, Unknown):
        if owner and may_be_absent(owner.get(known)) and next(reversed(owner)) != known:
            # Where it stands in the order depends on whether it was there before.
            set_entry(interp, frame, node, owner, spread(find_unknown(owner[known]) or ABSENT, known), value)
            return
        interp.journal.touch(owner)
        owner[known] = value
        return
    interp.journal.touch(owner)
    for other in owner:
        owner[other] = join_values(owner[other], value, known)
    owner[spread(known, key)] = value


def merge(
    interp: Interpreter, frame: Frame, node: Node, owner: dict[Any, Any], other: dict[Any, Any]
) -> None:
    """``owner.update(other)``."""
    for key, value in list(other.items()):
        if not is_spread(key) and may_be_absent(value):
            before = entry(owner, key)
            rest = without_absent(value)
            because = value.reason if isinstance(value, OneOf) else value
            set_entry(interp, frame, node, owner, key, join_values(rest, before, because))
        else:
            set_entry(interp, frame, node, owner, key, value)


def entry(owner: dict[Any, Any], key: Value) -> Value:
    """What a dict holds at a key: ABSENT, or ABSENT among the options, where it is or may be
    missing."""
    value = owner.get(key, ABSENT)
    if value is not ABSENT:
        return value
    for loose, other in owner.items():
        if is_spread(loose):
            value = join_values(join_values(ABSENT, other, loose), value, loose)
    return value


def unknown_entry(owner: dict[Any, Any], because: Unknown) -> Unknown:
    """What a dict holds at a key that is not known."""
    return Unknown(because.reason, because.place, because.not_followed, hides=roots(*owner.values()))
