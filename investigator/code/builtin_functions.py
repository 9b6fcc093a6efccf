"""Python's builtin functions and types.

Only what is listed here is computed; anything else is ``Unknown``. Nothing here can run
foreign code: what the host's own functions are handed are plain values, never callables.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, effects, enums
from investigator.code.assignment import delete_attribute
from investigator.code.builtin_methods import call_named
from investigator.code.dataclass_fields import as_tuple
from investigator.code.equality import is_plain
from investigator.code.exceptions import is_exception_name, is_subclass_of_builtin, message_of, text_of
from investigator.code.frames import Frame
from investigator.code.heap import join_values, lost, may_be_absent, spread, without_absent
from investigator.code.iteration import (
    applied,
    counted,
    filtered,
    in_some_order,
    iterate,
    pull,
    stream_over,
    take,
    view_items,
    zipped,
)
from investigator.code.keys import make_set
from investigator.code.operators import binary
from investigator.code.sorting import extreme, sorted_items
from investigator.code.types_and_methods import TYPES
from investigator.code.values import (
    END,
    BoundMethod,
    Builtin,
    ClassValue,
    ExceptionValue,
    External,
    FunctionValue,
    Instance,
    IntMember,
    NativeMethod,
    OneOf,
    Partial,
    Stream,
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

MAX_RANGE = 1_000_000
MAX_DIGITS = 1_000
_PLAIN = (int, float, str, bool, type(None))


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


class _Call:
    """One call of a builtin: its arguments, and where it stands."""

    def __init__(
        self,
        interp: Interpreter,
        frame: Frame,
        node: Node,
        name: str,
        args: tuple[Value, ...],
        kwargs: dict[str, Value],
    ) -> None:
        self.interp, self.frame, self.node, self.name = interp, frame, node, name
        self.args, self.kwargs = args, kwargs

    def unknown(self, what: str = "") -> Unknown:
        return Unknown(what or f"{self.name}() of something not followed", self.frame.module.place(self.node))

    def fail(self, kind: str, message: str) -> Exception:
        return self.interp.fail(kind, message, self.frame, self.node)

    def get(self, number: int, name: str, default: Value = None) -> Value:
        return self.args[number] if len(self.args) > number else self.kwargs.get(name, default)

    def items(self, value: Value) -> list[Value] | Unknown:
        return iterate(self.interp, self.frame, self.node, value)

    def spread_items(self, value: Value) -> list[Value]:
        found = self.items(value)
        return [spread(found)] if isinstance(found, Unknown) else found

    def over(self, choice: OneOf, compute: Callable[[Value], Value]) -> Value:
        return self.interp.over(self.frame, self.node, choice, compute)

    def with_first(self, value: Value) -> _Call:
        return _Call(self.interp, self.frame, self.node, self.name, (value, *self.args[1:]), self.kwargs)


def call(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    name: str,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> Value:
    """``name(*args, **kwargs)`` for one of Python's builtins. Raises Raised as Python would."""
    this = _Call(interp, frame, node, name, args, kwargs)
    if is_exception_name(name):
        return ExceptionValue(name, message_of(args), None, args)
    function, least, most, keywords = _FUNCTIONS.get(name, (None, 0, None, ()))
    if function is None:
        unknown = lost(this.unknown(f"builtin {name} is outside the subset"), *args, *kwargs.values())
        return effects.through_unknown(interp, frame, node, unknown, ()) if unknown.hides else unknown
    loose = next((a for a in (*args, *kwargs) if is_spread(a)), None)
    if loose is not None:
        return lost(loose, *args, *kwargs.values())
    unexpected = [k for k in kwargs if keywords is not None and k not in keywords]
    if len(args) < least or (most is not None and len(args) > most) or unexpected:
        raise this.fail("TypeError", f"{name}() does not take these arguments")
    return function(this)


# -- attributes and types --------------------------------------------------------------


