"""Builtins that ask for attributes and types: ``getattr``, ``isinstance``, ``type`` and the like."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING

from investigator.code import classes, effects
from investigator.code.attributes import not_there
from investigator.code.builtin_call import VALUES, Call, Entry, is_surely_no
from investigator.code.deletion import delete_attribute
from investigator.code.exceptions import is_exception_name, is_subclass_of_builtin
from investigator.code.externals import ModuleDict
from investigator.code.heap import join_values, lost, may_be_absent, without_absent
from investigator.code.types_and_methods import TYPES
from investigator.code.values import (
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
    is_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def _getattr(this: Call) -> Value:
    owner, name = this.args[0], this.args[1]
    if isinstance(name, OneOf):
        return this.over(name, lambda n: _getattr(this.with_args(owner, n, *this.args[2:])))
    _check_name(this, name)
    if not isinstance(name, str):
        return lost(find_unknown(name) or this.unknown(), owner, *this.args[2:])
    value = this.interp.attribute_or_missing(this.frame, this.node, owner, name)
    if value is NotImplemented:
        if len(this.args) > 2:
            return this.args[2]
        return not_there(this.interp, this.frame, this.node, owner, name)
    if not may_be_absent(value):
        return value
    if len(this.args) > 2 and isinstance(value, OneOf):
        return join_values(without_absent(value), this.args[2], value.reason)
    this.interp.doubts += 1
    return without_absent(value)


def _check_name(this: Call, name: Value) -> None:
    if is_surely_no(this.interp, name, str):
        raise this.fail("TypeError", "attribute name must be string")


_OF_FUNCTIONS = (FunctionValue, BoundMethod, Partial)


def _hasattr(this: Call) -> Value:
    owner, name = this.args
    _check_name(this, name)
    if isinstance(owner, OneOf):
        return this.over(owner, lambda o: _hasattr(this.with_args(o, name)))
    if is_unknown(owner) or not isinstance(name, str):
        return find_unknown(this.args) or this.unknown()
    value = this.interp.attribute_or_missing(this.frame, this.node, owner, name)
    if value is NotImplemented:
        return False
    if may_be_absent(value):
        return this.interp.why(value, this.frame, this.node)
    partly_known = not owner.complete if isinstance(owner, Instance) else isinstance(owner, _OF_FUNCTIONS)
    if partly_known and isinstance(value, Unknown):
        return value
    return this.unknown() if isinstance(owner, External) else True


def _setattr(this: Call) -> Value:
    owner, name, value = this.args
    _check_name(this, name)
    if isinstance(name, str):
        this.interp.set_attribute(this.frame, this.node, owner, name, value)
    elif isinstance(owner, Instance):
        effects.unsettle(this.interp, owner, find_unknown(name) or this.unknown(), value)
        owner.complete = False
    return None


def _delattr(this: Call) -> Value:
    owner, name = this.args
    _check_name(this, name)
    if isinstance(name, str):
        delete_attribute(this.interp, this.frame, this.node, owner, name)
    elif isinstance(owner, Instance):
        effects.unsettle(this.interp, owner, find_unknown(name) or this.unknown())
        owner.complete = False
    return None


def _vars(this: Call) -> Value:
    owner = this.args[0]
    if isinstance(owner, (StrMember, IntMember)):
        return this.unknown("vars() of a member of an enumeration")
    if isinstance(owner, VALUES):
        raise this.fail("TypeError", "vars() argument must have __dict__ attribute")
    return this.interp.attribute(this.frame, this.node, owner, "__dict__")


def _isinstance(this: Call) -> Value:
    value, wanted = this.args
    if isinstance(value, OneOf):
        return this.over(value, lambda v: _isinstance(this.with_args(v, wanted)))
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


def _is_a(this: Call, value: Value, kind: Value) -> bool | None:
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
        if kind.dotted == "torch.nn.ModuleDict" and isinstance(value, dict):
            return isinstance(value, ModuleDict)
        if kind.dotted == "torch.nn.ModuleList" and isinstance(value, list):
            return None  # one of those is followed as the list that it holds
        found = _ABSTRACT.get(kind.dotted.rpartition(".")[2])
        if found is not None and kind.dotted.startswith(("collections", "typing", "numbers")):
            return isinstance(value, found) if isinstance(value, (*VALUES, Stream, View)) else None
        if isinstance(value, Instance) and value.cls is not None:
            order = classes.mro(interp, value.cls)
            if kind in order:
                return True
            return None if classes.has_external_base(interp, value.cls) else False
        return False if isinstance(value, (*VALUES, FunctionValue, Stream, View)) else None
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
            return False if isinstance(value, VALUES) else None
        order = (Builtin(value.name),) if value.cls is None else classes.mro(interp, value.cls)
        return any(isinstance(b, Builtin) and is_subclass_of_builtin(b.name, name) for b in order)
    return (
        False
        if isinstance(value, (int, str, float, type(None), list, dict, tuple))
        and name in ("bytes", "complex", "bytearray", "memoryview")
        else None
    )


def _below_builtin(interp: Interpreter, value: Instance, name: str) -> bool | None:
    if value.cls is None:
        return False
    order = classes.mro(interp, value.cls)
    if Builtin(name) in order or (name == "tuple" and any("NamedTuple" in str(base) for base in order)):
        return True
    return None if classes.has_external_base(interp, value.cls) and name in ("dict", "list") else False


def _issubclass(this: Call) -> Value:
    candidate, wanted = this.args
    undecided = False
    for kind in _kinds(wanted):
        answer = _is_below(this, candidate, kind)
        if answer is True:
            return True
        undecided = undecided or answer is None
    return (find_unknown(this.args) or this.unknown()) if undecided else False


def _is_below(this: Call, candidate: Value, kind: Value) -> bool | None:
    if isinstance(candidate, ClassValue):
        if isinstance(kind, ClassValue):
            return classes.is_subclass(this.interp, candidate, kind)
        order = classes.mro(this.interp, candidate)
        if kind in order or kind == Builtin("object") or _is_exception_below(order, kind):
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


def _is_exception_below(order: Sequence[Value], kind: Value) -> bool:
    if not isinstance(kind, Builtin):
        return False
    return any(isinstance(base, Builtin) and is_subclass_of_builtin(base.name, kind.name) for base in order)


def _type(this: Call) -> Value:
    value = this.args[0]
    if len(this.args) != 1:
        return this.unknown("type() of a class to be made")
    if isinstance(value, OneOf):
        return this.over(value, lambda v: _type(this.with_args(v)))
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


def _callable(this: Call) -> Value:
    value = this.args[0]
    if isinstance(value, (FunctionValue, BoundMethod, ClassValue, Partial, Builtin, NativeMethod)):
        return True
    if isinstance(value, (*VALUES, Stream, View)):
        return False
    if isinstance(value, Symbol) and type(value).call is not Symbol.call:
        return True
    if isinstance(value, Instance) and value.cls is not None:
        if classes.class_attribute(this.interp, value.cls, "__call__") is not NotImplemented:
            return True
        if not classes.has_external_base(this.interp, value.cls):
            return False
    return find_unknown(value) or this.unknown()


def _id(this: Call) -> Value:
    return this.unknown("id() of an object")


FUNCTIONS: dict[str, Entry] = {
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
}
