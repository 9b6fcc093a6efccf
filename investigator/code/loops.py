"""Loops. A loop over something undecided is followed until another round adds nothing new."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.assignment import assign
from investigator.code.branching import Leave, Signal, any_rounds, fork, settle, tidied
from investigator.code.frames import Frame
from investigator.code.heap import lost, spread
from investigator.code.iteration import in_some_order, stream_over
from investigator.code.streams import pull
from investigator.code.syntax import field as child
from investigator.code.values import END, Stream, Unknown, Value, is_spread, single

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

MAX_ORDERED = 3
"""A loop over a set of up to so many items is followed in every order."""


def run_for(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """``for target in items: ... else: ...``."""
    value = interp.evaluate(frame, child(node, "right"))
    if isinstance(value, (set, frozenset)) and 1 < len(value) <= MAX_ORDERED:
        orders = [list(order) for order in permutations(in_some_order(value))]
        if not any(is_spread(item) for item in value):
            because = Unknown("the order of a set", frame.module.place(node))
            sides = [_loop_over(interp, frame, node, order) for order in orders]
            return fork(interp, frame, node, sides, because)
    return _loop_over(interp, frame, node, value)()


def _loop_over(interp: Interpreter, frame: Frame, node: Node, value: Value) -> Callable[[], Signal]:
    def run() -> Signal:
        return _rounds_over(interp, frame, node, stream_over(interp, frame, node, value))

    return lambda: settle(interp, frame, node, run, _after_loop)


def _rounds_over(interp: Interpreter, frame: Frame, node: Node, stream: Stream) -> Signal:
    count = 0
    left = child(node, "left")
    while (item := pull(interp, frame, node, stream)) is not END:
        count += 1
        if count > interp.budget.iterations and not is_spread(item):
            item = _all_the_rest(interp, frame, node, stream, item)

        def run_round(item: Value = item) -> Signal:
            assign(interp, frame, left, single(item))
            return _round(interp, frame, node)

        signal = any_rounds(interp, frame, node, item, run_round) if is_spread(item) else run_round()
        signal = tidied(interp, frame, node, signal)
        if signal is not None:
            return signal
    return _otherwise(interp, frame, node)


def _all_the_rest(interp: Interpreter, frame: Frame, node: Node, stream: Stream, item: Value) -> Unknown:
    """One spread for what is left of a very long loop."""
    rest = [item]
    while (more := pull(interp, frame, node, stream)) is not END:
        rest.append(more)
    return spread(lost(Unknown("a very long loop", frame.module.place(node)), *rest))


def _round(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """One round of a loop; paths that said ``continue`` meet the others at its end."""
    body = child(node, "body")
    return settle(interp, frame, node, lambda: interp.run_block(frame, body), _after_round)


def _after_round(signal: Signal) -> Signal:
    return None if isinstance(signal, Leave) and not signal.breaks and signal.outer == 0 else signal


def _after_loop(signal: Signal) -> Signal:
    """``break`` ends the loop; what the ``else`` block said concerns the loop around."""
    if not isinstance(signal, Leave):
        return signal
    return None if signal.outer == 0 else Leave(signal.breaks, signal.outer - 1)


def _otherwise(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    alternative = node.child_by_field_name("alternative")
    if alternative is None:
        return None
    body = child(alternative, "body")
    return settle(interp, frame, node, lambda: interp.run_block(frame, body), _in_else)


def _in_else(signal: Signal) -> Signal:
    return Leave(signal.breaks, signal.outer + 1) if isinstance(signal, Leave) else signal


def run_while(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """``while condition: ... else: ...``."""
    return settle(interp, frame, node, lambda: _while_rounds(interp, frame, node), _after_loop)


def _while_rounds(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    condition = child(node, "condition")
    for _ in range(interp.budget.iterations):
        value = interp.evaluate(frame, condition)
        truth = interp.truth(value)
        if truth is False:
            return _otherwise(interp, frame, node)
        if truth is None:
            return _undecided_while(interp, frame, node, interp.why(value, frame, condition))
        signal = tidied(interp, frame, node, _round(interp, frame, node))
        if signal is not None:
            return signal
    because = Unknown(f"more than {interp.budget.iterations:,} rounds", frame.module.place(node))
    return _undecided_while(interp, frame, node, because)


def _undecided_while(interp: Interpreter, frame: Frame, node: Node, because: Unknown) -> Signal:
    """From a place where the condition was looked at, and its truth is not known."""
    condition = child(node, "condition")

    def run_round() -> Signal:
        signal = _round(interp, frame, node)
        if signal is None:
            interp.evaluate(frame, condition)
        return signal

    signal = any_rounds(interp, frame, node, because, run_round)
    return signal if signal is not None else _otherwise(interp, frame, node)