def _getattr(this: _Call) -> Value:
    owner, name = this.args[0], this.args[1]
    if isinstance(name, OneOf):
        return this.over(name, lambda n: _getattr(_with_args(this, owner, n, *this.args[2:])))
    if not isinstance(name, str):
        return lost(find_unknown(name) or this.unknown(), owner, *this.args[2:])
    value = this.interp.attribute_or_missing(this.frame, this.node, owner, name)
    if value is NotImplemented:
        if len(this.args) > 2:
            return this.args[2]
        return this.interp.not_there(this.frame, this.node, owner, name)
    if not may_be_absent(value):
        return value
    if len(this.args) > 2 and isinstance(value, OneOf):
        return join_values(without_absent(value), this.args[2], value.reason)
    this.interp.doubts += 1
    return without_absent(value)


def _with_args(this: _Call, *args: Value) -> _Call:
    return _Call(this.interp, this.frame, this.node, this.name, args, this.kwargs)


def _hasattr(this: _Call) -> Value:
    owner, name = this.args
    if isinstance(owner, OneOf):
        return this.over(owner, lambda o: _hasattr(_with_args(this, o, name)))
    if is_unknown(owner) or not isinstance(name, str):
        return find_unknown(this.args) or this.unknown()
    value = this.interp.attribute_or_missing(this.frame, this.node, owner, name)
    if value is NotImplemented:
        return False
    if may_be_absent(value):
        return this.interp.why(value, this.frame, this.node)
    if isinstance(owner, Instance) and not owner.complete and isinstance(value, Unknown):
        return value
    return this.unknown() if isinstance(owner, External) else True


def _setattr(this: _Call) -> Value:
    owner, name, value = this.args
    if isinstance(name, str):
        this.interp.set_attribute(this.frame, this.node, owner, name, value)
    elif isinstance(owner, Instance):
        effects.unsettle(this.interp, owner, find_unknown(name) or this.unknown(), value)
        owner.complete = False
    return None


def _delattr(this: _Call) -> Value:
    owner, name = this.args
    if isinstance(name, str):
        delete_attribute(this.interp, this.frame, this.node, owner, name)
    elif isinstance(owner, Instance):
        effects.unsettle(this.interp, owner, find_unknown(name) or this.unknown())
        owner.complete = False
    return None


def _vars(this: _Call) -> Value:
    owner = this.args[0]
    if isinstance(owner, _VALUES):
        raise this.fail("TypeError", "vars() argument must have __dict__ attribute")
    return this.interp.attribute(this.frame, this.node, owner, "__dict__")


def _isinstance(this: _Call) -> Value:
    value, wanted = this.args
    if isinstance(value, OneOf):
        return this.over(value, lambda v: _isinstance(_with_args(this, v, wanted)))
    undecided: Unknown | None = None
    for kind in _kinds(wanted):
        answer = _is_a(this, value, kind)
        if answer is True:
            return True
        if answer is None:
            undecided = undecided or find_unknown((value, kind)) or this.unknown()
    return undecided if undecided is not None else False


def _kinds(wanted: Value) -> list[Value]:
    found: list[Value] = []
    stack = [wanted]
    while stack:
        kind = stack.pop()
        if isinstance(kind, tuple):
            stack.extend(reversed(kind))
        else:
            found.append(kind)
    return found


_ABSTRACT: dict[str, tuple[type, ...]] = {
    "Mapping": (dict,),
    "MutableMapping": (dict,),
    "Sequence": (list, tuple, str, range),
    "MutableSequence": (list,),
    "Iterable": (list, tuple, str, dict, set, frozenset, range, Stream, View),
    "Collection": (list, tuple, str, dict, set, frozenset, range, View),
    "Sized": (list, tuple, str, dict, set, frozenset, range, View),
    "Hashable": (int, float, str, type(None), tuple, frozenset, range),
    "Iterator": (Stream,),
    "Set": (set, frozenset),
    "Integral": (int,),
    "Number": (int, float),
    "Real": (int, float),
}
_VALUES = (*_PLAIN, list, tuple, dict, set, frozenset, range, slice)


