"""Values worked out backwards, on demand, instead of by running a whole function.

A model of an inference engine is built by an ``__init__`` that makes hundreds of layers, and
a runner loads it in a method of hundreds of statements. To know which class
``self.language_model`` is, or what ``set_aux_hidden_state_layers(x)`` is handed, only a few
assignments matter. So a name that is asked for is looked up among what binds it *above* the
place that asks, the conditions around each are decided, and only the right side that counts
is evaluated; the names on that side are resolved the same way. Places only move upwards, so
this ends. A name bound by a ``for``, a ``with`` or an augmented assignment is unknown, and so
is one whose value an earlier round of a loop may have left, or whose list, dict or set is
changed between the assignment and the place that asks.

What is taken for granted: a ``try`` comes to its end; a call leaves alone what it is handed,
unless it is of a function of the same file (see ``docs/interpreter.md``).

``backwards`` does this for the variables of a function, ``making`` for the attributes of an
object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.acting import Acting, handed_over, reachable, supply_through
from investigator.code.backwards import Given, Supply, Weighed, frame_at, nothing, seen_from, undecided, weigh
from investigator.code.making import bound, instance
from investigator.code.syntax import field as child
from investigator.code.syntax import named
from investigator.code.values import ABSENT, FunctionValue, Instance, Unknown, Value

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

__all__ = [
    "ABSENT",
    "Acting",
    "Given",
    "Supply",
    "bound",
    "handed_over",
    "instance",
    "nothing",
    "reachable",
    "reached",
    "reached_through",
    "returned",
    "run_at",
    "supply_through",
    "value_at",
    "with_defaults",
]


def with_defaults(interp: Interpreter, function: FunctionValue, supply: Supply) -> Supply:
    """The supply, and the function's own default for a parameter that it does not know."""
    defaults = interp.local_bindings(function).defaults

    def supplied(name: str, annotation: str) -> Value:
        value = supply(name, annotation)
        if value is NotImplemented and name in defaults:
            return value_at(interp, function, defaults[name], None)
        return value

    return supplied


def value_at(
    interp: Interpreter,
    function: FunctionValue,
    node: Node,
    receiver: Value,
    supply: Supply = nothing,
    *,
    names: Mapping[str, Value] | None = None,
    first_round: bool = False,
) -> Value:
    """The value of an expression inside a function, as far as the assignments above it decide.

    ``names`` and ``first_round`` as in :class:`Given`.
    """
    given = Given(supply, names or {}, first_round)
    return interp.evaluate(frame_at(interp, function, receiver, given, node.start_byte), node)


def run_at(
    interp: Interpreter, function: FunctionValue, statement: Node, receiver: Value, supply: Supply = nothing
) -> None:
    """Run one statement of a function, the variables above it worked out on demand.

    For what assignments alone do not decide: a ``try`` whose handlers assign too. Raises
    Raised or BudgetSpent.
    """
    interp.execute(frame_at(interp, function, receiver, Given(supply), statement.start_byte), statement)


def returned(interp: Interpreter, function: FunctionValue, supply: Supply = nothing) -> Value:
    """What a function returns, worked out on demand: the first of its returns that is reached; a
    join where that is not decided."""
    body = child(function.node, "body")
    frame = frame_at(interp, function, None, Given(supply), body.end_byte)
    if function.node.type == "lambda":
        return interp.evaluate(frame, body)
    local = interp.local_bindings(function)

    def value_of(there: object, node: Node) -> Weighed:
        parts = named(node)
        return Weighed(interp.evaluate(seen_from(interp, frame, node), parts[0]) if parts else None, True)

    weighed = weigh(interp, frame, local.returns, value_of, local.returns)
    because = Unknown(f"what {function.qualified_name} returns", function.module.place(function.node))
    return weighed.or_else(None, because)


def reached(
    interp: Interpreter,
    function: FunctionValue,
    node: Node,
    receiver: Value,
    supply: Supply = nothing,
    *,
    names: Mapping[str, Value] | None = None,
) -> bool | None:
    """Whether control reaches a node, by the ``if`` statements around it; None when undecided."""
    frame = frame_at(interp, function, receiver, Given(supply, names or {}), node.start_byte)
    conditions = undecided(interp, frame, node)
    return False if conditions is None else (None if conditions else True)


def reached_through(
    interp: Interpreter, acting: Acting, node: Node, owner: Instance, supply: Supply = nothing
) -> bool | None:
    """As :func:`reached`, for a function with an object in hand: the call that runs it is reached, too."""
    truth: bool | None = True
    at: Node | None = node
    by: Acting | None = acting
    while by is not None and at is not None:
        handed = supply_through(interp, by, owner, supply)
        here = reached(interp, by.function, at, owner, handed, names={by.name: owner})
        if here is False:
            return False
        truth = truth if here else None
        at, by = by.call, by.caller
    return truth
