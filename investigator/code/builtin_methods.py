"""Attributes and methods of Python's own values: strings, lists, dicts, sets, numbers, views.

Only the methods of :data:`investigator.code.types_and_methods.METHODS` are computed. One that
is not leaves an unknown result, and its list, dict or set with unknown content.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from investigator.code import classes, construction, dataclass_fields, effects
from investigator.code.builtin_call import Call
from investigator.code.equality import equal, is_plain
from investigator.code.frames import Frame
from investigator.code.heap import join_values, lost, may_be_absent, roots, spread, without_absent
from investigator.code.iteration import children, iterate, view_items
from investigator.code.keys import as_key, entry, make_set, merge, set_entry, unknown_entry
from investigator.code.shown import has_members_or_unordered
from investigator.code.sorting import sorted_items
from investigator.code.syntax import Place
from investigator.code.trace import Happening
from investigator.code.types_and_methods import METHODS, MUTATING, TYPES
from investigator.code.values import (
    ABSENT,
    BoundMethod,
    BudgetSpent,
    Builtin,
    ClassValue,
    ExceptionValue,
    FunctionValue,
    Instance,
    NativeMethod,
    OneOf,
    Partial,
    Raised,
    Super,
    TracedDict,
    TracedList,
    Unknown,
    Value,
    View,
    derived,
    find_unknown,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

MAX_TEXT = 1_000_000
MAX_LIST = 1_000_000
IN_PLACE: dict[tuple[type[Any], str], str] = {
    (list, "+"): "extend",
    (dict, "|"): "update",
    (set, "|"): "update",
    (set, "&"): "intersection_update",
    (set, "-"): "difference_update",
    (set, "^"): "symmetric_difference_update",
}
"""Methods that do what an augmented assignment does to a container, by its type and sign."""
_SIMPLE_FIELDS = re.compile(r"(?:[^{}]|\{\{|\}\}|\{\w*(?:![rs])?(?::[^{}]{0,20})?\})*")
_MISSING = object()


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
    return Unknown(f"attribute {name} of {type(owner).__name__}", place, hides=roots(owner))


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
    arguments = _Arguments(interp, frame, node, name, args, named)
    if isinstance(receiver, dict):
        return _dict_method(arguments, receiver)
    if isinstance(receiver, list):
        return _list_method(arguments, receiver)
    if isinstance(receiver, (set, frozenset)):
        return _set_method(arguments, receiver)
    if isinstance(receiver, str):
        return _text_method(arguments, receiver)
    if isinstance(receiver, tuple):
        return _search(arguments, list(receiver))
    if isinstance(receiver, View):
        return _set_method(arguments, frozenset(make_set(interp, frame, node, view_items(receiver))))
    if isinstance(receiver, ExceptionValue):
        return receiver if name == "with_traceback" else None
    return arguments.on_host(receiver)


class _Arguments(Call):
    """The arguments of one method call, and where it stands."""

    def between(self, least: int, most: int) -> None:
        """Raises Raised(TypeError) for another number of positional arguments."""
        if not least <= len(self.args) <= most or (self.kwargs and self.name not in ("update", "sort")):
            message = f"{self.name}() takes {least} to {most} arguments, {len(self.args)} given"
            raise self.interp.fail("TypeError", message, self.frame, self.node)

    def at(self, number: int, default: Value = None) -> Value:
        """A positional argument."""
        return self.args[number] if len(self.args) > number else default

    def equal(self, a: Value, b: Value) -> bool | None:
        if a is b and not isinstance(a, (Unknown, OneOf)):
            return True
        return self.interp.truth(equal(self.interp, self.frame, self.node, a, b))

    def on_host(self, receiver: Value) -> Value:
        """The method of the host's own value, where all arguments are plain."""
        missing = find_unknown(self.args) or find_unknown(self.kwargs)
        if missing is not None:
            return missing
        if not all(is_plain(argument) for argument in (*self.args, *self.kwargs.values())):
            return self.unknown(f"{self.name} of something not plain")
        with self.interp.host_errors(self.frame, self.node):
            result = getattr(receiver, self.name)(*self.args, **self.kwargs)
        return self.interp.journal.born(result) if isinstance(result, list) else result


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
        _initialise(interp, receiver, receiver.receiver, args, kwargs)
        return None
    if name in ("__init__", "__init_subclass__", "__post_init__", "__enter__") and is_object:
        return None
    if name in classes.HOOKS and is_object:
        owner = receiver.receiver if isinstance(receiver, Super) else args[0] if args else None
        return _as_object(interp, frame, node, name, owner, args if isinstance(receiver, Super) else args[1:])
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