def _is_a(this: _Call, value: Value, kind: Value) -> bool | None:
    interp = this.interp
    if isinstance(value, Unknown):
        return None
    if kind is None or kind == Builtin("NoneType"):
        return value is None
    if isinstance(kind, Builtin):
        return _is_a_builtin(interp, value, kind.name)
    if isinstance(kind, ClassValue):
        if isinstance(value, ExceptionValue):
            return value.cls is not None and classes.is_subclass(interp, value.cls, kind) is True
        return classes.is_instance(interp, value, kind)
    if isinstance(kind, External):
        if kind.dotted in ("types.NoneType", "types.FunctionType", "types.UnionType"):
            return value is None if kind.dotted.endswith("NoneType") else None
        found = _ABSTRACT.get(kind.dotted.rpartition(".")[2])
        if found is not None and kind.dotted.startswith(("collections", "typing", "numbers")):
            return isinstance(value, found) if isinstance(value, (*_VALUES, Stream, View)) else None
        if isinstance(value, Instance) and value.cls is not None:
            order = classes.mro(interp, value.cls)
            if kind in order:
                return True
            return None if classes.has_external_base(interp, value.cls) else False
        return False if isinstance(value, (*_VALUES, FunctionValue, Stream, View)) else None
    return None


def _is_a_builtin(interp: Interpreter, value: Value, name: str) -> bool | None:
    if name == "object":
        return True
    if name in TYPES:
        if isinstance(value, Instance):
            return _below_builtin(interp, value, name)
        return isinstance(value, TYPES[name]) if not isinstance(value, (Symbol, External)) else None
    if name == "type":
        return isinstance(value, (ClassValue, Builtin)) if not isinstance(value, External) else None
    if is_exception_name(name):
        if not isinstance(value, ExceptionValue):
            return False if isinstance(value, _VALUES) else None
        order = (Builtin(value.name),) if value.cls is None else classes.mro(interp, value.cls)
        return any(isinstance(b, Builtin) and is_subclass_of_builtin(b.name, name) for b in order)
    return (
        False
        if isinstance(value, (int, str, float, type(None), list, dict, tuple))
        and name
        in (
            "bytes",
            "complex",
            "bytearray",
            "memoryview",
        )
        else None
    )


def _below_builtin(interp: Interpreter, value: Instance, name: str) -> bool | None:
    if value.cls is None:
        return False
    order = classes.mro(interp, value.cls)
    if Builtin(name) in order or (name == "tuple" and any("NamedTuple" in str(base) for base in order)):
        return True
    return None if classes.has_external_base(interp, value.cls) and name in ("dict", "list") else False


def _issubclass(this: _Call) -> Value:
    candidate, wanted = this.args
    undecided = False
    for kind in _kinds(wanted):
        answer = _is_below(this, candidate, kind)
        if answer is True:
            return True
        undecided = undecided or answer is None
    return (find_unknown(this.args) or this.unknown()) if undecided else False


def _is_below(this: _Call, candidate: Value, kind: Value) -> bool | None:
    if isinstance(candidate, ClassValue):
        if isinstance(kind, ClassValue):
            return classes.is_subclass(this.interp, candidate, kind)
        order = classes.mro(this.interp, candidate)
        if kind in order or kind == Builtin("object"):
            return True
        return (
            None if classes.has_external_base(this.interp, candidate) or isinstance(kind, External) else False
        )
    if isinstance(candidate, Builtin) and isinstance(kind, ClassValue):
        return None if classes.has_metaclass(this.interp, kind) else False
    if isinstance(candidate, Builtin) and isinstance(kind, Builtin):
        one, two = getattr(builtins, candidate.name, None), getattr(builtins, kind.name, None)
        return issubclass(one, two) if isinstance(one, type) and isinstance(two, type) else None
    return None


def _type(this: _Call) -> Value:
    value = this.args[0]
    if len(this.args) != 1:
        return this.unknown("type() of a class to be made")
    if isinstance(value, OneOf):
        return this.over(value, lambda v: _type(_with_args(this, v)))
    if isinstance(value, (Instance, StrMember, IntMember)) and value.cls is not None:
        return value.cls
    for name, kind in TYPES.items():
        if type(value) is kind or (isinstance(value, (list, dict)) and kind in type(value).__mro__):
            return Builtin(name)
    if value is None:
        return Builtin("NoneType")
    if isinstance(value, ExceptionValue):
        return value.cls or Builtin(value.name)
    return find_unknown(value) or this.unknown()


