"""Generator functions: the body stands still at each ``yield`` until the next item is asked for.

That is followed to the letter for as long as what is decided decides how the body goes on. Where
it does not, the body is run to its end at once when its first item is asked for, and what it
changes outside itself is not known from then on; later than that, nothing is known of what is
still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.assignment import assign
from investigator.code.attempts import Handler, handler_of, parts_of_try
from investigator.code.branching import Leave, Raise, Return, Signal, settle, spanning
from investigator.code.conditions import sides_of
from investigator.code.contexts import around, contexts_of, passes_by
from investigator.code.effects import may_have_run
from investigator.code.frames import Frame
from investigator.code.heap import blurred, spread
from investigator.code.iteration import stream_over
from investigator.code.journal import Level
from investigator.code.streams import pull
from investigator.code.syntax import field as child
from investigator.code.syntax import head, named
from investigator.code.syntax import statements as statements_of
from investigator.code.trace import Happening
from investigator.code.values import (
    ASTRAY,
    END,
    BudgetSpent,
    FunctionValue,
    Raised,
    Stream,
    Unknown,
    Value,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

Steps = Generator[None, None, Signal]
"""Statements under way: stands still after each ``yield``, and comes to how they ended."""


class _Undecided(Exception):
    """How the body goes on depends on something that is not known."""


def may_yield(body: Node) -> bool:
    """Whether a node's own text, inner functions left out, holds a ``yield``."""
    if b"yield" not in (body.text or b""):
        return False
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type == "yield":
            return True
        if node.type not in ("function_definition", "lambda", "class_definition"):
            stack.extend(node.named_children)
    return False


def generator(interp: Interpreter, frame: Frame, function: FunctionValue, body: Node) -> Stream:
    """What a call of a generator function gives: an iterator over what its body yields."""
    interp.journal.born(frame.yielded)
    items = _items(interp, frame, function, body)
    drawn = [0]

    def at(n: int) -> Value:
        if n != drawn[0]:  # the program went back, to the other side of a condition
            return ASTRAY
        drawn[0] += 1
        return next(items, END)

    is_context = any(mark.rpartition(".")[2] == "contextmanager" for mark in function.decorators)
    around_block = partial(around, interp, frame, body) if is_context else None
    lose = partial(_lose, interp, frame, function)
    return Stream(at, interp.journal.born([0]), around_block, lose)


def _lose(interp: Interpreter, frame: Frame, function: FunctionValue) -> None:
    """The body may have gone on in a way that is not followed."""
    may_have_run(interp, function, _lost_track(frame, function), *frame.scope.variables.values())


def _lost_track(frame: Frame, function: FunctionValue) -> Unknown:
    return Unknown(f"how far {function.qualified_name} has come", frame.module.place(function.node))


def _items(interp: Interpreter, frame: Frame, function: FunctionValue, body: Node) -> Iterator[Value]:
    """The items one by one."""
    steps, given, ended = _block(interp, frame, body), 0, False
    while not ended:
        level, events = interp.journal.open(keys=True), len(interp.trace.events)
        try:
            ended = _resume(interp, steps)
        except _Undecided:
            if given > 0:
                _lose(interp, frame, function)
                yield spread(_lost_track(frame, function), *frame.scope.variables.values())
                return
            interp.journal.undo(level)
            del interp.trace.events[events:]
            yield from _at_once(interp, frame, body)
            return
        finally:
            interp.journal.close(level)
        items, given = frame.yielded[given:], len(frame.yielded)
        yield from items


def _resume(interp: Interpreter, steps: Steps) -> bool:
    """Go on to the next ``yield``; whether the body has come to its end."""
    ended = True
    with spanning(interp) as mark:
        try:
            next(steps)
            ended = False
        except StopIteration:
            pass
        except (Raised, _Undecided):
            if len(interp.deferred) == mark:
                raise
        except RecursionError:
            raise BudgetSpent("generators nest too deeply", None) from None
        except SyntaxError as error:
            raise BudgetSpent(str(error), None) from None
        if len(interp.deferred) == mark:
            return ended
        for deferred in interp.deferred[mark:]:
            interp.journal.close(deferred.level)
        del interp.deferred[mark:]
        raise _Undecided


def _at_once(interp: Interpreter, frame: Frame, body: Node) -> Iterator[Value]:
    """Run to the end: what is changed on the way holds then something that is not known, since
    whoever asks for the items sees only a part of it."""
    level = interp.journal.open(keys=True)
    raised = False
    try:
        settle(interp, frame, body, lambda: interp.run_block(frame, body), _to_the_end, ends=True)
    except Raised:  # perhaps only after some items, and nobody may ask for more
        raised = True
    finally:
        interp.journal.close(level)
    _blur(interp, frame, level, body)
    if raised:
        interp.doubts += 1
        because = Unknown("what a generator gives before it raises", frame.module.place(body))
        yield spread(because, *frame.yielded, *frame.scope.variables.values())
    else:
        yield from list(frame.yielded)


def _to_the_end(signal: Signal) -> Signal:
    return signal if isinstance(signal, Raise) else None


def _blur(interp: Interpreter, frame: Frame, level: Level, body: Node) -> None:
    because = Unknown("how far a generator has come", frame.module.place(body))
    own = (id(frame.yielded), id(frame.scope.variables))
    for key, (container, before) in level.before.items():
        if key not in own:
            keys = (level.keys or {}).get(key)
            interp.journal.change(container, blurred(before, [container.copy()], keys, because))


# -- statements ------------------------------------------------------------------------


def _block(interp: Interpreter, frame: Frame, block: Node) -> Steps:
    for node in statements_of(block):
        if _yields(frame, node):
            interp.step(frame, node)
            signal = yield from _statement(interp, frame, node)
        else:
            signal = _plain(interp, partial(interp.execute, frame, node))
        if signal is not None:
            return signal
    return None


