"""When two values are equal, and when they are one object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, dataclass_fields, enums
from investigator.code.frames import Frame
from investigator.code.heap import may_be_absent, same
from investigator.code.iteration import view_items
from investigator.code.syntax import Place
from investigator.code.values import (
    Builtin,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    IntMember,
    OneOf,
    StrMember,
    Symbol,
    Unknown,
    Value,
    View,
    find_unknown,
    is_spread,
    is_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

MAX_PARTS = 20_000
MAX_DEPTH = 60
_SCALARS = (int, float, str, bytes, type(None))
_CACHED_INTEGERS = range(-5, 257)


def is_plain(value: Value) -> bool:
    """Whether a value is made of Python's own constants and containers alone, and is neither
    so large nor so deep that comparing or printing it would take long."""
    stack: list[tuple[Value, int]] = [(value, 0)]
    count = 0
    while stack:
        current, depth = stack.pop()
        count += 1
        if count > MAX_PARTS or depth > MAX_DEPTH:
            return False
        if isinstance(current, dict):
            stack.extend((part, depth + 1) for pair in current.items() for part in pair)
        elif isinstance(current, (list, tuple, set, frozenset)):
            stack.extend((part, depth + 1) for part in current)
        elif not isinstance(current, (*_SCALARS, range, slice)):
            return False
    return True


def identical(left: Value, right: Value, place: Place) -> bool | Unknown:
    """``left is right``. Equal numbers and texts may or may not be one object."""
    for value in (left, right):
        if isinstance(value, Unknown):
            return value
    if left is right:
        return True
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        return False
    if type(left) is not type(right) or isinstance(left, (StrMember, IntMember)):
        return False
    if isinstance(left, External):
        return True if left == right else Unknown("whether two names outside the tree are one", place)
    if isinstance(left, int):
        return left == right if left != right or left in _CACHED_INTEGERS else Unknown("whether one", place)
    if isinstance(left, (str, float, tuple, frozenset, bytes, range, slice)):
        return Unknown("whether two equal constants are one object", place) if left == right else False
    return same(left, right) if not isinstance(left, Symbol) else _symbols(left, right, place)


def _symbols(left: Value, right: Value, place: Place) -> bool | Unknown:
    return Unknown("whether two symbols are one", place) if left == right else False


def equal(
    interp: Interpreter, frame: Frame, node: Node, left: Value, right: Value, *, negated: bool = False
) -> Value:
    """``left == right`` (or ``!=``): True, False, Unknown, or what ``__eq__`` gives."""
    if negated:
        for owner, other in ((left, right), (right, left)):
            if isinstance(owner, Instance) and owner.cls is not None:
                method = classes.class_attribute(interp, owner.cls, "__ne__")
                if isinstance(method, FunctionValue):
                    return interp.call(frame, node, method, (owner, other), {})
        held = equal(interp, frame, node, left, right)
        truth = interp.truth(held)
        return interp.why(held, frame, node) if truth is None else not truth
    interp.charged += 1
    if isinstance(left, (*_SCALARS,)) and isinstance(right, (*_SCALARS,)):
        return bool(left == right)
    for value in (left, right):
        if is_unknown(value):
            return _undecided(interp, frame, node, left, right)
    left, right = dataclass_fields.as_tuple(interp, left), dataclass_fields.as_tuple(interp, right)
    if isinstance(left, Instance) or isinstance(right, Instance):
        return _objects(interp, frame, node, left, right)
    left, right = _listed(left), _listed(right)
    for kind in (list, tuple):
        if isinstance(left, kind) and isinstance(right, kind):
            return _sequences(interp, frame, node, left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return _dicts(interp, frame, node, left, right)
    if isinstance(left, (set, frozenset)) and isinstance(right, (set, frozenset)):
        loose = next((item for item in (*left, *right) if is_spread(item)), None)
        return loose if loose is not None else left == right
    return _others(left, right, frame, node)


def _others(left: Value, right: Value, frame: Frame, node: Node) -> Value:
    if left is right:
        return True
    if isinstance(left, (Symbol, External)) or isinstance(right, (Symbol, External)):
        if isinstance(left, External) and left == right:
            return True
        return Unknown("comparison of things outside the tree", frame.module.place(node))
    if isinstance(left, (FunctionValue, ClassValue, Builtin)) or type(left) is type(right):
        return same(left, right) or (isinstance(left, (range, slice)) and left == right)
    return False


def _undecided(interp: Interpreter, frame: Frame, node: Node, left: Value, right: Value) -> Value:
    """Equal to a choice where every option says the same."""
    for value, other in ((left, right), (right, left)):
        if isinstance(value, OneOf):
            answers = [equal(interp, frame, node, option, other) for option in value.options]
            if all(answer is True for answer in answers) or all(answer is False for answer in answers):
                return answers[0]
            return value.reason
    return left if isinstance(left, Unknown) else right


def _listed(value: Value) -> Value:
    """A dict's keys or items compare as sets."""
    if isinstance(value, View) and value.kind != "values":
        items = view_items(value)
        try:
            return set(items)
        except TypeError:
            return value
    return value