def _callable(this: _Call) -> Value:
    value = this.args[0]
    if isinstance(value, (FunctionValue, BoundMethod, ClassValue, Partial, Builtin, NativeMethod)):
        return True
    if isinstance(value, (*_VALUES, Stream, View)):
        return False
    if isinstance(value, Symbol) and type(value).call is not Symbol.call:
        return True
    if isinstance(value, Instance) and value.cls is not None:
        if classes.class_attribute(this.interp, value.cls, "__call__") is not NotImplemented:
            return True
        if not classes.has_external_base(this.interp, value.cls):
            return False
    return find_unknown(value) or this.unknown()


def _id(this: _Call) -> Value:
    return this.unknown("id() of an object")


# -- constructors ----------------------------------------------------------------------


def _list(this: _Call) -> Value:
    return this.interp.journal.born(this.spread_items(this.args[0]) if this.args else [])


def _tuple(this: _Call) -> Value:
    if this.args and isinstance(this.args[0], tuple):
        return this.args[0]
    return tuple(this.spread_items(this.args[0])) if this.args else ()


def _set(this: _Call) -> Value:
    items = _in_any_order(this, this.args[0]) if this.args else []
    return make_set(this.interp, this.frame, this.node, items)


def _frozenset(this: _Call) -> Value:
    return frozenset(_set(this))


def _in_any_order(this: _Call, value: Value) -> list[Value]:
    """The items, for somebody to whom their order does not matter."""
    if isinstance(value, (set, frozenset)):
        return in_some_order(value)
    return this.spread_items(value)


def _dict(this: _Call) -> Value:
    made: dict[Value, Value] = this.interp.journal.born({})
    if this.args:
        call_named(this.interp, this.frame, this.node, made, "update", (this.args[0],))
    call_named(this.interp, this.frame, this.node, made, "update", (), this.kwargs)
    return made


def _bool(this: _Call) -> Value:
    if not this.args:
        return False
    known = this.interp.truth(this.args[0])
    return this.interp.why(this.args[0], this.frame, this.node) if known is None else known


def _str(this: _Call) -> Value:
    value = this.args[0] if this.args else ""
    shown = shown_text(this.interp, this.frame, this.node, value)
    return shown if shown is not None else find_unknown(value) or this.unknown()


def _repr(this: _Call) -> Value:
    value = this.args[0]
    if is_plain(value) and not _has_members_or_unordered(value):
        return repr(value)
    return find_unknown(value) or this.unknown()


def shown_text(interp: Interpreter, frame: Frame, node: Node, value: Value) -> str | None:
    """``str(value)``; None when it is not known."""
    if isinstance(value, StrMember):
        return (
            str.__str__(value) if enums.shows_value(interp, value.cls) else f"{value.cls.name}.{value.member}"
        )
    if isinstance(value, IntMember):
        return str(int(value)) if enums.shows_value(interp, value.cls) else f"{value.cls.name}.{value.member}"
    if isinstance(value, str):
        return value
    if isinstance(value, _PLAIN) or (is_plain(value) and not _has_members_or_unordered(value)):
        return _host_text(interp, frame, node, value)
    if isinstance(value, ExceptionValue):
        return _text_of_exception(interp, value)
    if isinstance(value, Instance) and value.cls is not None:
        for name in ("__str__", "__repr__"):
            method = classes.class_attribute(interp, value.cls, name)
            if isinstance(method, FunctionValue):
                made = interp.invoke(frame, node, method, (value,), {})
                return made if isinstance(made, str) else None
        if enums.is_enum(interp, value.cls):
            return f"{value.cls.name}.{value.attributes['name']}"
    return None


def _text_of_exception(interp: Interpreter, error: ExceptionValue) -> str | None:
    if error.cls is None:
        return text_of(error.name, error.args)
    own = ("__init__", "__new__", "__str__", "__repr__")
    if any(classes.class_attribute(interp, error.cls, name) is not NotImplemented for name in own):
        return None
    kinds = [base.name for base in classes.mro(interp, error.cls) if isinstance(base, Builtin)]
    texts = {text_of(kind, error.args) for kind in kinds}
    return texts.pop() if len(texts) == 1 else None


def _host_text(interp: Interpreter, frame: Frame, node: Node, value: Value) -> str:
    with interp.host_errors(frame, node):
        return str(value)


