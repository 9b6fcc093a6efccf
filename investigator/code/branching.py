"""Undecided conditions: follow every side, undo each before the next, join.

A span of execution ends in one or more *endings*: how it ended (fell through, ``return``,
``continue``, ``break``, raised) and the state it arrived at. Of the endings of a fork the one
that goes furthest is made the present; the others are kept aside (``Deferred``) and joined
where the paths meet again: at the end of the round, the loop, the ``try``, the function.

An ending that raises is left out and noted as an assumption (``Happening.ASSUME``) when
another does not raise and no ``try`` around could catch it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.frames import Frame
from investigator.code.heap import Container, Contents, join_states, join_values, weight
from investigator.code.journal import Level
from investigator.code.syntax import head
from investigator.code.trace import Happening
from investigator.code.values import BudgetSpent, Doubted, OneOf, Raised, Unknown, Value
from investigator.code.widening import Widening

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

MAX_WAITING = 12
"""Paths kept aside in one span before those of one kind are joined."""
MAX_PASSES = 40


@dataclass(frozen=True)
class Return:
    """The function ends with this value."""

    value: Value


@dataclass(frozen=True)
class Leave:
    """A loop ends (``breaks``) or goes on to its next round; ``outer`` 0 is the innermost."""

    breaks: bool
    outer: int = 0


@dataclass(frozen=True)
class Raise:
    """The span raised."""

    error: Raised


Signal = Return | Leave | Raise | None
"""How a block ended; None: control falls through."""


@dataclass(frozen=True)
class Ending:
    """One way in which a span ended, and the state it arrived at (relative to its start)."""

    signal: Signal
    contents: Contents
    because: Unknown


@dataclass(frozen=True)
class Deferred:
    """A path kept aside. ``level`` spans what the present path did since they parted."""

    level: Level
    contents: Contents
    signal: Signal
    because: Unknown


_NO_REASON = Unknown("depends on a condition that was not decided")


@contextmanager
def spanning(interp: Interpreter) -> Iterator[int]:
    """A span whose paths kept aside are its own: those from the mark that is given on."""
    mark = len(interp.deferred)
    interp.marks.append(mark)
    try:
        yield mark
    finally:
        interp.marks.pop()


def explore(interp: Interpreter, run: Callable[[], Signal], because: Unknown = _NO_REASON) -> list[Ending]:
    """Run one side, note where it arrived, and undo it."""
    level = interp.journal.open()
    with spanning(interp) as mark:
        try:
            signal = run()
        except Raised as error:
            signal = Raise(error)
    endings = gather(interp, mark, level, signal, because)
    interp.journal.undo(level)
    interp.journal.close(level)
    return endings


def gather(
    interp: Interpreter, mark: int, level: Level, signal: Signal, because: Unknown = _NO_REASON
) -> list[Ending]:
    """The endings of a span: the present path's, and those kept aside since ``mark``."""
    waiting = interp.deferred[mark:]
    del interp.deferred[mark:]
    touched: dict[int, Container] = {key: pair[0] for key, pair in level.before.items()}
    for deferred in waiting:
        for contents in (deferred.level.before, deferred.contents):
            touched.update({key: pair[0] for key, pair in contents.items() if key not in touched})
    here: Contents = {key: (container, container.copy()) for key, container in touched.items()}
    interp.journal.copied += sum(len(content) for _, content in here.values())
    endings = [Ending(signal, here, because)]
    for deferred in waiting:
        interp.journal.close(deferred.level)
        state = {**here, **{k: p for k, p in deferred.level.before.items() if k in touched}}
        state.update(deferred.contents)
        endings.append(Ending(deferred.signal, state, deferred.because))
    return endings


def combine(
    interp: Interpreter, frame: Frame, node: Node, endings: Sequence[Ending], *, tidies: bool = True
) -> Signal:
    """Make the ending that goes furthest the present, keep the others aside.

    The present state is the one that all endings started from. Raises Raised when every
    ending raises.
    """
    groups = merged(interp, endings)
    main = min(groups, key=_reach)
    others = [group for group in groups if group is not main]
    kept = []
    for other in others:
        if isinstance(other.signal, Raise) and not interp.catching:
            _assume(interp, frame, node, other.signal.error)
        else:
            kept.append(other)
    if kept:
        level = interp.journal.open()
        interp.deferred.extend(Deferred(level, k.contents, k.signal, k.because) for k in kept)
    interp.journal.install(main.contents)
    if isinstance(main.signal, Raise):
        raise main.signal.error
    return tidied(interp, frame, node, main.signal) if tidies else main.signal


def tidied(interp: Interpreter, frame: Frame, node: Node, signal: Signal) -> Signal:
    """Join the paths of one kind that are kept aside in the innermost span, if they are many."""
    mark = interp.marks[-1]
    if len(interp.deferred) - mark <= MAX_WAITING:
        return signal
    level = interp.deferred[mark].level
    endings = gather(interp, mark, level, signal)
    interp.journal.undo(level)
    return combine(interp, frame, node, endings, tidies=False)


