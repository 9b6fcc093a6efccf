"""``try``, and whatever else may catch what is raised inside it.

What may have been raised is followed into the handlers: an exception that is surely raised, one
that a path under an undecided condition raises, and whatever an operation on something unknown
may have raised.
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
    spanning,
)
from investigator.code.exceptions import is_exception_name, is_subclass_of_builtin
from investigator.code.frames import Frame
from investigator.code.heap import Contents, blurred
from investigator.code.journal import Level
from investigator.code.syntax import field as child
from investigator.code.syntax import first, named, text
from investigator.code.values import (
    Builtin,
    ClassValue,
    Doubted,
    ExceptionValue,
    External,
    Raised,
    Unknown,
    Value,
    find_unknown,
)
from investigator.code.variables import delete_variable

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


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
    name = alias_of(pattern) if pattern is not None else None

    def catches(error: Raised) -> bool | None:
        if wanted is None:
            return True
        return is_caught_by(interp, interp.evaluate(frame, wanted), error)

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


def alias_of(pattern: Node) -> Node | None:
    if pattern.type != "as_pattern":
        return None
    target = pattern.child_by_field_name("alias")
    return first(target) if target is not None and target.type == "as_pattern_target" else target


def is_caught_by(interp: Interpreter, wanted: Value, error: Raised) -> bool | None:
    if isinstance(wanted, tuple):
        answers = [is_caught_by(interp, kind, error) for kind in wanted]
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
