"""Comparisons, membership among them, and chains of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, enums
from investigator.code.builtin_call import is_surely_no
from investigator.code.dataclass_fields import as_tuple, option
from investigator.code.effects import take_items
from investigator.code.equality import equal, identical, is_plain
from investigator.code.frames import Frame
from investigator.code.heap import may_be_absent
from investigator.code.iteration import stream_over, view_items
from investigator.code.keys import as_key
from investigator.code.operators import by_method
from investigator.code.streams import pull
from investigator.code.syntax import named, text
from investigator.code.trace import Happening
from investigator.code.values import (
    END,
    ClassValue,
    FunctionValue,
    Instance,
    OneOf,
    Stream,
    TracedDict,
    Unknown,
    Value,
    View,
    derived,
    find_unknown,
    is_spread,
    is_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


_COMPARISON: dict[str, Callable[[Value, Value], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


_COMPARING = {
    "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"),
    ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"),
}


def _as_set(value: Value) -> Value:
    """A view of keys or items takes part in set operations; other values stay what they are."""
    if isinstance(value, View) and value.kind != "values":
        try:
            return set(view_items(value))
        except TypeError:  # items() of a dict that holds lists
            return value
    return value


def compare(interp: Interpreter, frame: Frame, node: Node, sign: str, left: Value, right: Value) -> Value:
    """``left sign right`` for comparison signs, ``in`` and ``is`` among them."""
    if isinstance(left, OneOf):
        return interp.over(frame, node, left, lambda o: compare(interp, frame, node, sign, o, right))
    if isinstance(right, OneOf):
        return interp.over(frame, node, right, lambda o: compare(interp, frame, node, sign, left, o))
    if sign in ("in", "not in"):
        held = contains(interp, frame, node, right, left)
        return held if is_unknown(held) else held is (sign == "in")
    if sign in ("is", "is not"):
        same = identical(left, right, frame.module.place(node))
        return same if is_unknown(same) else same is (sign == "is")
    if sign in ("==", "!=", "<>"):
        return equal(interp, frame, node, left, right, negated=sign != "==")
    return _ordered(interp, frame, node, sign, left, right)


def _ordered(interp: Interpreter, frame: Frame, node: Node, sign: str, left: Value, right: Value) -> Value:
    missing = find_unknown(left) or find_unknown(right)
    if missing is not None:
        return missing
    left, right = as_tuple(interp, _as_set(left)), as_tuple(interp, _as_set(right))
    if is_plain(left) and is_plain(right):
        with interp.host_errors(frame, node):
            return _COMPARISON[sign](left, right)
    if isinstance(left, (list, tuple)) and type(left) is type(right):
        return _rows(interp, frame, node, sign, left, right)
    if isinstance(left, Instance) or isinstance(right, Instance):
        if _is_given_an_order(interp, left) or _is_given_an_order(interp, right):
            return Unknown(f"comparison {sign} of objects", frame.module.place(node))
        return by_method(interp, frame, node, left, right, *_COMPARING[sign])
    sets = isinstance(left, (set, frozenset)) and isinstance(right, (set, frozenset))
    if not sets and is_surely_no(interp, left) and is_surely_no(interp, right):
        raise interp.fail("TypeError", f"{sign} of things that have no order", frame, node)
    return Unknown(f"comparison {sign}", frame.module.place(node))


def _is_given_an_order(interp: Interpreter, value: Value) -> bool:
    """Whether a decorator of the object's class may have made ``<`` and the like for it."""
    order = classes.mro(interp, value.cls) if isinstance(value, Instance) and value.cls is not None else ()
    return any(
        isinstance(base, ClassValue)
        and (option(base, "order") or any("total_ordering" in mark for mark in base.decorators))
        for base in order
    )


def _rows(
    interp: Interpreter, frame: Frame, node: Node, sign: str, left: Sequence[Value], right: Sequence[Value]
) -> Value:
    """Two lists or tuples that hold objects: the first two items that differ decide."""
    for one, other in zip(left, right, strict=False):
        interp.step(frame, node)
        held = equal(interp, frame, node, one, other)
        truth = True if one is other else interp.truth(held)
        if truth is None:
            return interp.why(held, frame, node)
        if not truth:
            return compare(interp, frame, node, sign, one, other)
    return _COMPARISON[sign](len(left), len(right))


