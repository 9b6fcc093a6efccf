"""Assignment: names, attributes, subscripts, patterns, ``+=``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from investigator.code import (
    builtin_methods,
    classes,
    construction,
    effects,
    operators,
    subscripts,
    variables,
)
from investigator.code.builtin_call import is_surely_no
from investigator.code.frames import Frame
from investigator.code.heap import join_values, lost
from investigator.code.iteration import iterate
from investigator.code.keys import set_entry
from investigator.code.syntax import field as child
from investigator.code.syntax import named, text
from investigator.code.unpacking import parts_of
from investigator.code.values import (
    FunctionValue,
    Instance,
    OneOf,
    Scope,
    Symbol,
    Unknown,
    Value,
    View,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

FIXED = (tuple, str, range, int, float, type(None), set, frozenset)
PATTERNS = ("pattern_list", "tuple_pattern", "list_pattern", "tuple", "list", "expression_list")


def assign(interp: Interpreter, frame: Frame, target: Node, value: Value) -> None:
    """``target = value`` for names, attributes, subscripts and unpacking patterns."""
    match target.type:
        case "identifier":
            variables.set_variable(interp, frame.scope, text(target), value)
        case "attribute":
            owner = interp.evaluate(frame, child(target, "object"))
            interp.set_attribute(frame, target, owner, text(child(target, "attribute")), value)
        case "subscript":
            owner = interp.evaluate(frame, child(target, "value"))
            set_item(interp, frame, target, owner, key_of(interp, frame, target), value)
        case "parenthesized_expression":
            assign(interp, frame, named(target)[0], value)
        case kind if kind in PATTERNS:
            parts = named(target)
            for part, item in zip(parts, parts_of(interp, frame, target, value, parts), strict=True):
                inner = named(part)[0] if part.type == "list_splat_pattern" else part
                assign(interp, frame, inner, item)
        case _:
            pass


def bind_walrus(interp: Interpreter, frame: Frame, name: str, value: Value) -> None:
    """``name := value``: binds in the function, from inside a comprehension too."""
    scope: Scope = frame.scope
    while scope.is_comprehension and scope.parent is not None:
        scope = scope.parent
    variables.set_variable(interp, scope, name, value)


def key_of(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """The key of a subscript: a tuple where there are several."""
    keys = node.children_by_field_name("subscript")
    values = [interp.evaluate(frame, key) for key in keys]
    trailing = any(part.type == "," for part in node.children)
    return values[0] if len(values) == 1 and not trailing else tuple(values)


def part(interp: Interpreter, frame: Frame, target: Node, name: str, value: Value) -> Value:
    """What ``target = value`` binds ``name`` to (``name`` as written in the target)."""
    if target.type not in PATTERNS:
        return value
    parts = named(target)
    for each, item in zip(parts, parts_of(interp, frame, target, value, parts), strict=True):
        inner = named(each)[0] if each.type == "list_splat_pattern" else each
        if text(inner) == name:
            return item
        if inner.type in PATTERNS:
            found = part(interp, frame, inner, name, item)
            if found is not NotImplemented:
                return found
    return NotImplemented


# -- subscripts ------------------------------------------------------------------------


def set_item(interp: Interpreter, frame: Frame, node: Node, owner: Value, key: Value, value: Value) -> None:
    """``owner[key] = value``."""
    if isinstance(owner, OneOf):
        interp.over(frame, node, owner, lambda o: set_item(interp, frame, node, o, key, value))
    elif isinstance(key, OneOf):
        interp.over(frame, node, key, lambda k: set_item(interp, frame, node, owner, k, value))
    elif isinstance(owner, Unknown):
        effects.change_unknown(interp, owner, key, value)
    elif isinstance(owner, dict):
        set_entry(interp, frame, node, owner, key, value)
    elif isinstance(owner, list):
        _set_in_list(interp, frame, node, owner, key, value)
    elif isinstance(owner, Instance):
        _set_on_object(interp, frame, node, owner, key, value)
    elif is_surely_no(interp, owner):
        kind = type(owner).__name__
        raise interp.fail("TypeError", f"{kind} object does not support item assignment", frame, node)


def _set_on_object(
    interp: Interpreter, frame: Frame, node: Node, owner: Instance, key: Value, value: Value
) -> None:
    cls = owner.cls
    method = classes.class_attribute(interp, cls, "__setitem__") if cls is not None else NotImplemented
    if isinstance(method, FunctionValue):
        interp.invoke(frame, node, method, (owner, key, value), {})
    elif cls is not None and classes.surely_lacks(interp, cls, "__setitem__"):
        raise interp.fail("TypeError", f"{cls.name} object does not support item assignment", frame, node)
    else:
        construction.put_into(interp, owner, key, value)


def _set_in_list(
    interp: Interpreter, frame: Frame, node: Node, owner: list[Any], key: Value, value: Value
) -> None:
    interp.journal.touch(owner)
    loose = any(is_spread(item) for item in owner)
    if isinstance(key, slice) and loose:
        items = iterate(interp, frame, node, value)
        interp.doubts += 1
        added = [items] if isinstance(items, Unknown) else items
        effects.loosen(interp, owner, Unknown("a part of a list of unknown length"), *added)
    elif isinstance(key, slice):
        if key.step is None:  # which items are replaced is settled before the new ones are asked for
            with interp.host_errors(frame, node):
                start, stop, _ = key.indices(len(owner))
            key = slice(start, max(start, stop))
        items = iterate(interp, frame, node, value)
        if isinstance(items, Unknown):
            effects.loosen(interp, owner, items)
            return
        with interp.host_errors(frame, node):
            owner[key] = items
    elif isinstance(key, int) and not loose:
        with interp.host_errors(frame, node):
            owner[key] = value
    elif isinstance(key, (Unknown, int)):
        interp.doubts += 1
        because = key if isinstance(key, Unknown) else Unknown("a place in a list of unknown length")
        if loose:
            effects.loosen(interp, owner, because, value)
        else:
            owner[:] = [join_values(item, value, because) for item in owner]
    else:
        raise interp.fail("TypeError", "list indices must be integers or slices", frame, node)


# -- += and del ------------------------------------------------------------------------


def augment(interp: Interpreter, frame: Frame, node: Node) -> None:
    """``target += value``: target's parts are evaluated once."""
    target = child(node, "left")
    match target.type:
        case "attribute":
            owner, name = interp.evaluate(frame, child(target, "object")), text(child(target, "attribute"))
            before = interp.attribute(frame, target, owner, name)
            value = augmented(interp, frame, node, before)
            interp.set_attribute(frame, target, owner, name, value)
        case "subscript":
            owner, key = interp.evaluate(frame, child(target, "value")), key_of(interp, frame, target)
            before = subscripts.subscript(interp, frame, target, owner, key)
            set_item(interp, frame, target, owner, key, augmented(interp, frame, node, before))
        case _:
            before = interp.evaluate(frame, target)
            assign(interp, frame, target, augmented(interp, frame, node, before))


