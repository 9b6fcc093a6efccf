"""What ``enumerate``, ``zip``, ``map``, ``filter`` and generator expressions give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import effects
from investigator.code.branching import either
from investigator.code.effects import take_items
from investigator.code.frames import Frame
from investigator.code.heap import lost, spread
from investigator.code.iteration import stream_over
from investigator.code.streams import drain, go_astray, pull
from investigator.code.values import (
    ASTRAY,
    END,
    Stream,
    Unknown,
    Value,
    is_spread,
    single,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def counted(interp: Interpreter, frame: Frame, node: Node, value: Value, start: int) -> Stream:
    """``enumerate(value, start)``."""
    inner = stream_over(interp, frame, node, value)
    state: list[int | None] = interp.journal.born([start])

    def at(n: int) -> Value:
        item = pull(interp, frame, node, inner)
        if item is END:
            return END
        index = state[0]
        interp.journal.touch(state)
        if is_spread(item):
            state[0] = None
            return spread(item)
        state[0] = None if index is None else index + 1
        unknown = Unknown("how many items came before", frame.module.place(node))
        return (unknown if index is None else index, item)

    return Stream(at, interp.journal.born([0]), astray=lambda: go_astray(interp, inner))


def zipped(interp: Interpreter, frame: Frame, node: Node, columns: list[Value], strict: bool) -> Stream:
    """``zip(*columns)``."""
    inner = [stream_over(interp, frame, node, column) for column in columns]
    ended = interp.journal.born([False])

    def at(n: int) -> Value:
        row: list[Value] = []
        for column in inner if not ended[0] else ():
            item = pull(interp, frame, node, column)
            if item is END:
                _same_length(interp, frame, node, inner, row if strict else None)
                return END
            row.append(item)
        loose = next((item for item in row if is_spread(item)), None)
        if loose is None:
            return tuple(row) if row else END
        interp.journal.touch(ended)
        ended[0] = True
        rest = [item for column in inner for item in drain(interp, frame, node, column)]
        return spread(loose, *row, *rest)

    return Stream(at, interp.journal.born([0]), astray=lambda: take_items(interp, inner))


def _same_length(
    interp: Interpreter, frame: Frame, node: Node, columns: list[Stream], row: list[Value] | None
) -> None:
    if row is None:
        return
    more = columns[1:] if not row else []
    if row or any(pull(interp, frame, node, column) is not END for column in more):
        raise interp.fail("ValueError", "zip() arguments differ in length", frame, node)


def applied(interp: Interpreter, frame: Frame, node: Node, function: Value, columns: list[Value]) -> Stream:
    """``map(function, *columns)``."""
    rows = zipped(interp, frame, node, columns, False)

    def call(arguments: Value) -> Value:
        return interp.call(frame, node, function, arguments, {})

    def at(n: int) -> Value:
        row = pull(interp, frame, node, rows)
        if row is END or not is_spread(row):
            return row if row is END else call(row)
        arguments = (single(row),) * len(columns)
        value = either(interp, frame, node, [lambda: call(arguments), lambda: None], row)
        return spread(row, value)

    astray = partial(_may_call, interp, frame, node, function, rows)
    return Stream(at, interp.journal.born([0]), astray=astray)


def _may_call(interp: Interpreter, frame: Frame, node: Node, function: Value, items: Stream) -> None:
    """A function may have been called with any number of items."""
    go_astray(interp, items)
    because = Unknown("how many items were asked for", frame.module.place(node))
    effects.through_unknown(interp, frame, node, lost(because, function), ())


def filtered(interp: Interpreter, frame: Frame, node: Node, function: Value, value: Value) -> Stream:
    """``filter(function, value)``."""
    inner = stream_over(interp, frame, node, value)

    def keep(item: Value) -> Value:
        return item if function is None else interp.call(frame, node, function, (item,), {})

    def at(n: int) -> Value:
        while (item := pull(interp, frame, node, inner)) is not END:
            kept = keep(single(item))
            truth = interp.truth(kept)
            if truth is True:
                return item
            if truth is None:
                return spread(interp.why(kept, frame, node), item)
        return END

    astray = partial(_may_call, interp, frame, node, function, inner)
    return Stream(at, interp.journal.born([0]), astray=astray)


def generated(interp: Interpreter, source: Iterator[Value], astray: Callable[[], None]) -> Stream:
    """A generator expression: its items are worked out one by one, each once. Where the program
    goes back (to the other side of a condition) it cannot follow."""
    drawn = [0]

    def at(n: int) -> Value:
        if n != drawn[0]:
            return ASTRAY
        drawn[0] += 1
        return next(source, END)

    return Stream(at, interp.journal.born([0]), astray=astray)