def _initialise(
    interp: Interpreter, caller: Super, made: Instance, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> None:
    """``super().__init__(...)`` where no class further on writes one: a dataclass's, or a builtin type's."""
    order = classes.mro(interp, made.cls) if made.cls is not None else ()
    after = order[order.index(caller.owner) + 1 :] if caller.owner in order else ()
    found = construction.initialiser_along(interp, after)
    if isinstance(found, ClassValue):
        dataclass_fields.fill_fields(interp, made, args, kwargs, found)
    else:
        construction.put_into(interp, made, *args, *kwargs.values())


def _as_object(
    interp: Interpreter, frame: Frame, node: Node, name: str, owner: Value, args: tuple[Value, ...]
) -> Value:
    """``object.__getattribute__(owner, ...)`` and the like."""
    place = frame.module.place(node)
    attribute = args[0] if args else None
    if not isinstance(owner, Instance):
        return lost(Unknown(f"{name} of something not followed", place), owner, *args)
    if not isinstance(attribute, str):
        if name != "__getattribute__":
            effects.unsettle(interp, owner, Unknown("an attribute was set", place), *args)
            owner.complete = False
        return lost(Unknown(f"{name} of an attribute that is not known", place), owner)
    if name == "__setattr__":
        interp.set_plainly(frame, node, owner, attribute, args[1] if len(args) > 1 else None)
    elif name == "__delattr__":
        if attribute not in owner.attributes and owner.complete and owner.made_by is None:
            raise interp.fail("AttributeError", attribute, frame, node)
        interp.journal.touch(owner.attributes, attribute)
        owner.attributes.pop(attribute, None)
    else:
        value = interp.plain_attribute(frame, node, owner, attribute)
        if value is NotImplemented:
            raise interp.fail("AttributeError", attribute, frame, node)
        return without_absent(value)
    return None


# -- dicts -----------------------------------------------------------------------------


def _dict_method(call: _Arguments, owner: dict[Any, Any]) -> Value:
    interp, name = call.interp, call.name
    if name in ("items", "keys", "values"):
        call.between(0, 0)
        return View(owner, name)
    if name == "copy":
        return interp.journal.born(dict(owner))
    if name == "clear":
        interp.journal.touch(owner)
        owner.clear()
        return None
    if name == "popitem":
        return _pop_item(call, owner)
    if name == "update":
        return _update(call, owner)
    call.between(1, 2)
    key = call.args[0]
    if name == "pop" and not owner and len(call.args) == 2:
        return call.args[1]  # Python does not even look at the key
    if isinstance(key, OneOf):

        def with_key(option: Value) -> Value:
            arguments = (option, *call.args[1:])
            return call_named(interp, call.frame, call.node, owner, name, arguments)

        return interp.over(call.frame, call.node, key, with_key)
    known = as_key(interp, call.frame, call.node, key)
    if isinstance(known, Unknown):
        return _under_unknown_key(call, owner, known)
    return _under_key(call, owner, known)


def _under_key(call: _Arguments, owner: dict[Any, Any], key: Value) -> Value:
    interp, name = call.interp, call.name
    if isinstance(owner, TracedDict):
        found = owner.get(key)
        interp.note(Happening.READ, f"{owner.label}.{key}", found, call.frame, call.node)
    value = entry(owner, key)
    surely_there = not may_be_absent(value)
    default = call.at(1, None if name != "pop" else _MISSING)
    if not surely_there:
        rest = without_absent(value)
        if default is _MISSING:
            if rest is ABSENT:
                raise interp.missing_key(key, call.frame, call.node)
            interp.doubts += 1
            value = rest
        else:
            because = value.reason if isinstance(value, OneOf) else value
            value = default if rest is ABSENT else join_values(rest, default, because)
    if name == "setdefault" and not surely_there:
        set_entry(interp, call.frame, call.node, owner, key, value)
    if name == "pop" and (key in owner or not surely_there):
        interp.journal.touch(owner)
        owner.pop(key, None)
    return value


def _under_unknown_key(call: _Arguments, owner: dict[Any, Any], key: Unknown) -> Value:
    interp = call.interp
    interp.doubts += 1
    found = lost(unknown_entry(owner, key), *call.args[1:])
    if call.name == "pop":
        interp.journal.touch(owner)
        for other in owner:
            owner[other] = join_values(owner[other], ABSENT, key)
    if call.name == "setdefault":
        interp.journal.touch(owner)
        owner[spread(key)] = call.at(1)
    return found


def _pop_item(call: _Arguments, owner: dict[Any, Any]) -> Value:
    call.between(0, 0)
    if not owner:
        raise call.fail("KeyError", "popitem(): dictionary is empty")
    key = next(reversed(owner))
    if is_spread(key) or may_be_absent(owner[key]):
        unknown = unknown_entry(owner, call.unknown("the last item of a dict"))
        effects.loosen(call.interp, owner, unknown)
        return unknown
    call.interp.journal.touch(owner)
    return (key, owner.pop(key))


def _update(call: _Arguments, owner: dict[Any, Any]) -> Value:
    call.between(0, 1)
    interp, frame, node = call.interp, call.frame, call.node
    other = call.at(0, {})
    if isinstance(other, OneOf):
        interp.over(frame, node, other, lambda o: call_named(interp, frame, node, owner, "update", (o,)))
    elif isinstance(other, dict):
        merge(interp, frame, node, owner, other)
    elif is_unknown_instance(other):
        unknown = find_unknown(other) or call.unknown("update with something not followed")
        effects.loosen(interp, owner, unknown, other)
    else:
        for pair in call.spread_items(other):
            _update_pair(call, owner, pair)
    merge(interp, frame, node, owner, dict(call.kwargs))
    return None


def is_unknown_instance(value: Value) -> bool:
    """Whether nothing is known about what the value iterates to, or it is an object."""
    return isinstance(value, (Unknown, Instance))


def _update_pair(call: _Arguments, owner: dict[Any, Any], pair: Value) -> None:
    items = iterate(call.interp, call.frame, call.node, pair) if not is_spread(pair) else pair
    if isinstance(items, Unknown) or any(is_spread(item) for item in items):
        effects.loosen(call.interp, owner, find_unknown(items) or call.unknown("a pair"), pair)
    elif len(items) != 2:
        raise call.fail("ValueError", "dictionary update sequence element is no pair")
    else:
        set_entry(call.interp, call.frame, call.node, owner, items[0], items[1])


# -- lists -----------------------------------------------------------------------------


def _list_method(call: _Arguments, owner: list[Any]) -> Value:
    interp, name = call.interp, call.name
    if name == "append":
        call.between(1, 1)
        interp.journal.touch(owner)
        owner.append(call.args[0])
        _check_size(call, owner)
        interp.note(Happening.APPEND, "append", call.args[0], call.frame, call.node)
        return None
    if name == "extend":
        call.between(1, 1)
        items = call.spread_items(call.args[0])
        interp.journal.touch(owner)
        owner.extend(items)
        _check_size(call, owner)
        return None
    if name in ("index", "count"):
        return _search(call, owner)
    if name == "copy":
        return interp.journal.born(list(owner))
    if name in ("clear", "reverse"):
        call.between(0, 0)
        interp.journal.touch(owner)
        getattr(owner, name)()
        return None
    if name == "sort":
        return _sort(call, owner)
    if name == "remove":
        return _remove(call, owner)
    return _at_index(call, owner)


def _check_size(call: _Arguments, owner: list[Any]) -> None:
    if len(owner) > MAX_LIST:
        raise BudgetSpent(f"a list of over {MAX_LIST:,} items", call.place)


def _at_index(call: _Arguments, owner: list[Any]) -> Value:
    """``insert`` and ``pop``."""
    interp = call.interp
    inserts = call.name == "insert"
    call.between(2 if inserts else 0, 2 if inserts else 1)
    index = call.at(0, -1)
    loose = next((item for item in owner if is_spread(item)), None)
    at_end = not inserts and index == -1 and owner and not is_spread(owner[-1])
    if isinstance(index, (Unknown, OneOf)) or (loose is not None and not at_end):
        interp.doubts += 1
        because = find_unknown(index) or loose or call.unknown("an index")
        found = lost(because, *owner)
        effects.loosen(interp, owner, because, *(call.args[1:] if inserts else ()))
        return None if inserts else found
    interp.journal.touch(owner)
    with interp.host_errors(call.frame, call.node):
        return owner.insert(index, call.args[1]) if inserts else owner.pop(index)


def _remove(call: _Arguments, owner: list[Any]) -> Value:
    call.between(1, 1)
    interp = call.interp
    for index, item in enumerate(owner):
        held = None if is_spread(item) else call.equal(item, call.args[0])
        if held is None:
            interp.doubts += 1
            effects.loosen(interp, owner, find_unknown((item, call.args[0])) or call.unknown("remove"))
            return None
        if held:
            interp.journal.touch(owner)
            del owner[index]
            return None
    raise call.fail("ValueError", "list.remove(x): x not in list")


def _search(call: _Arguments, items: list[Value]) -> Value:
    """``index`` and ``count`` of a list or tuple."""
    call.between(1, 3 if call.name == "index" else 1)
    if len(call.args) > 1:
        return call.on_host(items) if is_plain(items) else call.unknown("index from a place on")
    call.interp.charge(call.frame, call.node, len(items))
    count = 0
    for index, item in enumerate(items):
        held = None if is_spread(item) else call.equal(item, call.args[0])
        if held is None:
            return find_unknown((item, call.args[0])) or call.unknown(call.name)
        if held and call.name == "index":
            return index
        count += held
    if call.name == "index":
        raise call.fail("ValueError", "the value is not in the list")
    return count


def _sort(call: _Arguments, owner: list[Any]) -> Value:
    call.between(0, 0)
    interp = call.interp
    try:
        made = sorted_items(interp, call.frame, call.node, list(owner), call.kwargs)
    except Raised as error:
        effects.loosen(interp, owner, call.unknown(f"a sort that ended in {error.error.name}"))
        raise
    if isinstance(made, Unknown):
        effects.loosen(interp, owner, made)
    else:
        interp.journal.touch(owner)
        owner[:] = made
    return None


# -- sets ------------------------------------------------------------------------------


def _set_method(call: _Arguments, owner: set[Any] | frozenset[Any]) -> Value:
    interp, name = call.interp, call.name
    if isinstance(owner, set) and name in ("add", "discard", "remove", "pop", "clear"):
        return _change_set(call, owner)
    others = [call.spread_items(argument) for argument in call.args]
    if isinstance(owner, set) and name == "update":
        interp.journal.touch(owner)
        for items in others:
            owner.update(make_set(interp, call.frame, call.node, items))
        return None
    if name == "copy":
        return interp.journal.born(set(owner)) if isinstance(owner, set) else owner
    sets = [frozenset(make_set(interp, call.frame, call.node, items)) for items in others]
    loose = next((item for each in (owner, *sets) for item in each if is_spread(item)), None)
    if loose is not None and name != "union":
        if isinstance(owner, set) and name.endswith("_update"):
            effects.loosen(interp, owner, loose, *(item for each in sets for item in each))
            return None
        return lost(loose, *owner, *(item for each in sets for item in each))
    if isinstance(owner, set) and name.endswith("_update"):
        interp.journal.touch(owner)
    with interp.host_errors(call.frame, call.node):
        result = getattr(owner, name)(*sets)
    return interp.journal.born(result) if isinstance(result, set) else result


def _change_set(call: _Arguments, owner: set[Any]) -> Value:
    interp, name = call.interp, call.name
    call.between(0 if name in ("pop", "clear") else 1, 0 if name in ("pop", "clear") else 1)
    interp.journal.touch(owner)
    if name == "clear":
        owner.clear()
        return None
    if name == "pop":
        if not owner:
            raise call.fail("KeyError", "pop from an empty set")
        if len(owner) == 1 and not any(map(is_spread, owner)):
            return owner.pop()
        because = call.unknown("which item of a set is popped")
        found = lost(because, *owner)
        effects.loosen(interp, owner, because)
        return found
    item = as_key(interp, call.frame, call.node, call.args[0])
    if name == "add":
        owner.add(spread(item, call.args[0]) if isinstance(item, Unknown) else item)
    elif isinstance(item, Unknown):
        interp.doubts += 1
        effects.loosen(interp, owner, item)
    elif item in owner:
        owner.remove(item)
    elif name == "remove":
        if not any(map(is_spread, owner)):
            raise interp.missing_key(item, call.frame, call.node)
        interp.doubts += 1
    return None


# -- strings ---------------------------------------------------------------------------


def _text_method(call: _Arguments, owner: str) -> Value:
    name = call.name
    if name == "join":
        call.between(1, 1)
        return _join(call, owner)
    limits: dict[str, Callable[[], int]] = {
        "replace": lambda: (len(owner) + 1) * len(call.at(1, "")),
        "ljust": lambda: call.at(0, 0),
        "rjust": lambda: call.at(0, 0),
        "center": lambda: call.at(0, 0),
        "zfill": lambda: call.at(0, 0),
    }
    if find_unknown(call.args) is None and name in limits:
        try:
            too_long = limits[name]() > MAX_TEXT
        except TypeError:
            too_long = False
        if too_long:
            return call.unknown("a very long text")
    if name == "format":
        fields = _SIMPLE_FIELDS.fullmatch(owner) if len(owner) < MAX_TEXT else None
        if fields is None or re.search(r":[^{}]*\d{4}", owner) or _shows_in_its_own_way(call):
            return find_unknown(call.args) or call.unknown("format")
    return call.on_host(owner)


def _shows_in_its_own_way(call: _Arguments) -> bool:
    return any(map(has_members_or_unordered, (*call.args, *call.kwargs.values())))


def _join(call: _Arguments, owner: str) -> Value:
    items = call.spread_items(call.args[0])
    missing = find_unknown(items)
    if missing is not None:
        return missing
    if sum(len(item) + len(owner) for item in items if isinstance(item, str)) > MAX_TEXT:
        return call.unknown("a very long text")
    with call.interp.host_errors(call.frame, call.node):
        return owner.join(items)
