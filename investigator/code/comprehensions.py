"""Comprehensions and generator expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.assignment import assign
from investigator.code.branching import any_rounds
from investigator.code.effects import may_have_run_in
from investigator.code.frames import Frame
from investigator.code.heap import roots, spread
from investigator.code.iteration import stream_over
from investigator.code.iterators import generated
from investigator.code.keys import make_set, set_entry
from investigator.code.streams import go_astray, pull
from investigator.code.syntax import descendants, named
from investigator.code.syntax import field as child
from investigator.code.values import END, Scope, Stream, Unknown, Value, is_spread, single

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

MAX_ELEMENTS = 100_000


def comprehension(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """``[x for ...]``, ``{x for ...}``, ``{k: v for ...}``, ``(x for ...)``."""
    scope = Scope(frame.module, parent=frame.scope, is_comprehension=True)
    interp.journal.born(scope.variables)
    inner = Frame(scope, frame.function, frame.receiver, frame.yielded)
    body = child(node, "body")
    clauses = [clause for clause in named(node) if clause != body]
    first = stream_over(interp, inner, clauses[0], interp.evaluate(frame, child(clauses[0], "right")))

    def element() -> Value:
        if body.type != "pair":
            return interp.evaluate(inner, body)
        return (interp.evaluate(inner, child(body, "key")), interp.evaluate(inner, child(body, "value")))

    source = _going_through(interp, inner, clauses, first, element)
    if node.type == "generator_expression":
        return generated(interp, source, partial(_lose, interp, inner, first, [body, *clauses[1:]]))
    made: list[Value] = interp.journal.born([])
    for item in source:
        made.append(item)
        if len(made) > MAX_ELEMENTS:
            return Unknown("a very long comprehension", frame.module.place(node), hides=roots(*made))
    if node.type == "set_comprehension":
        return make_set(interp, frame, node, made)
    return _dict_of(interp, frame, node, made) if node.type == "dictionary_comprehension" else made


def _lose(interp: Interpreter, frame: Frame, first: Stream, parts: list[Node]) -> None:
    """Any number of a generator expression's items may have been worked out: what is done for each."""
    go_astray(interp, first)
    because = Unknown("how many items were asked for", frame.module.place(parts[0]))
    if any(True for part in parts for _ in descendants(part, "call", "named_expression", "for_in_clause")):
        may_have_run_in(interp, frame.scope, because)


def _dict_of(interp: Interpreter, frame: Frame, node: Node, pairs: list[Value]) -> Value:
    made: dict[Value, Value] = interp.journal.born({})
    for pair in pairs:
        if is_spread(pair):
            set_entry(interp, frame, node, made, pair, single(pair))
        else:
            set_entry(interp, frame, node, made, *pair)
    return made


def _going_through(
    interp: Interpreter, frame: Frame, clauses: list[Node], stream: Stream, element: Callable[[], Value]
) -> Iterator[Value]:
    """The elements that a ``for`` clause over a stream and the clauses after it give."""
    clause = clauses[0]
    while (item := pull(interp, frame, clause, stream)) is not END:
        if is_spread(item):
            yield _any_number(interp, frame, clauses, item, element)
        else:
            assign(interp, frame, child(clause, "left"), item)
            yield from _rest(interp, frame, clauses[1:], element)


def _rest(
    interp: Interpreter, frame: Frame, clauses: list[Node], element: Callable[[], Value]
) -> Iterator[Value]:
    """The elements that the clauses after a ``for`` give."""
    for number, clause in enumerate(clauses):
        if clause.type != "if_clause":
            further = interp.evaluate(frame, child(clause, "right"))
            stream = stream_over(interp, frame, clause, further)
            yield from _going_through(interp, frame, clauses[number:], stream, element)
            return
        value = interp.evaluate(frame, named(clause)[0])
        truth = interp.truth(value)
        if truth is False:
            return
        if truth is None:
            because = interp.why(value, frame, clause)
            rest = partial(_all_of_the_rest, interp, frame, clauses[number + 1 :], element)
            yield spread(because, interp.either(frame, clause, (rest, tuple), because))
            return
    yield element()


def _all_of_the_rest(
    interp: Interpreter, frame: Frame, clauses: list[Node], element: Callable[[], Value]
) -> tuple[Value, ...]:
    return tuple(_rest(interp, frame, clauses, element))


def _any_number(
    interp: Interpreter, frame: Frame, clauses: list[Node], item: Unknown, element: Callable[[], Value]
) -> Unknown:
    """What any number of rounds over an undecided item give."""
    made: list[Value] = []

    def run_round() -> None:
        assign(interp, frame, child(clauses[0], "left"), single(item))
        made.extend(_rest(interp, frame, clauses[1:], element))

    any_rounds(interp, frame, clauses[0], item, run_round)
    return spread(item, *made)
