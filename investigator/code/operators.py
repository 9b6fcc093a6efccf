"""Operators on values: arithmetic, ``%`` on texts, and what an object's class makes of them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes
from investigator.code.builtin_call import VALUES, is_surely_no
from investigator.code.dataclass_fields import as_tuple
from investigator.code.equality import is_plain
from investigator.code.frames import Frame
from investigator.code.heap import lost
from investigator.code.iteration import iterate
from investigator.code.keys import make_set, merge
from investigator.code.shown import has_members_or_unordered
from investigator.code.syntax import text
from investigator.code.values import (
    BoundMethod,
    Builtin,
    ClassValue,
    ExceptionValue,
    FunctionValue,
    Instance,
    OneOf,
    Stream,
    Symbol,
    Unknown,
    Value,
    View,
    derived,
    find_unknown,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

MAX_INTEGER_BITS = 4096
MAX_ELEMENTS = 100_000
_PLAIN = (*VALUES, Stream)

_ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "@": operator.matmul,
}
_UNARY: dict[str, Callable[[Value], Value]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}
_METHODS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "<<": "lshift",
    ">>": "rshift",
    "&": "and",
    "|": "or",
    "^": "xor",
    "@": "matmul",
}
_SIMPLE_FORMAT = re.compile(r"(?:[^%]|%%|%(?:\([^()%]*\))?[-+ #0]{0,3}\d{0,3}(?:\.\d{0,3})?[sdrfgexXoi])*")


# -- arithmetic ------------------------------------------------------------------------


def binary(interp: Interpreter, frame: Frame, node: Node, sign: str, left: Value, right: Value) -> Value:
    """``left sign right``."""
    if isinstance(left, OneOf):
        return interp.over(frame, node, left, lambda o: binary(interp, frame, node, sign, o, right))
    if isinstance(right, OneOf):
        return interp.over(frame, node, right, lambda o: binary(interp, frame, node, sign, left, o))
    for value, other, reflected in ((left, right, False), (right, left, True)):
        if isinstance(value, Symbol):
            result = value.binary(sign, other, reflected=reflected)
            if result is not NotImplemented:
                return result
    if (missing := _first_unknown(left, right)) is not None:
        return lost(missing, left, right)
    if isinstance(left, str) and sign == "%":
        return _format(interp, frame, node, left, as_tuple(interp, right))
    left, right = as_tuple(interp, left), as_tuple(interp, right)
    if isinstance(left, Instance) or isinstance(right, Instance):
        name = _METHODS.get(sign, "")
        return by_method(interp, frame, node, left, right, f"__{name}__", f"__r{name}__")
    if isinstance(left, View) or isinstance(right, View):
        return of_view(interp, frame, node, sign, left, right)
    compute = _ARITHMETIC.get(sign)
    of_types = sign == "|" and any(isinstance(value, (ClassValue, Builtin)) for value in (left, right))
    if not of_types and any(_is_without_operators(interp, value) for value in (left, right)):
        raise interp.fail("TypeError", f"unsupported operand types for {sign}", frame, node)
    if compute is None or not isinstance(left, _PLAIN) or not isinstance(right, _PLAIN):
        return Unknown(f"operator {sign}", frame.module.place(node))
    return _plain(interp, frame, node, sign, compute, left, right)


def _plain(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    sign: str,
    compute: Callable[[Value, Value], Value],
    left: Value,
    right: Value,
) -> Value:
    place = frame.module.place(node)
    if _too_large(sign, left, right):
        return lost(Unknown(f"{sign} would make something very large", place), left, right)
    if isinstance(left, dict) and isinstance(right, dict) and sign == "|":
        made = interp.journal.born(dict(left))
        merge(interp, frame, node, made, right)
        return made
    if isinstance(left, (set, frozenset)) or isinstance(right, (set, frozenset)):
        loose = next(
            (i for s in (left, right) if isinstance(s, (set, frozenset)) for i in s if is_spread(i)), None
        )
        if loose is not None:
            return lost(loose, *left, *right) if isinstance(right, (set, frozenset)) else loose
    with interp.host_errors(frame, node):
        result = compute(left, right)
    if isinstance(result, complex):
        return Unknown("a complex number", place)
    if isinstance(result, (list, set)):
        interp.charge(frame, node, len(result))
        interp.journal.born(result)
    return result


def _is_without_operators(interp: Interpreter, value: Value) -> bool:
    """Whether this is a function, an exception of Python's own, or a class that is nothing but a class."""
    if isinstance(value, ExceptionValue):
        return value.cls is None
    return isinstance(value, (ClassValue, FunctionValue, BoundMethod)) and is_surely_no(interp, value)


def of_view(interp: Interpreter, frame: Frame, node: Node, sign: str, left: Value, right: Value) -> Value:
    """Keys and items of a dict take part in set operations, with whatever can be gone through."""
    viewed = any(isinstance(value, View) and value.kind != "values" for value in (left, right))
    if sign not in ("|", "&", "-", "^") or not viewed:
        raise interp.fail("TypeError", f"unsupported operand types for {sign}", frame, node)
    sets: list[Value] = []
    for value in (left, right):
        items = iterate(interp, frame, node, value)
        if isinstance(items, Unknown):
            return lost(items, left, right)
        sets.append(make_set(interp, frame, node, items))
    return _plain(interp, frame, node, sign, _ARITHMETIC[sign], *sets)


