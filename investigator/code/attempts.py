"""``raise``, ``assert``, ``try`` and ``with``.

What may have been raised in a ``try`` is followed into its handlers: an exception that is
surely raised, one that a path under an undecided condition raises, and whatever an operation
on something unknown may have raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes
from investigator.code.assignment import assign
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
from investigator.code.exceptions import is_exception_name, is_subclass_of_builtin, message_of
from investigator.code.frames import Frame
from investigator.code.heap import Contents, Level, blurred
from investigator.code.literals import render
from investigator.code.syntax import field as child
from investigator.code.syntax import first, named, text
from investigator.code.values import (
    Builtin,
    ClassValue,
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
from investigator.code.variables import delete_variable

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


# -- raise and assert ------------------------------------------------------------------


def run_raise(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """``raise``, ``raise X``, ``raise X(...) from Y``."""
    given = named(node)
    if not given:
        if interp.handling:
            raise interp.handling[-1]
        raise interp.fail("RuntimeError", "No active exception to reraise", frame, node)
    stack = (*interp.stack, frame.module.place(node))
    value = interp.evaluate(frame, given[0])
    raise Raised(_to_raise(interp, frame, given[0], value), stack)


def _to_raise(interp: Interpreter, frame: Frame, node: Node, value: Value) -> ExceptionValue:
    """The exception that ``raise value`` raises; named after its text where it is not known."""
    if isinstance(value, Builtin) and is_exception_name(value.name):
        return ExceptionValue(value.name, "")
    if isinstance(value, ClassValue) and classes.is_exception(interp, value):
        return ExceptionValue(value.name, "", value)
    if isinstance(value, ExceptionValue):
        return ExceptionValue(value.name, _message(interp, frame, node, value), value.cls, value.args)
    if isinstance(value, (int, float, str, list, tuple, dict, type(None))):
        message = "exceptions must derive from BaseException"
        return ExceptionValue("TypeError", message, None, (message,))
    called = child(node, "function") if node.type == "call" else node
    unknown = (Unknown("what an exception of unknown class says"),)
    return ExceptionValue(text(called).rpartition(".")[2], _message(interp, frame, node, None), None, unknown)


def _message(interp: Interpreter, frame: Frame, node: Node, error: ExceptionValue | None) -> str:
    """What a person reads: the message as far as it is known."""
    if error is not None and (error.message or find_unknown(error.args) is None):
        return error.message or message_of(error.args)
    arguments = named(child(node, "arguments")) if node.type == "call" else []
    return render(interp, frame, arguments[0]) if arguments else ""


def run_assert(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """``assert condition, message``; an undecided one is taken to hold."""
    parts = named(node)
    value = interp.evaluate(frame, first(node))
    truth = interp.truth(value)

    def fails() -> Signal:
        if len(parts) == 1:
            raise interp.fail("AssertionError", text(parts[0]), frame, node, ())
        said = interp.evaluate(frame, parts[1])
        message = said if isinstance(said, str) else render(interp, frame, parts[1])
        raise interp.fail("AssertionError", message, frame, node, (said,))

    if truth is None:
        return fork(interp, frame, node, [fails, lambda: None], interp.why(value, frame, node))
    return None if truth else fails()


# -- try -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Handler:
    """One ``except``: whether it catches an exception (None: not known), and what it does."""

    catches: Callable[[Raised], bool | None]
    run: Callable[[Raised], Signal]


@dataclass(frozen=True)
class Try:
    """The parts of a ``try`` statement, as written."""

    body: Node
    clauses: tuple[Node, ...]
    otherwise: Node | None
    final: Node | None


def parts_of_try(node: Node) -> Try:
    """``try: body except: clauses else: otherwise finally: final``."""
    clauses: list[Node] = []
    otherwise: Node | None = None
    final: Node | None = None
    for clause in named(node):
        if clause.type in ("except_clause", "except_group_clause"):
            clauses.append(clause)
        elif clause.type == "else_clause":
            otherwise = child(clause, "body")
        elif clause.type == "finally_clause":
            final = first(clause)
    return Try(child(node, "body"), tuple(clauses), otherwise, final)


def run_try(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """``try: ... except: ... else: ... finally: ...``."""
    parts = parts_of_try(node)
    return attempt(
        interp,
        frame,
        node,
        lambda: interp.run_block(frame, parts.body),
        [handler_of(interp, frame, clause) for clause in parts.clauses],
        partial(interp.run_block, frame, parts.otherwise) if parts.otherwise is not None else None,
        partial(interp.run_block, frame, parts.final) if parts.final is not None else None,
    )


def attempt(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    body: Callable[[], Signal],
    handlers: Sequence[Handler],
    otherwise: Callable[[], Signal] | None,
    final: Callable[[], Signal] | None,
    leaving: Callable[[], Signal] | None = None,
) -> Signal:
    """Run ``body``; what it raises goes to the handlers; ``final`` runs whatever happened,
    ``leaving`` whenever the body raised nothing."""
    doubts = interp.doubts
    level = interp.journal.open(keys=True)
    interp.catching += 1
    with spanning(interp) as mark:
        try:
            signal = body()
        except Raised as error:
            signal = Raise(error)
        finally:
            interp.catching -= 1
    doubted = interp.doubts > doubts and (handlers or final)
    if len(interp.deferred) == mark and not doubted and not isinstance(signal, Raise):
        interp.journal.close(level)
        if leaving is not None:
            leaving()
        return _finish(interp, frame, node, signal, otherwise, final)
    endings = gather(interp, mark, level, signal)
    interp.journal.undo(level)
    interp.journal.close(level)
    if doubted:
        endings.append(_doubt(interp, frame, node, level, endings))

    def go_on(ending: Ending) -> Callable[[], Signal]:
        def run() -> Signal:
            interp.journal.install(ending.contents)
            if isinstance(ending.signal, Raise):
                return _rescue(interp, frame, node, ending.signal.error, list(handlers))
            if leaving is not None:
                leaving()
            return otherwise() if ending.signal is None and otherwise is not None else ending.signal

        return run

    if final is not None:
        interp.catching += 1
    try:
        met = [
            e for ending in merged(interp, endings) for e in explore(interp, go_on(ending), ending.because)
        ]
    finally:
        if final is not None:
            interp.catching -= 1
    if final is not None:
        met = [
            e
            for ending in merged(interp, met)
            for e in explore(interp, _with_final(interp, ending, final), ending.because)
        ]
    return combine(interp, frame, node, met)


def _finish(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    signal: Signal,
    otherwise: Callable[[], Signal] | None,
    final: Callable[[], Signal] | None,
) -> Signal:
    """The body surely raised nothing."""
    if signal is None and otherwise is not None:
        if final is not None:
            return attempt(interp, frame, node, otherwise, (), None, final)
        return otherwise()
    if final is None:
        return signal
    last = final()
    return signal if last is None else last


def _with_final(interp: Interpreter, ending: Ending, final: Callable[[], Signal]) -> Callable[[], Signal]:
    def run() -> Signal:
        interp.journal.install(ending.contents)
        last = final()
        if last is None and isinstance(ending.signal, Raise):
            raise ending.signal.error
        return last if last is not None else ending.signal

    return run


def _rescue(interp: Interpreter, frame: Frame, node: Node, error: Raised, handlers: list[Handler]) -> Signal:
    """The first handler that catches the error; where that is not known, each that may."""
    if not handlers:
        raise error
    caught = handlers[0].catches(error)

    def here() -> Signal:
        interp.handling.append(error)
        try:
            return handlers[0].run(error)
        finally:
            interp.handling.pop()

    if caught:
        return here()
    if caught is False:
        return _rescue(interp, frame, node, error, handlers[1:])
    because = Unknown("whether an exception is caught", frame.module.place(node))
    further = handlers[1:]
    sides = [here, lambda: _rescue(interp, frame, node, error, further)]
    return fork(interp, frame, node, sides, because)


def _doubt(interp: Interpreter, frame: Frame, node: Node, level: Level, endings: list[Ending]) -> Ending:
    """The body may have been left at any operation on something unknown: what it changed may
    or may not be changed then."""
    because = Unknown("an operation on something unknown may have raised", frame.module.place(node))
    contents: Contents = {}
    for key, (container, before) in level.before.items():
        after = [ending.contents[key][1] for ending in endings if key in ending.contents]
        contents[key] = (container, blurred(before, after, (level.keys or {}).get(key), because))
    unknown = ExceptionValue("Exception", because.reason, None, (because,))
    error = Doubted(unknown, (*interp.stack, frame.module.place(node)))
    return Ending(Raise(error), contents, because)


# -- handlers --------------------------------------------------------------------------


def handler_of(interp: Interpreter, frame: Frame, clause: Node) -> Handler:
    """What an ``except`` clause catches and does."""
    parts = named(clause)
    body = next((part for part in parts if part.type == "block"), None)
    caught = [part for part in parts if part.type != "block"]
    pattern = caught[0] if caught else None
    wanted = first(pattern) if pattern is not None and pattern.type == "as_pattern" else pattern
    name = _alias(pattern) if pattern is not None else None

    def catches(error: Raised) -> bool | None:
        if wanted is None:
            return True
        return _catches(interp, interp.evaluate(frame, wanted), error)

    def run(error: Raised) -> Signal:
        if body is None:
            return None
        if name is None:
            return interp.run_block(frame, body)
        value = find_unknown(error.error.args) if isinstance(error, Doubted) else error.error
        assign(interp, frame, name, value)
        signal = interp.run_block(frame, body)
        if name.type == "identifier" and text(name) in frame.scope.variables:
            delete_variable(interp, frame, name, text(name))
        return signal

    return Handler(catches, run)


def _alias(pattern: Node) -> Node | None:
    if pattern.type != "as_pattern":
        return None
    target = pattern.child_by_field_name("alias")
    return first(target) if target is not None and target.type == "as_pattern_target" else target


def _catches(interp: Interpreter, wanted: Value, error: Raised) -> bool | None:
    if isinstance(wanted, tuple):
        answers = [_catches(interp, kind, error) for kind in wanted]
        return True if True in answers else None if None in answers else False
    if wanted == Builtin("BaseException") or (wanted == Builtin("Exception") and isinstance(error, Doubted)):
        return True
    if isinstance(error, Doubted):
        return None
    name, cls = error.error.name, error.error.cls
    if isinstance(wanted, ClassValue):
        return cls is not None and classes.is_subclass(interp, cls, wanted) is True
    if cls is not None:
        order = [base for base in classes.mro(interp, cls) if isinstance(base, Builtin)]
        if isinstance(wanted, Builtin):
            return any(is_subclass_of_builtin(base.name, wanted.name) for base in order)
        return None
    if isinstance(wanted, Builtin):
        known = is_exception_name(name)
        return is_subclass_of_builtin(name, wanted.name) if known else (wanted.name == "Exception" or None)
    if isinstance(wanted, External):
        return (
            True if wanted.dotted.rpartition(".")[2] == name else False if is_exception_name(name) else None
        )
    return None


# -- with ------------------------------------------------------------------------------


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
    context, target = _context(interp, frame, items[0])
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


def _context(interp: Interpreter, frame: Frame, item: Node) -> tuple[Value, Node | None]:
    """The context of an item of a ``with``, and the target that what it gives is bound to."""
    inner = child(item, "value")
    target = _alias(inner)
    expression = first(inner) if target is not None else inner
    suppressed = _suppressed(interp, frame, expression)
    return (interp.evaluate(frame, expression) if suppressed is None else suppressed), target


def passes_by(interp: Interpreter, frame: Frame, item: Node) -> bool:
    """Enter a context that does nothing that is followed; False where it does something."""
    context, target = _context(interp, frame, item)
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
        return None, [Handler(lambda error: _catches(interp, kinds, error), lambda error: None)], None
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


# -- contexts made of generators -------------------------------------------------------


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
