"""Operators, comparisons, membership and subscripts on values."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, enums, externals
from investigator.code.dataclass_fields import as_tuple
from investigator.code.equality import equal, identical, is_plain
from investigator.code.frames import Frame
from investigator.code.heap import lost, may_be_absent, spread, without_absent
from investigator.code.iteration import children, iterate, pull, view_items
from investigator.code.keys import as_key, make_set, merge
from investigator.code.shown import has_members_or_unordered
from investigator.code.syntax import named, text
from investigator.code.trace import Happening
from investigator.code.values import (
    ABSENT,
    END,
    BoundMethod,
    Builtin,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    OneOf,
    Stream,
    Symbol,
    TracedDict,
    TracedList,
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

MAX_INTEGER_BITS = 4096
MAX_ELEMENTS = 100_000
_NUMBERS = (int, float)
_CONTAINERS = (str, list, tuple, set, frozenset, dict)
_PLAIN = (*_NUMBERS, *_CONTAINERS, type(None), range, slice, Stream)

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
_COMPARISON: dict[str, Callable[[Value, Value], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
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
_COMPARING = {"<": ("__lt__", "__gt__"), "<=": ("__le__", "__ge__"), ">": ("__gt__", "__lt__")}
_COMPARING[">="] = ("__ge__", "__le__")
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
        return _by_method(interp, frame, node, left, right, f"__{name}__", f"__r{name}__")
    if isinstance(left, View) or isinstance(right, View):
        return _of_view(interp, frame, node, sign, left, right)
    compute = _ARITHMETIC.get(sign)
    if sign != "|" and any(_is_without_operators(interp, value) for value in (left, right)):
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
    """Whether this is a function, or a class that is nothing but a class."""
    if isinstance(value, ClassValue):
        return not classes.has_metaclass(interp, value)
    return isinstance(value, (FunctionValue, BoundMethod))


def _of_view(interp: Interpreter, frame: Frame, node: Node, sign: str, left: Value, right: Value) -> Value:
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


def _as_set(value: Value) -> Value:
    """A view of keys or items takes part in set operations; other values stay what they are."""
    if isinstance(value, View) and value.kind != "values":
        try:
            return set(view_items(value))
        except TypeError:  # items() of a dict that holds lists
            return value
    return value


def _by_method(
    interp: Interpreter, frame: Frame, node: Node, left: Value, right: Value, name: str, reflected: str
) -> Value:
    """The operator as the objects' classes define it; of a class below the left one's, the right
    object is asked first."""
    order = [(left, right, name), (right, left, reflected)]
    if _is_below(interp, right, left):
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


def _is_below(interp: Interpreter, value: Value, other: Value) -> bool:
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
    if isinstance(value, _PLAIN) and sign in _UNARY:
        with interp.host_errors(frame, node):
            return _UNARY[sign](value)
    return Unknown(f"unary {sign}", frame.module.place(node))


# -- comparisons -----------------------------------------------------------------------


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
    if isinstance(left, Instance) or isinstance(right, Instance):
        if any(isinstance(v, Instance) and v.cls is not None and v.cls.decorators for v in (left, right)):
            return Unknown(f"comparison {sign} of objects", frame.module.place(node))
        return _by_method(interp, frame, node, left, right, *_COMPARING[sign])
    return Unknown(f"comparison {sign}", frame.module.place(node))


def contains(interp: Interpreter, frame: Frame, node: Node, container: Value, item: Value) -> Value:
    """``item in container``: True, False or Unknown."""
    place = frame.module.place(node)
    container = as_tuple(interp, container)
    if isinstance(container, Unknown):
        return derived(container)
    if isinstance(container, Instance) and container.cls is not None:
        method = classes.class_attribute(interp, container.cls, "__contains__")
        if isinstance(method, FunctionValue):
            held = interp.invoke(frame, node, method, (container, item), {})
            truth = interp.truth(held)
            return interp.why(held, frame, node) if truth is None else truth
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
        item = as_key(interp, frame, node, item)
    if isinstance(container, (list, tuple, set, frozenset, range)):
        interp.charge(frame, node, len(container))
        return _among(interp, frame, node, container, item)
    if isinstance(container, (*_NUMBERS, type(None))):
        raise interp.fail("TypeError", f"{type(container).__name__} is not iterable", frame, node)
    return Unknown("membership in something not followed", place)


def _in_text(interp: Interpreter, frame: Frame, node: Node, container: str, item: Value) -> Value:
    if isinstance(item, str):
        return item in container
    if is_plain(item):
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


# -- subscripts ------------------------------------------------------------------------


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
    if isinstance(owner, (*_PLAIN, View)):
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