def _has_members_or_unordered(value: Value) -> bool:
    """Whether printing shows a set (in no order) or a member of an enumeration (in its own way)."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, (set, frozenset, StrMember, IntMember)):
            return True
        if isinstance(part, (list, tuple)):
            stack.extend(part)
        elif isinstance(part, dict):
            stack.extend((*part.keys(), *part.values()))
    return False


# -- numbers and the like --------------------------------------------------------------


def _on_host(function: Callable[..., Value]) -> Callable[[_Call], Value]:
    """A function of the host's, for plain arguments."""

    def run(this: _Call) -> Value:
        for number, argument in enumerate(this.args):
            if isinstance(argument, OneOf):
                before, after = this.args[:number], this.args[number + 1 :]

                def with_option(option: Value, before: Value = before, after: Value = after) -> Value:
                    return run(_with_args(this, *before, option, *after))

                return this.over(argument, with_option)
        missing = find_unknown(this.args) or find_unknown(this.kwargs)
        if missing is not None:
            return missing
        if not all(map(is_plain, (*this.args, *this.kwargs.values()))):
            return _of_object(this)
        with this.interp.host_errors(this.frame, this.node):
            return function(*this.args, **this.kwargs)

    return run


def _of_object(this: _Call) -> Value:
    """``abs(x)``, ``int(x)``, ... for an object whose class defines it."""
    value = this.args[0] if this.args else None
    if isinstance(value, Instance) and value.cls is not None and len(this.args) == 1:
        method = classes.class_attribute(this.interp, value.cls, f"__{this.name}__")
        if isinstance(method, FunctionValue):
            return this.interp.call(this.frame, this.node, method, (value,), {})
    return this.unknown()


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


def _len(this: _Call) -> Value:
    value = this.args[0]
    if isinstance(value, OneOf):
        return this.over(value, lambda v: _len(_with_args(this, v)))
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
    if isinstance(value, (*_PLAIN, Stream, FunctionValue)):
        raise this.fail("TypeError", f"{type(value).__name__} object has no len()")
    if isinstance(value, Instance):
        return _of_object(this)
    return find_unknown(value) or this.unknown()


def _extreme(largest: bool) -> Callable[[_Call], Value]:
    def run(this: _Call) -> Value:
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


def _sum(this: _Call) -> Value:
    total = this.get(1, "start", 0)
    if isinstance(total, str):
        raise this.fail("TypeError", "sum() can't sum strings")
    for item in _in_any_order(this, this.args[0]):
        if is_spread(item):
            return lost(item, total)
        total = binary(this.interp, this.frame, this.node, "+", total, item)
    return total


def _sorted(this: _Call) -> Value:
    items = _in_any_order(this, this.args[0])
    loose = next((item for item in items if is_spread(item)), None)
    made: list[Value] | Unknown = (
        sorted_items(this.interp, this.frame, this.node, items, this.kwargs)
        if loose is None
        else lost(loose, *items)
    )
    return this.interp.journal.born([spread(made)]) if isinstance(made, Unknown) else made


# -- going through ---------------------------------------------------------------------


def _quantifier(stops_on: bool) -> Callable[[_Call], Value]:
    """``any`` and ``all``: stops at the first item that decides."""

    def run(this: _Call) -> Value:
        value = this.args[0]
        if isinstance(value, (set, frozenset)):
            value = in_some_order(value)
        return go_on(this, stream_over(this.interp, this.frame, this.node, value))

    def go_on(this: _Call, stream: Stream) -> Value:
        interp = this.interp
        while (item := pull(interp, this.frame, this.node, stream)) is not END:
            known = None if is_spread(item) else interp.truth(item)
            if known is stops_on:
                return stops_on
            if known is None:
                because = interp.why(item, this.frame, this.node)
                sides = (lambda: stops_on, lambda: go_on(this, stream))
                answer = interp.either(this.frame, this.node, sides, because)
                return answer if answer is stops_on else because
        return not stops_on

    return run


def _enumerate(this: _Call) -> Value:
    start = this.get(1, "start", 0)
    if not isinstance(start, int):
        return lost(find_unknown(start) or this.unknown(), this.args[0])
    return counted(this.interp, this.frame, this.node, this.args[0], start)