def _sequences(interp: Interpreter, frame: Frame, node: Node, left: Value, right: Value) -> Value:
    interp.step(frame, node)
    loose = next((item for item in (*left, *right) if is_spread(item)), None)
    if loose is not None:
        return loose
    if len(left) != len(right):
        return False
    return _all(interp, frame, node, list(zip(left, right, strict=True)))


def _all(interp: Interpreter, frame: Frame, node: Node, pairs: list[tuple[Value, Value]]) -> Value:
    missing: Unknown | None = None
    for a, b in pairs:
        if a is b and not is_unknown(a):
            continue
        held = equal(interp, frame, node, a, b)
        truth = interp.truth(held)
        if truth is False:
            return False
        if truth is None:
            missing = missing or interp.why(held, frame, node)
    return missing if missing is not None else True


def _dicts(
    interp: Interpreter, frame: Frame, node: Node, left: dict[Value, Value], right: dict[Value, Value]
) -> Value:
    interp.step(frame, node)
    for content in (left, right):
        for key, value in content.items():
            if is_spread(key) or may_be_absent(value):
                return find_unknown(key) or find_unknown(value)
    if left.keys() != right.keys():
        return False
    return _all(interp, frame, node, [(left[key], right[key]) for key in left])


def _objects(interp: Interpreter, frame: Frame, node: Node, left: Value, right: Value) -> Value:
    for owner, other in ((left, right), (right, left)):
        if isinstance(owner, Instance) and owner.cls is not None:
            method = classes.class_attribute(interp, owner.cls, "__eq__")
            if isinstance(method, FunctionValue):
                answer = interp.call(frame, node, method, (owner, other), {})
                if answer != Builtin("NotImplemented"):
                    return answer
            elif method is not NotImplemented:
                return Unknown("comparison of two objects", frame.module.place(node))
    if left is right:
        return True
    for owner, other in ((left, right), (right, left)):
        if not isinstance(owner, Instance):
            continue
        if owner.cls is None:
            if isinstance(other, Instance):
                return Unknown("comparison of two objects", frame.module.place(node))
        elif enums.is_enum(interp, owner.cls):
            return False
        elif dataclass_fields.is_dataclass(interp, owner.cls):
            return _dataclasses(interp, frame, node, owner, other)
        elif classes.has_external_base(interp, owner.cls) and other is not None:
            return Unknown("comparison of two objects", frame.module.place(node))
    return False


def _dataclasses(interp: Interpreter, frame: Frame, node: Node, left: Instance, right: Value) -> Value:
    assert left.cls is not None
    if not dataclass_fields.option(left.cls, "eq", default=True):
        return False
    if not isinstance(right, Instance) or right.cls is not left.cls:
        return False
    names = dataclass_fields.compared(interp, left.cls)
    if names is None:
        return Unknown("comparison of two objects", frame.module.place(node))
    missing = Unknown("a field that may not be set", frame.module.place(node))
    pairs = [(left.attributes.get(n, missing), right.attributes.get(n, missing)) for n in names]
    return _all(interp, frame, node, pairs)
