"""Python's builtin functions and types.

Only what is listed here is computed; anything else is ``Unknown``. Nothing here can run
foreign code: what the host's own functions are handed are plain values, never callables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import builtin_iterators, builtin_types, classes, effects, enums
from investigator.code.builtin_call import PLAIN, Call, Entry, is_surely_no
from investigator.code.builtin_methods import call_named
from investigator.code.dataclass_fields import as_tuple
from investigator.code.equality import is_plain
from investigator.code.exceptions import is_exception_name, message_of
from investigator.code.frames import Frame
from investigator.code.heap import lost, spread
from investigator.code.iteration import in_some_order, view_items
from investigator.code.keys import make_set
from investigator.code.operators import binary
from investigator.code.shown import has_members_or_unordered, shown_text
from investigator.code.sorting import extreme, sorted_items
from investigator.code.values import (
    ClassValue,
    ExceptionValue,
    FunctionValue,
    Instance,
    OneOf,
    Stream,
    Unknown,
    Value,
    View,
    find_unknown,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

MAX_RANGE = 1_000_000
MAX_DIGITS = 1_000


def truth(value: Value) -> bool | None:
    """``bool(value)`` for plain values, functions and the like."""
    if isinstance(value, View):
        return truth_of_items(view_items(value))
    return True if isinstance(value, Stream) else bool(value)


def truth_of_items(items: list[Value]) -> bool | None:
    """Whether there are any; None when all that stands there is spread."""
    if any(not is_spread(item) for item in items):
        return True
    return None if items else False


def call(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    name: str,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> Value:
    """``name(*args, **kwargs)`` for one of Python's builtins. Raises Raised as Python would."""
    this = Call(interp, frame, node, name, args, kwargs)
    if is_exception_name(name):
        return ExceptionValue(name, message_of(args), None, args)
    entry = _FUNCTIONS.get(name)
    if entry is None:
        unknown = lost(this.unknown(f"builtin {name} is outside the subset"), *args, *kwargs.values())
        return effects.through_unknown(interp, frame, node, unknown, ()) if unknown.hides else unknown
    loose = next((a for a in (*args, *kwargs) if is_spread(a)), None)
    if loose is not None:
        return lost(loose, *args, *kwargs.values())
    function, least, most, keywords = entry
    unexpected = [k for k in kwargs if keywords is not None and k not in keywords]
    if len(args) < least or (most is not None and len(args) > most) or unexpected:
        raise this.fail("TypeError", f"{name}() does not take these arguments")
    return function(this)


# -- constructors ----------------------------------------------------------------------


def _list(this: Call) -> Value:
    return this.interp.journal.born(this.spread_items(this.args[0]) if this.args else [])


def _tuple(this: Call) -> Value:
    if this.args and isinstance(this.args[0], tuple):
        return this.args[0]
    return tuple(this.spread_items(this.args[0])) if this.args else ()


def _set(this: Call) -> Value:
    items = _in_any_order(this, this.args[0]) if this.args else []
    return make_set(this.interp, this.frame, this.node, items)


def _frozenset(this: Call) -> Value:
    return frozenset(_set(this))


def _in_any_order(this: Call, value: Value) -> list[Value]:
    """The items, for somebody to whom their order does not matter."""
    if isinstance(value, (set, frozenset)):
        return in_some_order(value)
    return this.spread_items(value)


def _dict(this: Call) -> Value:
    made: dict[Value, Value] = this.interp.journal.born({})
    if this.args:
        call_named(this.interp, this.frame, this.node, made, "update", (this.args[0],))
    call_named(this.interp, this.frame, this.node, made, "update", (), this.kwargs)
    return made


def _bool(this: Call) -> Value:
    if not this.args:
        return False
    known = this.interp.truth(this.args[0])
    return this.interp.why(this.args[0], this.frame, this.node) if known is None else known


def _str(this: Call) -> Value:
    value = this.args[0] if this.args else ""
    shown = shown_text(this.interp, this.frame, this.node, value)
    return shown if shown is not None else find_unknown(value) or this.unknown()


def _repr(this: Call) -> Value:
    value = this.args[0]
    if is_plain(value) and not has_members_or_unordered(value):
        return repr(value)
    return find_unknown(value) or this.unknown()


# -- numbers and the like --------------------------------------------------------------


def _on_host(function: Callable[..., Value]) -> Callable[[Call], Value]:
    """A function of the host's, for plain arguments."""

    def run(this: Call) -> Value:
        for number, argument in enumerate(this.args):
            if isinstance(argument, OneOf):
                before, after = this.args[:number], this.args[number + 1 :]

                def with_option(option: Value, before: Value = before, after: Value = after) -> Value:
                    return run(this.with_args(*before, option, *after))

                return this.over(argument, with_option)
        missing = find_unknown(this.args) or find_unknown(this.kwargs)
        if missing is not None:
            return missing
        given = (*this.args, *this.kwargs.values())
        given = tuple(as_tuple(this.interp, argument) for argument in given)
        if any(is_surely_no(this.interp, a, *PLAIN) for a in given if not isinstance(a, Instance)):
            raise this.fail("TypeError", f"{this.name}() takes numbers and texts")
        if not all(map(is_plain, given)):
            return _of_object(this)
        with this.interp.host_errors(this.frame, this.node):
            return function(*this.args, **this.kwargs)

    return run