def _zip(this: _Call) -> Value:
    strict = this.interp.truth(this.kwargs.get("strict", False)) is True
    return zipped(this.interp, this.frame, this.node, list(this.args), strict)


def _reversed(this: _Call) -> Value:
    value = this.args[0]
    if isinstance(value, (Stream, set, frozenset)):
        raise this.fail("TypeError", f"{type(value).__name__} object is not reversible")
    if isinstance(value, (list, tuple, range, str)):
        last = len(value) - 1
        position: list[int] = this.interp.journal.born([0])
        return Stream(lambda n: value[last - n] if 0 <= last - n < len(value) else END, position)
    items = this.items(value)
    listed = [spread(items)] if isinstance(items, Unknown) else items
    return stream_over(this.interp, this.frame, this.node, listed[::-1])


def _map(this: _Call) -> Value:
    return applied(this.interp, this.frame, this.node, this.args[0], list(this.args[1:]))


def _filter(this: _Call) -> Value:
    keep, items = this.args

    def kept(item: Value) -> Value:
        return item if keep is None else this.interp.call(this.frame, this.node, keep, (item,), {})

    return filtered(this.interp, this.frame, this.node, kept, items)


def _iter(this: _Call) -> Value:
    if len(this.args) > 1:
        return this.unknown("iter() with a sentinel")
    if isinstance(this.args[0], (Unknown, OneOf)):
        return lost(find_unknown(this.args[0]) or this.unknown(), this.args[0])
    return stream_over(this.interp, this.frame, this.node, this.args[0])


def _next(this: _Call) -> Value:
    stream = this.args[0]
    if isinstance(stream, Unknown):
        return effects.through_unknown(this.interp, this.frame, this.node, lost(stream, *this.args[1:]), ())
    if isinstance(stream, OneOf):
        return this.over(stream, lambda s: _next(this.with_first(s)))
    if isinstance(stream, Instance) and stream.cls is not None:
        method = classes.class_attribute(this.interp, stream.cls, "__next__")
        if isinstance(method, FunctionValue) and len(this.args) == 1:
            return this.interp.call(this.frame, this.node, method, (stream,), {})
        return this.unknown()
    if not isinstance(stream, Stream):
        if isinstance(stream, _VALUES):
            raise this.fail("TypeError", f"{type(stream).__name__} object is not an iterator")
        return this.unknown()
    item = take(this.interp, this.frame, this.node, stream)
    if item is not END:
        surely = stream.position[0] != -2
        if surely or len(this.args) == 1:
            return item
        because = find_unknown(item) or this.unknown()
        return lost(because, *this.args[1:])
    if len(this.args) > 1:
        return this.args[1]
    raise this.fail("StopIteration", "")


def _nothing(this: _Call) -> Value:
    return None


_FUNCTIONS: dict[str, tuple[Callable[[_Call], Value] | None, int, int | None, tuple[str, ...] | None]] = {
    "isinstance": (_isinstance, 2, 2, ()),
    "issubclass": (_issubclass, 2, 2, ()),
    "getattr": (_getattr, 2, 3, ()),
    "hasattr": (_hasattr, 2, 2, ()),
    "setattr": (_setattr, 3, 3, ()),
    "delattr": (_delattr, 2, 2, ()),
    "vars": (_vars, 1, 1, ()),
    "type": (_type, 1, 3, None),
    "callable": (_callable, 1, 1, ()),
    "id": (_id, 1, 1, ()),
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
    "any": (_quantifier(True), 1, 1, ()),
    "all": (_quantifier(False), 1, 1, ()),
    "enumerate": (_enumerate, 1, 2, ("start",)),
    "zip": (_zip, 0, None, ("strict",)),
    "reversed": (_reversed, 1, 1, ()),
    "map": (_map, 2, None, ()),
    "filter": (_filter, 2, 2, ()),
    "iter": (_iter, 1, 2, ()),
    "next": (_next, 1, 2, ()),
    "print": (_nothing, 0, None, None),
}
"""By name: the function, the least and most positional arguments, the keywords (None: any)."""
