"""``with``: contexts that a class defines, ``contextlib.suppress``, and contexts made of generators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes
from investigator.code.assignment import assign
from investigator.code.attempts import Handler, alias_of, attempt, is_caught_by
from investigator.code.branching import (
    Ending,
    Raise,
    Signal,
    combine,
    explore,
    fork,
    gather,
    merged,
    settle,
    spanning,
)
from investigator.code.exceptions import is_exception_name
from investigator.code.frames import Frame
from investigator.code.syntax import field as child
from investigator.code.syntax import first, named, text
from investigator.code.values import (
    Builtin,
    Doubted,
    ExceptionValue,
    External,
    FunctionValue,
    Instance,
    Raised,
    Stream,
    Unknown,
    Value,
    find_unknown,
    is_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def run_with(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """``with a as b, c: ...``. Contexts from outside the tree are taken to let exceptions pass,
    ``contextlib.suppress`` excepted."""
    return _within(interp, frame, node, contexts_of(node))


def contexts_of(node: Node) -> list[Node]:
    """The items of a ``with`` statement."""
    return [item for clause in named(node) if clause.type == "with_clause" for item in named(clause)]


def _within(interp: Interpreter, frame: Frame, node: Node, items: list[Node]) -> Signal:
    if not items:
        return interp.run_block(frame, child(node, "body"))
    rest = partial(_within, interp, frame, node, items[1:])
    context, target = _context_of(interp, frame, items[0])
    if isinstance(context, Stream) and context.around is not None:

        def inside(entered: Value) -> Signal:
            if target is not None:
                assign(interp, frame, target, entered)
            return rest()

        signal: Signal = context.around(frame, node, inside)
        return signal
    entered, handlers, leaving = _enter(interp, frame, items[0], context)
    if target is not None:
        assign(interp, frame, target, entered)
    return attempt(interp, frame, node, rest, handlers, None, None, leaving) if handlers else rest()


def _context_of(interp: Interpreter, frame: Frame, item: Node) -> tuple[Value, Node | None]:
    """The context of an item of a ``with``, and the target that what it gives is bound to."""
    inner = child(item, "value")
    target = alias_of(inner)
    expression = first(inner) if target is not None else inner
    suppressed = _suppressed(interp, frame, expression)
    return (interp.evaluate(frame, expression) if suppressed is None else suppressed), target


def passes_by(interp: Interpreter, frame: Frame, item: Node) -> bool:
    """Enter a context that does nothing that is followed; False where it does something."""
    context, target = _context_of(interp, frame, item)
    if isinstance(context, (Stream, Instance, _Suppressed)):
        return False
    if target is not None:
        assign(interp, frame, target, _enter(interp, frame, item, context)[0])
    return True


@dataclass(frozen=True)
class _Suppressed:
    """``contextlib.suppress(...)``, and the exceptions it names."""

    kinds: tuple[Value, ...]


def _suppressed(interp: Interpreter, frame: Frame, expression: Node) -> _Suppressed | None:
    """``contextlib.suppress(...)``; None for any other context."""
    if expression.type != "call":
        return None
    callee = child(expression, "function")
    if text(callee).rpartition(".")[2] != "suppress":
        return None
    if interp.evaluate(frame, callee) != External("contextlib.suppress"):
        return None
    parts = named(child(expression, "arguments"))
    return _Suppressed(tuple(interp.evaluate(frame, part) for part in parts))


def _class_of(error: ExceptionValue, unknown: Unknown) -> Value:
    """``type(error)``; known not to be None where it is not known."""
    if error.cls is not None or is_exception_name(error.name):
        return error.cls or Builtin(error.name)
    return Unknown(unknown.reason, unknown.place, truth=True)


def _enter(
    interp: Interpreter, frame: Frame, node: Node, context: Value
) -> tuple[Value, list[Handler], Callable[[], Signal] | None]:
    """What ``__enter__`` gives, and what ``__exit__`` does with an exception and without one."""
    unknown = Unknown("a context", frame.module.place(node))
    if isinstance(context, _Suppressed):
        kinds = context.kinds
        return None, [Handler(lambda error: is_caught_by(interp, kinds, error), lambda error: None)], None
    if not isinstance(context, Instance) or context.cls is None:
        return (context if is_unknown(context) else unknown), [], None
    enter = classes.class_attribute(interp, context.cls, "__enter__")
    leave = classes.class_attribute(interp, context.cls, "__exit__")
    entered = context
    if isinstance(enter, FunctionValue):
        entered = interp.call(frame, node, enter, (context,), {})
    if not isinstance(leave, FunctionValue):
        return entered, [], None
    function = leave

    def after_raise(error: Raised) -> Signal:
        kind = unknown if isinstance(error, Doubted) else _class_of(error.error, unknown)
        answer = interp.call(frame, node, function, (context, kind, error.error, unknown), {})
        truth = interp.truth(answer)

        def again() -> Signal:
            raise error

        if truth is None:
            return fork(interp, frame, node, [again, lambda: None], interp.why(answer, frame, node))
        return None if truth else again()

    def leaving() -> Signal:
        interp.call(frame, node, function, (context, None, None, None), {})
        return None

    return entered, [Handler(lambda error: True, after_raise)], leaving


@dataclass(frozen=True, eq=False)
class _Left:
    """How the block of a ``with`` ended."""

    signal: Signal


def around(
    interp: Interpreter,
    generator: Frame,
    body: Node,
    frame: Frame,
    node: Node,
    inside: Callable[[Value], Signal],
) -> Signal:
    """``contextlib.contextmanager``: run the generator's body, and the block of the ``with``
    where it yields. What the block raises is raised there; when it is left in any other way, the
    generator goes on to its end first."""
    ways: list[Value] = interp.journal.born([])
    every = [_Left(None)]
    """All ways in which the block was left on some path; the first where the generator catches what
    it raises."""

    def run_inside(entered: Value) -> None:
        if ways and isinstance(ways[0], _Left):
            raise interp.fail("RuntimeError", "generator didn't stop", frame, node)
        interp.journal.touch(ways)
        ways[:] = every[:1]
        _note_how_it_ends(interp, frame, node, partial(inside, entered), ways, every)

    generator.on_yield = run_inside
    settle(interp, generator, body, lambda: interp.run_block(generator, body), _at_end, ends=True)
    if not ways:
        raise interp.fail("RuntimeError", "generator didn't yield", frame, node)
    way = ways[0]
    if isinstance(way, _Left):
        return way.signal
    because = find_unknown(ways) or Unknown("how a block is left", frame.module.place(node))
    return fork(interp, frame, node, [partial(_leave, each) for each in every], because)


def _leave(way: _Left) -> Signal:
    return way.signal


def _at_end(signal: Signal) -> Signal:
    return signal if isinstance(signal, Raise) else None


def _note_how_it_ends(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    block: Callable[[], Signal],
    ways: list[Value],
    every: list[_Left],
) -> None:
    level = interp.journal.open()
    with spanning(interp) as mark:
        try:
            signal = block()
        except Raised as error:
            signal = Raise(error)
    if len(interp.deferred) == mark:
        interp.journal.close(level)
        _end(interp, signal, ways, every)
        return
    endings = gather(interp, mark, level, signal)
    interp.journal.undo(level)
    interp.journal.close(level)

    def go_on(ending: Ending) -> Signal:
        interp.journal.install(ending.contents)
        _end(interp, ending.signal, ways, every)
        return None

    met = [
        e
        for ending in merged(interp, endings)
        for e in explore(interp, partial(go_on, ending), ending.because)
    ]
    combine(interp, frame, node, met)


def _end(interp: Interpreter, signal: Signal, ways: list[Value], every: list[_Left]) -> None:
    if isinstance(signal, Raise):
        raise signal.error
    interp.journal.touch(ways)
    ways[:] = [_Left(signal)]
    every.extend(ways)