def _of_object(this: Call) -> Value:
    """``abs(x)``, ``int(x)``, ... for an object whose class defines it. Raises Raised(TypeError) where
    it surely defines nothing of the kind."""
    value = this.args[0] if this.args else None
    if isinstance(value, Instance) and value.cls is not None and len(this.args) == 1:
        method = classes.class_attribute(this.interp, value.cls, f"__{this.name}__")
        if isinstance(method, FunctionValue):
            return this.interp.call(this.frame, this.node, method, (value,), {})
    answering = (f"__{this.name}__", f"__r{this.name}__", "__index__", *_ALSO_ANSWERED_BY.get(this.name, ()))
    for each in (*this.args, *this.kwargs.values()):
        cls = each.cls if isinstance(each, Instance) else None
        if cls is not None and classes.surely_lacks(this.interp, cls, *answering):
            raise this.fail("TypeError", f"{this.name}() of a {cls.name} object")
    return this.unknown()


_ALSO_ANSWERED_BY = {"int": ("__trunc__",)}


def _round(number: Value, ndigits: Value = None) -> Value:
    if isinstance(ndigits, int) and abs(ndigits) > MAX_DIGITS:
        return Unknown("rounding to very many digits")
    return round(number, ndigits)


def _range(*args: Value) -> Value:
    made = range(*args)
    return made if _fits(made) else Unknown("a range that is very long")


def _fits(made: range) -> bool:
    try:
        return len(made) <= MAX_RANGE
    except OverflowError:
        return False


def _pow(base: Value, exponent: Value, modulus: Value = None) -> Value:
    if not all(isinstance(v, (int, float)) and abs(v) < MAX_DIGITS for v in (base, exponent, modulus or 0)):
        return Unknown("a very large power")
    result = pow(base, exponent, modulus)
    return Unknown("a complex number") if isinstance(result, complex) else result


def _len(this: Call) -> Value:
    value = this.args[0]
    if isinstance(value, OneOf):
        return this.over(value, lambda v: _len(this.with_args(v)))
    value = as_tuple(this.interp, value)
    if isinstance(value, dict):
        value = View(value, "keys")
    if isinstance(value, View):
        value = view_items(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return next((item for item in value if is_spread(item)), len(value))
    if isinstance(value, (str, range)):
        return len(value)
    if isinstance(value, ClassValue) and enums.is_enum(this.interp, value):
        return len(enums.members(this.interp, this.frame, this.node, value))
    if isinstance(value, Instance):
        return _of_object(this)
    if is_surely_no(this.interp, value):
        raise this.fail("TypeError", f"{type(value).__name__} object has no len()")
    return find_unknown(value) or this.unknown()


def _extreme(largest: bool) -> Callable[[Call], Value]:
    def run(this: Call) -> Value:
        if len(this.args) > 1:
            items: list[Value] | Unknown = list(this.args)
        else:
            value = this.args[0]
            items = in_some_order(value) if isinstance(value, (set, frozenset)) else this.items(value)
        if isinstance(items, Unknown):
            return lost(items, *this.kwargs.values())
        loose = next((item for item in items if is_spread(item)), None)
        if loose is not None:
            return lost(loose, *items, *this.kwargs.values())
        return extreme(this.interp, this.frame, this.node, items, this.kwargs, largest=largest)

    return run


def _sum(this: Call) -> Value:
    total = this.get(1, "start", 0)
    if isinstance(total, str):
        raise this.fail("TypeError", "sum() can't sum strings")
    for item in _in_any_order(this, this.args[0]):
        if is_spread(item):
            return lost(item, total)
        total = binary(this.interp, this.frame, this.node, "+", total, item)
    return total


def _sorted(this: Call) -> Value:
    items = _in_any_order(this, this.args[0])
    loose = next((item for item in items if is_spread(item)), None)
    made: list[Value] | Unknown = (
        sorted_items(this.interp, this.frame, this.node, items, this.kwargs)
        if loose is None
        else lost(loose, *items)
    )
    return this.interp.journal.born([spread(made)]) if isinstance(made, Unknown) else made


def _nothing(this: Call) -> Value:
    return None


_FUNCTIONS: dict[str, Entry] = {
    **builtin_types.FUNCTIONS,
    **builtin_iterators.FUNCTIONS,
    "list": (_list, 0, 1, ()),
    "tuple": (_tuple, 0, 1, ()),
    "set": (_set, 0, 1, ()),
    "frozenset": (_frozenset, 0, 1, ()),
    "dict": (_dict, 0, 1, None),
    "bool": (_bool, 0, 1, ()),
    "str": (_str, 0, 1, ()),
    "repr": (_repr, 1, 1, ()),
    "int": (_on_host(int), 0, 2, ("base",)),
    "float": (_on_host(float), 0, 1, ()),
    "abs": (_on_host(abs), 1, 1, ()),
    "round": (_on_host(_round), 1, 2, ("ndigits",)),
    "range": (_on_host(_range), 1, 3, ()),
    "divmod": (_on_host(divmod), 2, 2, ()),
    "pow": (_on_host(_pow), 2, 3, ()),
    "ord": (_on_host(ord), 1, 1, ()),
    "chr": (_on_host(chr), 1, 1, ()),
    "len": (_len, 1, 1, ()),
    "min": (_extreme(False), 1, None, ("key", "default")),
    "max": (_extreme(True), 1, None, ("key", "default")),
    "sum": (_sum, 1, 2, ("start",)),
    "sorted": (_sorted, 1, 1, ("key", "reverse")),
    "print": (_nothing, 0, None, None),
}
"""By name."""