def _assume(interp: Interpreter, frame: Frame, node: Node, error: Raised) -> None:
    if not isinstance(error, Doubted):
        interp.note(Happening.ASSUME, f"no {error.error.name}", error.error, frame, node)


def merged(interp: Interpreter, endings: Sequence[Ending]) -> list[Ending]:
    """The endings with those of one kind joined into one."""
    groups: dict[tuple[str, ...], Ending] = {}
    for ending in endings:
        key = _kind(ending.signal)
        known = groups.get(key)
        groups[key] = ending if known is None else _join(interp, known, ending)
    return list(groups.values())


def _join(interp: Interpreter, one: Ending, two: Ending) -> Ending:
    because = two.because
    signal = one.signal
    sizes = (weight(content) for ending in (one, two) for _, content in ending.contents.values())
    interp.journal.copied += sum(sizes)
    if isinstance(signal, Return) and isinstance(two.signal, Return):
        signal = Return(join_values(signal.value, two.signal.value, because))
    return Ending(signal, join_states(one.contents, two.contents, because), because)


def _kind(signal: Signal) -> tuple[str, ...]:
    if isinstance(signal, Leave):
        return ("break" if signal.breaks else "continue", str(signal.outer))
    if isinstance(signal, Raise):
        return ("raise", signal.error.error.name, type(signal.error).__name__)
    return ("return",) if isinstance(signal, Return) else ()


def _reach(ending: Ending) -> int:
    """How soon control leaves: what falls through goes furthest."""
    signal = ending.signal
    if signal is None:
        return 0
    if isinstance(signal, Leave):
        return 1 + signal.breaks + 2 * signal.outer
    return 1_000_000 if isinstance(signal, Return) else 1_000_001 + isinstance(signal.error, Doubted)


def settle(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    run: Callable[[], Signal],
    convert: Callable[[Signal], Signal],
    *,
    ends: bool = False,
) -> Signal:
    """Run a span at whose end paths meet: ``convert`` says what each signal means there.

    ``ends``: paths kept aside are joined even when their signal stays what it is.
    """
    with spanning(interp) as mark:
        try:
            signal = run()
        except Raised as error:
            if len(interp.deferred) == mark:
                raise
            signal = Raise(error)
    waiting = interp.deferred[mark:]
    meet = ends or any(convert(d.signal) is not d.signal for d in waiting)
    if not waiting or not meet:
        if isinstance(signal, Raise):
            raise signal.error
        return convert(signal)
    level = waiting[0].level
    endings = gather(interp, mark, level, signal, waiting[-1].because)
    interp.journal.undo(level)
    return combine(interp, frame, node, [replace(e, signal=convert(e.signal)) for e in endings])


def fork(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    sides: Sequence[Callable[[], Signal]],
    because: Unknown,
) -> Signal:
    """Follow every side of a statement's undecided condition."""
    interp.note(Happening.FORK, head(frame.module.file, node), because, frame, node)
    endings = [ending for side in sides for ending in explore(interp, side, because)]
    return combine(interp, frame, node, endings)


def either(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    sides: Sequence[Callable[[], Value]],
    because: Unknown,
) -> Value:
    """The join of what an undecided expression may give; sides that raise are left out."""
    runs: list[Callable[[], Signal]] = [_returning(side) for side in sides]
    signal = fork(interp, frame, node, runs, because)
    assert isinstance(signal, Return)
    return signal.value


def _returning(side: Callable[[], Value]) -> Callable[[], Signal]:
    return lambda: Return(side())


def over(
    interp: Interpreter, frame: Frame, node: Node, choice: OneOf, compute: Callable[[Value], Value]
) -> Value:
    """Apply to each option and join."""
    if any(isinstance(option, Unknown) for option in choice.options):
        interp.doubts += 1

    def side(option: Value) -> Callable[[], Value]:
        return lambda: compute(option)

    return either(interp, frame, node, [side(option) for option in choice.options], choice.reason)


def any_rounds(
    interp: Interpreter, frame: Frame, node: Node, because: Unknown, run_round: Callable[[], Signal]
) -> Signal:
    """Zero or more rounds of a loop: the state is widened until one more round adds nothing.

    ``continue`` must have been settled by the round itself; ``break`` is left to the caller.
    """
    interp.note(Happening.FORK, head(frame.module.file, node), because, frame, node)
    start = interp.journal.open()
    widening = Widening(because, lambda value: interp.journal.made_since(value, start))
    for _ in range(MAX_PASSES):
        endings = explore(interp, run_round, because)
        grown = False
        for ending in endings:
            if ending.signal is None:
                grown = _widen(interp, ending.contents, widening) or grown
        if not grown:
            interp.journal.close(start)
            others = [ending for ending in endings if ending.signal is not None]
            return combine(interp, frame, node, [Ending(None, {}, because), *others])
    raise BudgetSpent("a loop whose effects do not settle", frame.module.place(node))


def _widen(interp: Interpreter, contents: Contents, widening: Widening) -> bool:
    grown = False
    interp.journal.copied += sum(weight(content) for _, content in contents.values())
    for container, content in contents.values():
        wide = widening.contents(container, content)
        if wide is not container:
            interp.journal.change(container, wide)
            grown = True
    return grown
