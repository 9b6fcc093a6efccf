"""Undecided conditions: follow both sides, undo the first before the second, join.

A side that raises is left out and noted as an assumption (``Happening.ASSUME``), unless
both raise. A side that leaves early (``return``, ``continue``, ``break``) while the other
goes on is kept aside (``Deferred``) and joined where the paths meet again: at the end of
the function, of the loop's round, or of the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.heap import Contents, Level, join_values
from investigator.code.syntax import text
from investigator.code.trace import Happening
from investigator.code.values import Raised, Unknown, Value

if TYPE_CHECKING:
    from investigator.code.interpreter import Frame, Interpreter


@dataclass(frozen=True)
class Return:
    """The function ends with this value."""

    value: Value


@dataclass(frozen=True)
class Leave:
    """The innermost loop ends (``breaks``) or goes on to its next round."""

    breaks: bool


Signal = Return | Leave | None
"""How a block ended; None: control falls through."""


@dataclass(frozen=True)
class Deferred:
    """A path that left early. ``level`` spans what the other path did since they parted."""

    level: Level
    contents: Contents
    signal: Return | Leave
    because: Unknown


@dataclass(frozen=True)
class Side:
    """What one side of a condition came to: its outcome, and the state it arrived at."""

    outcome: Value
    raised: Raised | None
    contents: Contents
    early: tuple[Deferred, ...]


def explore(interp: Interpreter, frame: Frame, run: Callable[[], Value]) -> Side:
    """Run one side, note where it arrived, and undo it."""
    level = interp.journal.open()
    mark = len(frame.deferred)
    outcome: Value = None
    raised: Raised | None = None
    try:
        outcome = run()
    except Raised as error:
        raised = error
    early = tuple(frame.deferred[mark:])
    settle(interp, frame, mark, lambda deferred: True)
    contents = interp.journal.undo(level)
    interp.journal.close(level)
    return Side(outcome, raised, contents, early)


def settle(interp: Interpreter, frame: Frame, mark: int, which: Callable[[Deferred], bool]) -> None:
    """Join the states of deferred paths (from ``mark`` on) into the present state."""
    for deferred in reversed(frame.deferred[mark:]):
        if which(deferred):
            interp.journal.close(deferred.level)
            interp.journal.join(deferred.level, deferred.contents, deferred.because)
            frame.deferred.remove(deferred)


def install(interp: Interpreter, contents: Contents) -> None:
    """Make the present state one that a side had arrived at."""
    for container, content in contents.values():
        interp.journal.touch(container)
        interp.journal.fill(container, content)


def join_sides(interp: Interpreter, one: Side, two: Side, because: Unknown) -> None:
    """Make the present state the join of two sides."""
    level = interp.journal.open()
    install(interp, one.contents)
    interp.journal.close(level)
    interp.journal.join(level, two.contents, because)


def fork(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    first: Callable[[], Signal],
    second: Callable[[], Signal],
    because: Unknown,
) -> Signal:
    """Follow both sides of a statement's undecided condition."""
    interp.note(Happening.FORK, text(node)[:80], because, frame, node)
    sides = [explore(interp, frame, first), explore(interp, frame, second)]
    standing = [side for side in sides if side.raised is None or side.early]
    if not standing:
        raise sides[1].raised or sides[0].raised  # type: ignore[misc]
    for side in sides:
        if side.raised is not None:
            interp.note(Happening.ASSUME, f"no {side.raised.error.name}", side.raised.error, frame, node)
    if len(standing) == 1:
        (side,) = standing
        install(interp, side.contents)
        _defer_again(interp, frame, side, because)
        return _ending(side, because)
    one, two = standing
    a, b = _ending(one, because), _ending(two, because)
    if isinstance(a, Return) and isinstance(b, Return):
        join_sides(interp, one, two, because)
        return Return(join_values(a.value, b.value, because))
    if a == b:
        join_sides(interp, one, two, because)
    else:
        if a is None or isinstance(b, Return):
            one, two, a, b = two, one, b, a
        assert a is not None
        level = interp.journal.open()
        install(interp, two.contents)
        frame.deferred.append(Deferred(level, one.contents, a, because))
    for side in (one, two):
        if not isinstance(_ending(side, because), Return):
            _defer_again(interp, frame, side, because)
    return b


def _ending(side: Side, because: Unknown) -> Signal:
    """The side's signal, with the values of its own early returns joined in."""
    returns = [early.signal.value for early in side.early if isinstance(early.signal, Return)]
    if side.raised is not None:
        if not returns:
            return None
        signal: Signal = Return(returns.pop())
    else:
        signal = side.outcome
    if isinstance(signal, Return):
        value = signal.value
        for other in returns:
            value = join_values(value, other, because)
        return Return(value)
    return signal


def _defer_again(interp: Interpreter, frame: Frame, side: Side, because: Unknown) -> None:
    """Early leaves inside a side that itself goes on: their states are joined already, what
    they return (and what happens from here on) is still open."""
    if isinstance(_ending(side, because), Return):
        return
    for early in side.early:
        frame.deferred.append(Deferred(interp.journal.open(), {}, early.signal, early.because))


def choose(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    first: Callable[[], Value],
    second: Callable[[], Value],
    because: Unknown,
) -> tuple[Value, Value]:
    """Both sides of an expression's undecided condition; where one raises, the other twice."""
    interp.note(Happening.FORK, text(node)[:80], because, frame, node)
    one, two = explore(interp, frame, first), explore(interp, frame, second)
    if one.raised is not None and two.raised is not None:
        raise two.raised
    for raising, other in ((one, two), (two, one)):
        if raising.raised is not None:
            error = raising.raised.error
            interp.note(Happening.ASSUME, f"no {error.name}", error, frame, node)
            install(interp, other.contents)
            return other.outcome, other.outcome
    join_sides(interp, one, two, because)
    return one.outcome, two.outcome
