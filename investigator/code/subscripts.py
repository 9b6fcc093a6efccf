"""``owner[key]`` and slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, enums, externals
from investigator.code.builtin_call import is_surely_no
from investigator.code.dataclass_fields import as_tuple
from investigator.code.frames import Frame
from investigator.code.heap import lost, may_be_absent, spread, without_absent
from investigator.code.iteration import children
from investigator.code.keys import as_key
from investigator.code.trace import Happening
from investigator.code.values import (
    ABSENT,
    Builtin,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    OneOf,
    Symbol,
    TracedDict,
    TracedList,
    Unknown,
    Value,
    find_unknown,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def subscript(interp: Interpreter, frame: Frame, node: Node, owner: Value, key: Value) -> Value:
    """``owner[key]``. Raises Raised(KeyError, IndexError, TypeError)."""
    if isinstance(owner, OneOf):
        return interp.over(frame, node, owner, lambda option: subscript(interp, frame, node, option, key))
    if isinstance(key, OneOf):
        return interp.over(frame, node, key, lambda option: subscript(interp, frame, node, owner, option))
    if isinstance(owner, Symbol):
        value = owner.item(key)
        return Unknown("item of a symbol", frame.module.place(node)) if value is NotImplemented else value
    if isinstance(owner, Unknown):
        return children(owner) if owner.hides else owner
    owner = as_tuple(interp, owner)
    if isinstance(owner, ClassValue) and enums.is_enum(interp, owner) and isinstance(key, str):
        value = enums.by_name(interp, owner, key)
        if value is NotImplemented:
            raise interp.missing_key(key, frame, node)
        return value
    if isinstance(owner, ClassValue):
        maker = classes.class_attribute(interp, owner, "__class_getitem__")
        if isinstance(maker, FunctionValue):
            return interp.invoke(frame, node, maker, (owner, key), {})
    if isinstance(owner, (ClassValue, Builtin)):
        return owner  # list[int], Generic[T]: the type itself
    if isinstance(owner, dict):
        return _dict_item(interp, frame, node, owner, key)
    if isinstance(owner, (list, tuple, str, range)):
        return _sequence_item(interp, frame, node, owner, key)
    if isinstance(owner, Instance) and owner.cls is not None:
        method = classes.class_attribute(interp, owner.cls, "__getitem__")
        if isinstance(method, FunctionValue):
            return interp.invoke(frame, node, method, (owner, key), {})
        if classes.surely_lacks(interp, owner.cls, "__getitem__"):
            raise interp.fail("TypeError", f"{owner.cls.name} object is not subscriptable", frame, node)
    if owner in externals.LITERAL and find_unknown(key) is None:
        return externals.literal_type(key)
    if owner == External("os.environ") and isinstance(key, str):
        if key in interp.environment:
            return interp.environment[key]
        raise interp.missing_key(key, frame, node)
    if not isinstance(owner, Instance) and is_surely_no(interp, owner):
        raise interp.fail("TypeError", f"{type(owner).__name__} object is not subscriptable", frame, node)
    return children(lost(Unknown("subscript of something not followed", frame.module.place(node)), owner))


def _sequence_item(interp: Interpreter, frame: Frame, node: Node, owner: Value, key: Value) -> Value:
    if isinstance(key, Unknown):
        return lost(key, *owner) if not isinstance(owner, (str, range)) else key
    if isinstance(key, Instance) and key.cls is not None:
        return Unknown("an index that is an object", frame.module.place(node))
    if isinstance(owner, (list, tuple)) and not _is_certain(owner, key):
        interp.doubts += 1
        loose = next(item for item in owner if is_spread(item))
        if isinstance(key, slice):
            part = spread(loose, *owner)
            return interp.journal.born([part]) if isinstance(owner, list) else (part,)
        return lost(loose, *owner)
    with interp.host_errors(frame, node):
        found = owner[key]
    if isinstance(key, slice) and isinstance(found, list):
        interp.charge(frame, node, len(found))
        interp.journal.born(found)
    if isinstance(owner, TracedList):
        interp.note(Happening.READ, f"{owner.label}[{key}]", found, frame, node)
    return found


def _is_certain(owner: Value, key: Value) -> bool:
    """Whether no spread item shifts what stands at the key."""
    loose = [number for number, item in enumerate(owner) if is_spread(item)]
    if not loose:
        return True
    if isinstance(key, int):
        return key < loose[0] if key >= 0 else len(owner) + key > loose[-1]
    if isinstance(key, slice) and (key.step is None or (isinstance(key.step, int) and key.step > 0)):
        start, stop = key.start or 0, key.stop
        return isinstance(start, int) and isinstance(stop, int) and start >= 0 and 0 <= stop <= loose[0]
    return False


def _dict_item(interp: Interpreter, frame: Frame, node: Node, owner: dict[Value, Value], key: Value) -> Value:
    key = as_key(interp, frame, node, key)
    if isinstance(key, Unknown):
        return lost(key, *owner.values())
    if isinstance(owner, TracedDict):
        interp.note(Happening.READ, f"{owner.label}.{key}", owner.get(key), frame, node)
    value = owner.get(key, ABSENT)
    if not may_be_absent(value):
        return value
    loose = next((k for k in owner if is_spread(k)), None)
    if value is not ABSENT:
        interp.doubts += 1
        interp.note(Happening.ASSUME, "no KeyError", key, frame, node)
        return without_absent(value)
    if loose is None:
        raise interp.missing_key(key, frame, node)
    interp.doubts += 1
    return lost(loose, *(value for k, value in owner.items() if is_spread(k)))


def make_slice(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """``start:stop:step``."""
    bounds: list[Value] = [None, None, None]
    position = 0
    for part in node.children:
        if part.type == ":":
            position += 1
        elif part.is_named and position < 3 and part.type != "comment":
            bounds[position] = interp.evaluate(frame, part)
    missing = find_unknown(bounds)
    return missing if missing is not None else slice(*bounds)
