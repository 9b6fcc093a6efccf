"""Going through values: lists, dicts and their views, sets, strings, ranges, objects.

An item that is a *spread* stands for any number of items. A set has no order that could be
relied on, so what stands first in a set of two is one of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, dataclass_fields, enums
from investigator.code.branching import Raise, Return, explore
from investigator.code.effects import may_have_run, take_items
from investigator.code.frames import Frame
from investigator.code.heap import MAX_OPTIONS, join_contents, lost, may_be_absent, roots, spread
from investigator.code.streams import drain
from investigator.code.values import (
    ASTRAY,
    END,
    BoundMethod,
    Builtin,
    ClassValue,
    ExceptionValue,
    FunctionValue,
    Instance,
    NativeMethod,
    OneOf,
    Partial,
    Stream,
    Unknown,
    Value,
    View,
    derived,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

_NEVER_ITERABLE = (int, float, type(None), FunctionValue, Builtin, slice, NativeMethod, BoundMethod, Partial)
"""Nor are exceptions of Python's own."""


def iterate(interp: Interpreter, frame: Frame, node: Node, value: Value) -> list[Value] | Unknown:
    """The items that a loop over the value sees, in order; a stream is used up.

    Raises Raised(TypeError) for what cannot be gone through.
    """
    if isinstance(value, (list, tuple, range, str)):
        interp.charge(frame, node, len(value))
        return list(value)
    if isinstance(value, dict):
        return view_items(View(value, "keys"))
    if isinstance(value, View):
        return view_items(value)
    if isinstance(value, (set, frozenset)):
        interp.charge(frame, node, len(value))
        return unordered(interp, frame, node, value)
    if isinstance(value, Stream):
        return drain(interp, frame, node, value)
    if isinstance(value, OneOf):
        return _iterate_choice(interp, frame, node, value)
    if isinstance(value, Unknown):
        _may_be_gone_through(interp, value, value.hides)
        return children(value)
    if isinstance(value, ClassValue) and enums.is_enum(interp, value):
        return enums.members(interp, frame, node, value)
    if isinstance(value, Instance) and value.cls is not None:
        listed = dataclass_fields.as_tuple(interp, value)
        if isinstance(listed, tuple):
            return list(listed)
        made = _own_iterator(interp, frame, node, value)
        if made is not NotImplemented:
            return iterate(interp, frame, node, made)
        if classes.surely_lacks(interp, value.cls, "__iter__", "__getitem__"):
            raise interp.fail("TypeError", f"{value.cls.name} object is not iterable", frame, node)
    if isinstance(value, ClassValue) and not classes.has_metaclass(interp, value):
        raise interp.fail("TypeError", f"class {value.name} is not iterable", frame, node)
    if isinstance(value, _NEVER_ITERABLE) or (isinstance(value, ExceptionValue) and value.cls is None):
        raise interp.fail("TypeError", f"{type(value).__name__} object is not iterable", frame, node)
    return children(lost(Unknown("iteration over something not followed", frame.module.place(node)), value))


def _own_iterator(interp: Interpreter, frame: Frame, node: Node, value: Instance) -> Value:
    """``iter(value)`` as the object's class defines it; NotImplemented where it does not."""
    if value.cls is None:
        return NotImplemented
    method = classes.class_attribute(interp, value.cls, "__iter__")
    if method is NotImplemented and classes.surely_lacks(interp, value.cls, "__iter__"):
        method = classes.class_attribute(interp, value.cls, "__getitem__")
        if isinstance(method, FunctionValue):
            return stepwise(interp, frame, node, value, method, by_number=True)
    if not isinstance(method, FunctionValue):
        return NotImplemented
    made = interp.invoke(frame, node, method, (value,), {})
    if not isinstance(made, Instance) or made.cls is None:
        return made
    following = classes.class_attribute(interp, made.cls, "__next__")
    if classes.surely_lacks(interp, made.cls, "__next__"):
        raise interp.fail("TypeError", f"{made.cls.name} object is not an iterator", frame, node)
    if not isinstance(following, FunctionValue):
        return Unknown(f"an iterator of class {made.cls.name}", frame.module.place(node), hides=(made,))
    return stepwise(interp, frame, node, made, following)


def stepwise(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    owner: Instance,
    following: FunctionValue,
    *,
    by_number: bool = False,
) -> Stream:
    """An object that gives its items through ``__next__``, or (``by_number``) through
    ``__getitem__`` from 0 on."""
    last = ("StopIteration", "IndexError") if by_number else ("StopIteration",)

    def at(n: int) -> Value:
        given = (owner, n) if by_number else (owner,)
        endings = explore(interp, lambda: Return(interp.invoke(frame, node, following, given, {})))
        if len(endings) > 1:
            return ASTRAY
        interp.journal.install(endings[0].contents)
        signal = endings[0].signal
        if isinstance(signal, Raise):
            if signal.error.error.name in last:
                return END
            raise signal.error
        assert isinstance(signal, Return)
        return signal.value

    def astray() -> None:
        because = Unknown("whether an iterator has run out", frame.module.place(node))
        may_have_run(interp, following, because, owner)

    return Stream(at, interp.journal.born([0]), astray=astray)


def _may_be_gone_through(interp: Interpreter, because: Unknown, objects: tuple[Value, ...]) -> None:
    """One of these objects, it is not known which, is gone through: what they run then may run."""
    take_items(interp, objects)
    for each in objects:
        cls = each.cls if isinstance(each, Instance) else None
        if cls is None:
            continue
        for name in ("__iter__", "__next__"):
            method = classes.class_attribute(interp, cls, name)
            if isinstance(method, FunctionValue):
                may_have_run(interp, method, because, each)