def by_method(
    interp: Interpreter, frame: Frame, node: Node, left: Value, right: Value, name: str, reflected: str
) -> Value:
    """The operator as the objects' classes define it; of a class below the left one's, the right
    object is asked first."""
    order = [(left, right, name), (right, left, reflected)]
    if is_below(interp, right, left):
        order.reverse()
    for owner, other, wanted in order:
        if isinstance(owner, Instance) and owner.cls is not None:
            method = classes.class_attribute(interp, owner.cls, wanted)
            if isinstance(method, FunctionValue):
                value = interp.call(frame, node, method, (owner, other), {})
                if value != Builtin("NotImplemented"):
                    return value
            elif method is not NotImplemented or classes.has_external_base(interp, owner.cls):
                break
        elif isinstance(owner, Instance) or not isinstance(owner, _PLAIN):
            break
    else:
        raise interp.fail("TypeError", f"unsupported operand types for {name.strip('_')}", frame, node)
    return lost(Unknown(f"{name} of an object", frame.module.place(node)), left, right)


def is_below(interp: Interpreter, value: Value, other: Value) -> bool:
    """Whether an object's class is below another's."""
    if not isinstance(value, Instance) or not isinstance(other, Instance):
        return False
    if value.cls is None or other.cls is None or value.cls is other.cls:
        return False
    return classes.is_subclass(interp, value.cls, other.cls) is True


def in_place(interp: Interpreter, frame: Frame, node: Node, sign: str, left: Value, right: Value) -> Value:
    """``left sign= right`` as the class of an object defines it; NotImplemented where it does not."""
    cls = left.cls if isinstance(left, Instance) else None
    if cls is None:
        return NotImplemented
    method = classes.class_attribute(interp, cls, f"__i{_METHODS.get(sign, '')}__")
    if not isinstance(method, FunctionValue):
        return NotImplemented
    made = interp.call(frame, node, method, (left, right), {})
    return NotImplemented if made == Builtin("NotImplemented") else made


def _too_large(sign: str, left: Value, right: Value) -> bool:
    if isinstance(left, int) and isinstance(right, int):
        if sign == "**":
            return right * left.bit_length() > MAX_INTEGER_BITS
        if sign == "<<":
            return left.bit_length() + right > MAX_INTEGER_BITS
        return sign == "*" and left.bit_length() + right.bit_length() > MAX_INTEGER_BITS
    if sign == "*":
        for many, times in ((left, right), (right, left)):
            if isinstance(many, (str, list, tuple)) and isinstance(times, int):
                return len(many) * times > MAX_ELEMENTS
    sized = isinstance(left, (str, list, tuple)) and isinstance(right, (str, list, tuple))
    return sign == "+" and sized and len(left) + len(right) > MAX_ELEMENTS


def _format(interp: Interpreter, frame: Frame, node: Node, template: str, value: Value) -> Value:
    """``"%s" % value`` for plain values and simple formats."""
    place = frame.module.place(node)
    simple = len(template) <= MAX_ELEMENTS and _SIMPLE_FORMAT.fullmatch(template) is not None
    if not simple or not is_plain(value) or has_members_or_unordered(value):
        return find_unknown(value) or Unknown("% formatting", place)
    with interp.host_errors(frame, node):
        return template % value


def _first_unknown(*values: Value) -> Unknown | None:
    return next((value for value in values if isinstance(value, Unknown)), None)


def unary(interp: Interpreter, frame: Frame, node: Node, sign: str, value: Value) -> Value:
    """``sign value``."""
    if isinstance(value, OneOf):
        return interp.over(frame, node, value, lambda option: unary(interp, frame, node, sign, option))
    if isinstance(value, Unknown):
        return derived(value)
    if isinstance(value, Instance) and value.cls is not None:
        name = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}.get(sign, "")
        method = classes.class_attribute(interp, value.cls, name)
        if isinstance(method, FunctionValue):
            return interp.call(frame, node, method, (value,), {})
        if method is NotImplemented and not classes.has_external_base(interp, value.cls):
            raise interp.fail("TypeError", f"bad operand type for unary {sign}", frame, node)
    if _is_without_operators(interp, value):
        raise interp.fail("TypeError", f"bad operand type for unary {sign}", frame, node)
    if isinstance(value, _PLAIN) and sign in _UNARY:
        with interp.host_errors(frame, node):
            return _UNARY[sign](value)
    return Unknown(f"unary {sign}", frame.module.place(node))


def apply_binary(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """The value of a binary operator's node; a long chain of them is gone through, not down."""
    chain = [node]
    while (inner := chain[-1].child_by_field_name("left")) is not None and inner.type == "binary_operator":
        chain.append(inner)
    first = chain[-1].child_by_field_name("left")
    value = interp.evaluate(frame, first) if first is not None else Unknown("an operand is missing")
    for each in reversed(chain):
        right, sign = each.child_by_field_name("right"), each.child_by_field_name("operator")
        if right is None or sign is None:
            return Unknown("an operand is missing", frame.module.place(each))
        interp.step(frame, each)
        value = binary(interp, frame, each, text(sign), value, interp.evaluate(frame, right))
    return value
