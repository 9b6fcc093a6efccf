"""Builtins that go through what they are given, item by item: ``any``, ``zip``, ``next`` and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from investigator.code import classes, effects
from investigator.code.builtin_call import VALUES, Call, Entry, is_surely_no
from investigator.code.heap import lost, spread
from investigator.code.iteration import in_some_order, stepwise, stream_over
from investigator.code.iterators import applied, counted, filtered, zipped
from investigator.code.streams import pull, take
from investigator.code.values import (
    END,
    FunctionValue,
    Instance,
    OneOf,
    Stream,
    Unknown,
    Value,
    find_unknown,
    is_spread,
)

if TYPE_CHECKING:
    pass


def _quantifier(stops_on: bool) -> Callable[[Call], Value]:
    """``any`` and ``all``: stops at the first item that decides."""

    def run(this: Call) -> Value:
        value = this.args[0]
        if isinstance(value, (set, frozenset)):
            value = in_some_order(value)
        return go_on(this, stream_over(this.interp, this.frame, this.node, value))

    def go_on(this: Call, stream: Stream) -> Value:
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


def _enumerate(this: Call) -> Value:
    start = this.get(1, "start", 0)
    if is_surely_no(this.interp, start, int):
        names = ("__index__",)
        cls = start.cls if isinstance(start, Instance) else None
        if cls is None or classes.surely_lacks(this.interp, cls, *names):
            raise this.fail("TypeError", "enumerate() counts from an integer")
    if not isinstance(start, int):
        return lost(find_unknown(start) or this.unknown(), this.args[0])
    return counted(this.interp, this.frame, this.node, this.args[0], start)


def _zip(this: Call) -> Value:
    strict = this.interp.truth(this.kwargs.get("strict", False)) is True
    return zipped(this.interp, this.frame, this.node, list(this.args), strict)


def _reversed(this: Call) -> Value:
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


def _map(this: Call) -> Value:
    return applied(this.interp, this.frame, this.node, this.args[0], list(this.args[1:]))


def _filter(this: Call) -> Value:
    return filtered(this.interp, this.frame, this.node, *this.args)


def _iter(this: Call) -> Value:
    if len(this.args) > 1:
        return this.unknown("iter() with a sentinel")
    if isinstance(this.args[0], (Unknown, OneOf)):
        return lost(find_unknown(this.args[0]) or this.unknown(), this.args[0])
    return stream_over(this.interp, this.frame, this.node, this.args[0])


def _next(this: Call) -> Value:
    stream = this.args[0]
    if isinstance(stream, Unknown):
        return effects.through_unknown(this.interp, this.frame, this.node, lost(stream, *this.args[1:]), ())
    if isinstance(stream, OneOf):
        return this.over(stream, lambda s: _next(this.with_args(s, *this.args[1:])))
    if isinstance(stream, Instance) and stream.cls is not None:
        method = classes.class_attribute(this.interp, stream.cls, "__next__")
        if not isinstance(method, FunctionValue):
            return this.unknown()
        stream = stepwise(this.interp, this.frame, this.node, stream, method)
    if not isinstance(stream, Stream):
        if isinstance(stream, VALUES):
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


FUNCTIONS: dict[str, Entry] = {
    "any": (_quantifier(True), 1, 1, ()),
    "all": (_quantifier(False), 1, 1, ()),
    "enumerate": (_enumerate, 1, 2, ("start",)),
    "zip": (_zip, 0, None, ("strict",)),
    "reversed": (_reversed, 1, 1, ()),
    "map": (_map, 2, None, ()),
    "filter": (_filter, 2, 2, ()),
    "iter": (_iter, 1, 2, ()),
    "next": (_next, 1, 2, ()),
}
"""By name."""