def children(value: Unknown) -> Unknown:
    """What an element, attribute or part of something unknown is."""
    if not value.hides:
        return Unknown(value.reason, value.place, value.not_followed) if value.spread else derived(value)
    parts: list[Value] = []
    for hidden in value.hides:
        if isinstance(hidden, (list, set)):
            parts.extend(hidden)
        elif isinstance(hidden, dict):
            parts.extend((*hidden, *hidden.values()))
        elif isinstance(hidden, Instance):
            parts.extend(hidden.attributes.values())
        else:
            parts.append(hidden)
    return Unknown(value.reason, value.place, value.not_followed, hides=roots(*parts))


def view_items(view: View) -> list[Value]:
    """The items of a dict's view now; keys that may not be there are spread.

    A key set after keys that are not known may be one of those, and then stands where it stood.
    """
    keys = list(view.source)
    items = [view_item(view, key) for key in keys]
    loose = _first_loose(keys)
    return items if loose + 1 >= len(items) else [*items[:loose], spread(keys[loose], *items[loose:])]


def _first_loose(keys: list[Value]) -> int:
    """Where keys that are not known begin; the number of keys where all are known."""
    return next((number for number, key in enumerate(keys) if is_spread(key)), len(keys))


def view_item(view: View, key: Value) -> Value:
    """What a dict's view gives for one of its keys."""
    value = view.source[key]
    item = {"keys": key, "values": value}.get(view.kind, (key, value))
    if is_spread(key):
        return spread(key, item)
    if may_be_absent(value):
        return spread(value.reason if isinstance(value, OneOf) else value, item)
    return item


def unordered(
    interp: Interpreter, frame: Frame, node: Node, items: set[Value] | frozenset[Value]
) -> list[Value]:
    """As many items as a set has, each of them any of the set's."""
    listed = in_some_order(items)
    if len(listed) < 2 or any(is_spread(item) for item in listed):
        return listed if len(listed) < 2 else [spread(next(filter(is_spread, listed)), *listed)]
    because = Unknown("the order of a set", frame.module.place(node))
    item = (
        OneOf(tuple(listed), because.place, because) if len(listed) <= MAX_OPTIONS else lost(because, *listed)
    )
    return [item] * len(listed)


def in_some_order(items: set[Value] | frozenset[Value]) -> list[Value]:
    """The items in one order, the same in every run, for whom the order does not matter."""
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=repr)


def _iterate_choice(interp: Interpreter, frame: Frame, node: Node, value: OneOf) -> list[Value] | Unknown:
    plain = (list, tuple, range, str, dict, set, frozenset, View)
    if not all(isinstance(option, plain) for option in value.options):
        interp.doubts += 1
        _may_be_gone_through(interp, value.reason, roots(*value.options))
        return children(lost(value.reason, *value.options))
    rows = [iterate(interp, frame, node, option) for option in value.options]
    joined: list[Value] = []
    for number, row in enumerate(rows):
        assert isinstance(row, list)
        content = row if number == 0 else join_contents(joined, row, value.reason)
        assert isinstance(content, list)
        joined = content
    return joined


def stream_over(interp: Interpreter, frame: Frame, node: Node, value: Value) -> Stream:
    """``iter(value)``. A list is followed as it changes."""
    if isinstance(value, Stream):
        return value
    if isinstance(value, list):
        return _over_list(interp, value)
    if isinstance(value, (tuple, range, str)):
        return Stream(lambda n: value[n] if n < len(value) else END, interp.journal.born([0]))
    if isinstance(value, (dict, View)):
        return _over_dict(interp, frame, node, value if isinstance(value, View) else View(value, "keys"))
    if isinstance(value, Instance) and not isinstance(dataclass_fields.as_tuple(interp, value), tuple):
        made = _own_iterator(interp, frame, node, value)
        if made is not NotImplemented:
            return stream_over(interp, frame, node, made)
    items = iterate(interp, frame, node, value)
    listed = [spread(items)] if isinstance(items, Unknown) else items
    return Stream(lambda n: listed[n] if n < len(listed) else END, interp.journal.born([0]))


def _over_list(interp: Interpreter, source: list[Value]) -> Stream:
    """A list is followed as it changes. Where it has become one of unknown length since its last
    item was given, any number of any items may still come."""
    last: list[Value] = interp.journal.born([END])

    def at(n: int) -> Value:
        if n > 0 and not (n <= len(source) and source[n - 1] is last[0]):
            loose = next((item for item in source if is_spread(item)), None)
            if loose is not None and last[0] is not ASTRAY:
                interp.journal.touch(last)
                last[0] = ASTRAY
                return spread(loose, *source)
            if last[0] is ASTRAY:
                return END
        if n >= len(source):
            return END
        interp.journal.touch(last)
        last[0] = source[n]
        return source[n]

    return Stream(at, interp.journal.born([0]))


def _over_dict(interp: Interpreter, frame: Frame, node: Node, view: View) -> Stream:
    """A dict is followed as its values change; Python leaves open what a change of its keys does."""
    source = view.source
    keys = list(source)
    loose = _first_loose(keys)

    def at(n: int) -> Value:
        open_ended = any(is_spread(key) or may_be_absent(value) for key, value in source.items())
        if len(source) != len(keys) and not open_ended:
            raise interp.fail("RuntimeError", "dictionary changed size during iteration", frame, node)
        if n >= len(keys):
            return END
        if len(source) == len(keys) and keys[n] in source and next(reversed(source)) == keys[-1]:
            item = view_item(view, keys[n])
            return item if n <= loose else spread(keys[loose], item)
        because = Unknown("a dict that changes while it is gone through", frame.module.place(node))
        return spread(because, *view_items(view))

    return Stream(at, interp.journal.born([0]))
