"""Attributes and methods of Python's own values: strings, lists, dicts, sets, numbers, views.

Only the methods of :data:`investigator.code.types_and_methods.METHODS` are computed. One that
is not leaves an unknown result, and its list, dict or set with unknown content.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from investigator.code import classes, effects
from investigator.code.builtin_call import MethodCall
from investigator.code.dict_methods import dict_method
from investigator.code.frames import Frame
from investigator.code.heap import lost, roots
from investigator.code.iteration import children, iterate, view_items
from investigator.code.keys import make_set, set_entry
from investigator.code.list_methods import list_method, search
from investigator.code.object_methods import as_object, initialise
from investigator.code.set_methods import set_method
from investigator.code.syntax import Place
from investigator.code.text_methods import text_method
from investigator.code.types_and_methods import METHODS, MUTATING, TYPES
from investigator.code.values import (
    BoundMethod,
    Builtin,
    ExceptionValue,
    FunctionValue,
    Instance,
    NativeMethod,
    Partial,
    Stream,
    Super,
    TracedDict,
    TracedList,
    Unknown,
    Value,
    View,
    derived,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

IN_PLACE: dict[tuple[type[Any], str], str] = {
    (list, "+"): "extend",
    (dict, "|"): "update",
    (set, "|"): "update",
    (set, "&"): "intersection_update",
    (set, "-"): "difference_update",
    (set, "^"): "symmetric_difference_update",
}
"""Methods that do what an augmented assignment does to a container, by its type and sign."""


# -- attributes ------------------------------------------------------------------------


def attribute(owner: Value, name: str, place: Place) -> Value:
    """An attribute of a plain value, or of a function object; NotImplemented where there is none."""
    for kind, names in METHODS.items():
        if isinstance(owner, kind) and name in names:
            return NativeMethod(owner, name)
    if isinstance(owner, (FunctionValue, BoundMethod, Partial, Builtin)):
        return _of_callable(owner, name, place)
    if isinstance(owner, ExceptionValue):
        return _of_exception(owner, name, place)
    if isinstance(owner, (slice, range)) and name in ("start", "stop", "step"):
        return getattr(owner, name)
    if name == "__class__" and (owner is None or type(owner).__name__ in TYPES):
        return Builtin(type(owner).__name__)
    host = next(
        (kind for kind in (str, list, tuple, dict, set, frozenset, int, float) if isinstance(owner, kind)),
        None,
    )
    if owner is None or host is not None:
        if isinstance(owner, (TracedDict, TracedList)) or not hasattr(host or type(None), name):
            return NotImplemented
        return Unknown(f"{type(owner).__name__}.{name} is outside the subset", place, hides=roots(owner))
    of_others = {View: _OF_VIEWS, Stream: _OF_ITERATORS}.get(type(owner))
    if of_others is not None and name not in of_others and not name.startswith("__"):
        return NotImplemented
    return Unknown(f"attribute {name} of {type(owner).__name__}", place, hides=roots(owner))


_OF_VIEWS = frozenset(["mapping", "isdisjoint"])
_OF_ITERATORS = frozenset(
    ["send", "throw", "close", "gi_frame", "gi_running", "gi_code", "gi_yieldfrom", "gi_suspended"]
)


def _of_callable(owner: Value, name: str, place: Place) -> Value:
    if isinstance(owner, Builtin):
        return owner.name if name in ("__name__", "__qualname__") else NativeMethod(owner, name)
    function = owner.function if isinstance(owner, (BoundMethod, Partial)) else owner
    if isinstance(owner, Partial) and name in ("func", "args", "keywords"):
        return {"func": owner.function, "args": owner.arguments, "keywords": owner.keywords}[name]
    if isinstance(owner, BoundMethod) and name == "__self__":
        return owner.receiver
    if name == "__name__" and isinstance(function, FunctionValue):
        return function.name
    return Unknown(f"attribute {name} of a function", place)


def _of_exception(owner: ExceptionValue, name: str, place: Place) -> Value:
    if name == "args":
        return owner.args if owner.cls is None or owner.args else Unknown("args of an exception", place)
    if owner.cls is None and not hasattr(getattr(builtins, owner.name, Exception), name):
        return NotImplemented
    return Unknown(f"attribute {name} of {owner.name}", place)


def attribute_of_unknown(owner: Unknown, name: str) -> Value:
    """``unknown.name``: of any object that it may be."""
    if not owner.hides:
        return derived(owner)
    if name == "__class__":
        classes_ = [h.cls for h in owner.hides if isinstance(h, Instance) and h.cls is not None]
        return Unknown(owner.reason, owner.place, owner.not_followed, hides=roots(*classes_))
    if not any(isinstance(hidden, Instance) for hidden in owner.hides):
        return NativeMethod(owner, name)
    parts: list[Value] = list(owner.hides)
    parts.extend(h.attributes[name] for h in owner.hides if isinstance(h, Instance) and name in h.attributes)
    return Unknown(owner.reason, owner.place, owner.not_followed, hides=roots(*parts))


# -- calls -----------------------------------------------------------------------------


def call(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    method: NativeMethod,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> Value:
    """``receiver.name(*args, **kwargs)``. Raises Raised as Python would."""
    return call_named(interp, frame, node, method.receiver, method.name, args, kwargs)


def call_named(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    receiver: Value,
    name: str,
    args: tuple[Value, ...],
    kwargs: dict[str, Value] | None = None,
) -> Value:
    """``receiver.name(*args, **kwargs)``."""
    named = kwargs or {}
    if isinstance(receiver, Unknown):
        if name in MUTATING or name.startswith("__"):
            return effects.through_unknown(interp, frame, node, receiver, (*args, *named.values()))
        effects.take_items(interp, (*args, *named.values()))
        return lost(children(receiver), *args, *named.values())
    if isinstance(receiver, (Builtin, Super)):
        return _unbound(interp, frame, node, receiver, name, args, named)
    loose = next((a for a in (*args, *named) if is_spread(a)), None)
    kind = next(
        (kind for kind, names in METHODS.items() if isinstance(receiver, kind) and name in names), None
    )
    if loose is not None or kind is None:
        because = loose or Unknown(f"{name} is outside the subset", frame.module.place(node))
        return effects.through_unknown(interp, frame, node, lost(because, receiver), (*args, *named.values()))
    arguments = MethodCall(interp, frame, node, name, args, named)
    if isinstance(receiver, dict):
        return dict_method(arguments, receiver)
    if isinstance(receiver, list):
        return list_method(arguments, receiver)
    if isinstance(receiver, (set, frozenset)):
        return set_method(arguments, receiver)
    if isinstance(receiver, str):
        return text_method(arguments, receiver)
    if isinstance(receiver, tuple):
        return search(arguments, list(receiver))
    if isinstance(receiver, View):
        return set_method(arguments, frozenset(make_set(interp, frame, node, view_items(receiver))))
    if isinstance(receiver, ExceptionValue):
        return receiver if name == "with_traceback" else None
    return arguments.on_host(receiver)


def _unbound(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    receiver: Builtin | Super,
    name: str,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> Value:
    """``dict.fromkeys(...)``, ``str.lower(x)``, ``object.__setattr__(...)``, ``super().__init__()``."""
    place = frame.module.place(node)
    is_object = isinstance(receiver, Super) or receiver.name == "object"
    if name == "__init__" and isinstance(receiver, Super) and isinstance(receiver.receiver, Instance):
        initialise(interp, receiver, receiver.receiver, args, kwargs)
        return None
    if name in ("__init__", "__init_subclass__", "__post_init__", "__enter__") and is_object:
        return None
    if name in classes.HOOKS and is_object:
        owner = receiver.receiver if isinstance(receiver, Super) else args[0] if args else None
        return as_object(interp, frame, node, name, owner, args if isinstance(receiver, Super) else args[1:])
    if isinstance(receiver, Builtin):
        if receiver.name == "dict" and name == "fromkeys" and args:
            keys = iterate(interp, frame, node, args[0])
            if not isinstance(keys, Unknown):
                value = args[1] if len(args) > 1 else None
                made: dict[Value, Value] = interp.journal.born({})
                for key in keys:
                    set_entry(interp, frame, node, made, key, value)
                return made
        kind = TYPES.get(receiver.name)
        if kind is not None and args and isinstance(args[0], kind):
            return call_named(interp, frame, node, args[0], name, args[1:], kwargs)
    shown = receiver.name if isinstance(receiver, Builtin) else "super()"
    unknown = lost(Unknown(f"{shown}.{name} is outside the subset", place), *args)
    return effects.through_unknown(interp, frame, node, unknown, (*args, *kwargs.values()))