def augmented(interp: Interpreter, frame: Frame, node: Node, before: Value) -> Value:
    """What ``before += value`` makes of ``before``; a list, dict or set is changed in place."""
    value = interp.evaluate(frame, child(node, "right"))
    sign = text(child(node, "operator"))[:-1]
    return _augmented(interp, frame, node, sign, before, value)


def _augmented(
    interp: Interpreter, frame: Frame, node: Node, sign: str, before: Value, value: Value
) -> Value:
    if isinstance(before, OneOf):
        return interp.over(frame, node, before, lambda o: _augmented(interp, frame, node, sign, o, value))
    if isinstance(before, Unknown):
        effects.change_unknown(interp, before, value)
        return lost(before, value)
    own = operators.in_place(interp, frame, node, sign, before, value)
    if own is not NotImplemented:
        return own
    in_place = builtin_methods.IN_PLACE.get((type_of(before), sign))
    if in_place is not None and not (sign == "*" or isinstance(value, Symbol)):
        _check_operand(interp, frame, node, sign, before, value)
        builtin_methods.call_named(interp, frame, node, before, in_place, (value,))
        return before
    if isinstance(before, list) and sign == "*":
        made = operators.binary(interp, frame, node, sign, before, value)
        if isinstance(made, list):
            interp.journal.touch(before)
            before[:] = made
        elif isinstance(made, Unknown):
            effects.loosen(interp, before, made)
        return before
    return operators.binary(interp, frame, node, sign, before, value)


def _check_operand(
    interp: Interpreter, frame: Frame, node: Node, sign: str, before: Value, value: Value
) -> None:
    """``set |= [1]`` is an error, although ``set.update([1])`` is none."""
    accepted: dict[type[Any], tuple[type[Any], ...]] = {
        set: (set, frozenset, View),
        dict: (str, list, tuple, dict),
    }
    wanted = accepted.get(type_of(before))
    plain = (int, float, str, list, tuple, dict, type(None))
    if wanted is not None and isinstance(value, plain) and not isinstance(value, wanted):
        raise interp.fail("TypeError", f"unsupported operand type for {sign}=", frame, node)


def type_of(value: Value) -> type[Any]:
    """``list``, ``dict`` or ``set`` for a value of that kind; else its own type."""
    return next((kind for kind in (list, dict, set) if isinstance(value, kind)), type(value))