def _yields(frame: Frame, node: Node) -> bool:
    known, key = frame.module.worked_out, (f"yields in {node.type}", node.start_byte)
    if key not in known:
        known[key] = may_yield(node)
    return bool(known[key])


def _plain(interp: Interpreter, run: Callable[[], Signal]) -> Signal:
    """Run what holds no ``yield``; paths that part in it must meet again in it."""
    mark = len(interp.deferred)
    signal = run()
    if len(interp.deferred) > mark:
        raise _Undecided
    return signal


def _statement(interp: Interpreter, frame: Frame, node: Node) -> Steps:
    match node.type:
        case "expression_statement":
            return (yield from _expression(interp, frame, node))
        case "if_statement":
            return (yield from _if(interp, frame, node))
        case "for_statement":
            return (yield from _for(interp, frame, node))
        case "while_statement":
            return (yield from _while(interp, frame, node))
        case "try_statement":
            return (yield from _try(interp, frame, node))
        case "with_statement":
            return (yield from _with(interp, frame, node))
        case _:
            raise _Undecided


def _expression(interp: Interpreter, frame: Frame, node: Node) -> Steps:
    """``yield x``, ``yield from x`` or ``name = yield x``, and nothing around it."""
    [inner, *others] = named(node)
    right = inner.child_by_field_name("right") if inner.type == "assignment" else inner
    if others or right is None or right.type != "yield":
        raise _Undecided
    if not any(part.type == "from" for part in right.children):
        interp.execute(frame, node)
        yield
        return None
    if right is not inner:
        raise _Undecided  # what the inner generator returns
    source = stream_over(interp, frame, node, interp.evaluate(frame, named(right)[0]))
    while (item := pull(interp, frame, node, source)) is not END:
        interp.journal.touch(frame.yielded)
        frame.yielded.append(item)
        yield
    return None


def _if(interp: Interpreter, frame: Frame, node: Node) -> Steps:
    sides, otherwise = sides_of(node)
    for condition, body in sides:
        if _holds(interp, frame, condition):
            return (yield from _block(interp, frame, body))
    return (yield from _block(interp, frame, otherwise)) if otherwise is not None else None


def _holds(interp: Interpreter, frame: Frame, condition: Node) -> bool:
    truth = interp.truth(interp.evaluate(frame, condition))
    if truth is None:
        raise _Undecided
    interp.note(Happening.BRANCH, head(frame.module.file, condition, 400), truth, frame, condition)
    return truth


def _for(interp: Interpreter, frame: Frame, node: Node) -> Steps:
    value = interp.evaluate(frame, child(node, "right"))
    if isinstance(value, (set, frozenset)) and len(value) > 1:
        raise _Undecided
    source = stream_over(interp, frame, node, value)
    while (item := pull(interp, frame, node, source)) is not END:
        if is_spread(item):
            raise _Undecided
        assign(interp, frame, child(node, "left"), item)
        signal = yield from _block(interp, frame, child(node, "body"))
        if isinstance(signal, Return) or (isinstance(signal, Leave) and signal.breaks):
            return signal if isinstance(signal, Return) else None
    return (yield from _otherwise(interp, frame, node))


def _while(interp: Interpreter, frame: Frame, node: Node) -> Steps:
    while _holds(interp, frame, child(node, "condition")):
        interp.step(frame, node)
        signal = yield from _block(interp, frame, child(node, "body"))
        if isinstance(signal, Return) or (isinstance(signal, Leave) and signal.breaks):
            return signal if isinstance(signal, Return) else None
    return (yield from _otherwise(interp, frame, node))


def _otherwise(interp: Interpreter, frame: Frame, loop: Node) -> Steps:
    alternative = loop.child_by_field_name("alternative")
    if alternative is None:
        return None
    return (yield from _block(interp, frame, child(alternative, "body")))


def _with(interp: Interpreter, frame: Frame, node: Node) -> Steps:
    """Contexts that do nothing that is followed."""
    if not all(passes_by(interp, frame, item) for item in contexts_of(node)):
        raise _Undecided
    return (yield from _block(interp, frame, child(node, "body")))


def _try(interp: Interpreter, frame: Frame, node: Node) -> Steps:
    parts = parts_of_try(node)
    if parts.final is not None or any(_yields(frame, clause) for clause in parts.clauses):
        raise _Undecided  # ``finally`` is also run when nobody asks for further items
    doubts = [0]
    try:
        signal = yield from _catching(interp, _block(interp, frame, parts.body), doubts)
    except Raised as error:
        return _rescue(interp, error, [handler_of(interp, frame, clause) for clause in parts.clauses])
    if doubts[0]:
        raise _Undecided  # an operation on something unknown may have raised
    if signal is None and parts.otherwise is not None:
        return (yield from _block(interp, frame, parts.otherwise))
    return signal


def _rescue(interp: Interpreter, error: Raised, handlers: list[Handler]) -> Signal:
    for handler in handlers:
        caught = handler.catches(error)
        if caught is None:
            raise _Undecided
        if caught:
            interp.handling.append(error)
            try:
                return _plain(interp, partial(handler.run, error))
            finally:
                interp.handling.pop()
    raise error


def _catching(interp: Interpreter, steps: Steps, doubts: list[int]) -> Steps:
    """Statements whose exceptions something around them may catch, while they run; adds up how
    many operations of theirs may have raised, being done on something unknown."""
    while True:
        interp.catching += 1
        before = interp.doubts
        try:
            next(steps)
        except StopIteration as end:
            signal: Signal = end.value
            return signal
        finally:
            interp.catching -= 1
            doubts[0] += interp.doubts - before
        yield