def contains(interp: Interpreter, frame: Frame, node: Node, container: Value, item: Value) -> Value:
    """``item in container``: True, False or Unknown."""
    place = frame.module.place(node)
    container = as_tuple(interp, container)
    if isinstance(container, Unknown):
        take_items(interp, container.hides)
        return derived(container)
    if isinstance(container, Instance) and container.cls is not None:
        method = classes.class_attribute(interp, container.cls, "__contains__")
        if isinstance(method, FunctionValue):
            held = interp.invoke(frame, node, method, (container, item), {})
            truth = interp.truth(held)
            return interp.why(held, frame, node) if truth is None else truth
        if method is NotImplemented:
            container = stream_over(interp, frame, node, container)
    if isinstance(container, ClassValue) and enums.is_enum(interp, container):
        container = enums.members(interp, frame, node, container)
    if isinstance(container, str):
        return _in_text(interp, frame, node, container, item)
    if isinstance(container, dict) or (isinstance(container, View) and container.kind == "keys"):
        return _in_dict(
            interp, frame, node, container.source if isinstance(container, View) else container, item
        )
    if isinstance(container, Stream):
        while (element := pull(interp, frame, node, container)) is not END:
            found = _among(interp, frame, node, [element], item)
            if found is not False:
                return found
        return False
    if isinstance(container, View):
        container = view_items(container)
    if isinstance(container, (set, frozenset)):
        item = as_key(interp, frame, node, frozenset(item) if isinstance(item, set) else item)
    if isinstance(container, (list, tuple, set, frozenset, range)):
        interp.charge(frame, node, len(container))
        return _among(interp, frame, node, container, item)
    if is_surely_no(interp, container):
        raise interp.fail("TypeError", f"{type(container).__name__} is not iterable", frame, node)
    return Unknown("membership in something not followed", place)


def _in_text(interp: Interpreter, frame: Frame, node: Node, container: str, item: Value) -> Value:
    if isinstance(item, str):
        return item in container
    if is_surely_no(interp, item, str):
        raise interp.fail("TypeError", "'in <string>' requires string as left operand", frame, node)
    return find_unknown(item) or Unknown("in", frame.module.place(node))


def _in_dict(interp: Interpreter, frame: Frame, node: Node, owner: dict[Value, Value], item: Value) -> Value:
    item = as_key(interp, frame, node, item)
    if isinstance(owner, TracedDict):
        present = not is_unknown(item) and item in owner
        interp.note(Happening.READ, f"{owner.label}.{item}", present, frame, node)
    if isinstance(item, Unknown):
        return item if owner else False
    if item in owner:
        value = owner[item]
        return interp.why(value, frame, node) if may_be_absent(value) else True
    return next((key for key in owner if is_spread(key)), False) if owner else False


def _among(interp: Interpreter, frame: Frame, node: Node, items: Value, item: Value) -> Value:
    if isinstance(item, Unknown):
        return derived(item) if len(items) else False
    missing: Unknown | None = None
    for element in items:
        if element is item:
            return True
        found = element if is_spread(element) else equal(interp, frame, node, element, item)
        truth = interp.truth(found)
        if truth is True:
            return True
        if truth is None:
            missing = missing or interp.why(found, frame, node)
    return missing if missing is not None else False


def apply_comparison(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """The value of a chain of comparisons: later operands only while all before held."""
    operands = named(node)
    signs = [" ".join(text(sign).split()) for sign in node.children_by_field_name("operators")]
    if len(signs) != len(operands) - 1:
        return Unknown("comparison", frame.module.place(node))
    left = interp.evaluate(frame, operands[0])
    return _chain(interp, frame, node, left, list(zip(signs, operands[1:], strict=True)))


def _given(value: Value) -> Value:
    return value


def _chain(interp: Interpreter, frame: Frame, node: Node, left: Value, rest: list[tuple[str, Node]]) -> Value:
    result: Value = True
    for number, (sign, operand) in enumerate(rest):
        right = interp.evaluate(frame, operand)
        result = compare(interp, frame, node, sign, left, right)
        truth = interp.truth(result)
        if truth is False or number == len(rest) - 1:
            return result
        if truth is None:
            because = interp.why(result, frame, node)
            failing = Unknown(because.reason, because.place, because.not_followed, truth=False)
            further = partial(_chain, interp, frame, node, right, rest[number + 1 :])
            return interp.either(frame, node, (partial(_given, failing), further), because)
        left = right
    return result
