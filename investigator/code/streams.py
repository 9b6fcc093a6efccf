"""Taking items from an iterator, each once. A *spread* stands for any number of next items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.frames import Frame
from investigator.code.heap import spread
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


_RUN_OUT = -1
_UNCERTAIN = -2


def pull(interp: Interpreter, frame: Frame, node: Node, stream: Stream) -> Value:
    """The stream's next item, or END. A spread stands for any number of next items."""
    interp.step(frame, node)
    position = stream.position[0]
    if position == _RUN_OUT:
        return END
    interp.journal.touch(stream.position)
    stream.position[0] = _RUN_OUT
    item = stream.at(position) if isinstance(position, int) and position >= 0 else ASTRAY
    if item is ASTRAY:
        stream.astray()
        return spread(Unknown("an iterator that was used up to an unknown place", frame.module.place(node)))
    if item is not END:
        stream.position[0] = position + 1
    return item


def take(interp: Interpreter, frame: Frame, node: Node, stream: Stream) -> Value:
    """``next(stream)``: one item, or END when there is surely none."""
    if stream.position[0] == _UNCERTAIN or not isinstance(stream.position[0], int):
        go_astray(interp, stream)
        interp.doubts += 1
        return Unknown("an iterator that was used up to an unknown place", frame.module.place(node))
    item = pull(interp, frame, node, stream)
    if is_spread(item):
        stream.position[0] = _UNCERTAIN
        interp.doubts += 1
    return single(item)


def go_astray(interp: Interpreter, stream: Stream) -> None:
    """Any number of items may have been taken by somebody who is not followed."""
    if stream.position[0] == _RUN_OUT:  # or it is being asked for an item just now
        return
    interp.journal.touch(stream.position)
    stream.position[0] = _RUN_OUT
    stream.astray()
    stream.position[0] = _UNCERTAIN


def drain(interp: Interpreter, frame: Frame, node: Node, stream: Stream) -> list[Value]:
    found = []
    while (item := pull(interp, frame, node, stream)) is not END:
        found.append(item)
    return found
