"""What code that is not followed may have changed.

An unknown value knows the objects that it may be (``hides``); what is done to it may have
been done to any of them. A callee of the tree that is left alone may have changed the lists,
dicts, sets and objects it was handed; what they hold afterwards names that callee, so that a
question which rests on it asks again with the callee followed. A callee from outside the
tree is taken to leave its arguments alone (``docs/interpreter.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.frames import Frame
from investigator.code.heap import Container, join_values, lost, roots, spread
from investigator.code.streams import go_astray
from investigator.code.values import (
    ABSENT,
    ClassValue,
    FunctionValue,
    Instance,
    Scope,
    Stream,
    TracedDict,
    TracedList,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def loosen(interp: Interpreter, container: Container, because: Unknown, *added: Value) -> None:
    """Whatever the container held, it may hold anything (of it, and of what was added) now."""
    if isinstance(container, dict):
        everything = [*container, *container.values(), *added]
        value = Unknown(because.reason, because.place, because.not_followed, hides=roots(*everything))
        interp.journal.change(container, {spread(because, *everything): value})
    elif isinstance(container, list):
        interp.journal.change(container, [spread(because, *container, *added)])
    else:
        interp.journal.change(container, {spread(because, *container, *added)})


def through_unknown(
    interp: Interpreter, frame: Frame, node: Node, callee: Unknown, handed: Iterable[Value]
) -> Unknown:
    """A call of something unknown: it may be a function, or a method of any object, that
    ``callee`` hides."""
    added = tuple(handed)
    take_items(interp, added)
    parts: list[Value] = []
    for hidden in callee.hides:
        interp.charge(frame, node, _parts(hidden) * (1 + len(callee.hides)))
        if isinstance(hidden, FunctionValue):
            may_have_run(interp, hidden, callee, *added)
        elif isinstance(hidden, ClassValue):
            left_alone(interp, callee, added)
        elif isinstance(hidden, Stream):
            go_astray(interp, hidden)
        elif isinstance(hidden, Instance):
            unsettle(interp, hidden, callee, *added)
        else:
            parts.extend((*hidden, *hidden.values()) if isinstance(hidden, dict) else hidden)
            loosen(interp, hidden, callee, *added)
    return lost(callee, *parts) if parts else callee


def _parts(hidden: Value) -> int:
    """How many values an object holds that somebody else may have changed."""
    if isinstance(hidden, FunctionValue):
        return sum(len(scope.variables) for scope in _closed_over(hidden.scope))
    if isinstance(hidden, Instance):
        return len(hidden.attributes)
    return len(hidden) if isinstance(hidden, (list, dict, set)) else 1


def _closed_over(inner: Scope) -> Iterator[Scope]:
    """The scopes that code sees whose variables are a call's own, innermost first."""
    scope: Scope | None = inner
    while scope is not None and (scope.body is not None or scope.is_comprehension):
        yield scope
        scope = scope.parent


def may_have_run(interp: Interpreter, function: FunctionValue, because: Unknown, *added: Value) -> None:
    """A function that may have been called may have changed what it closes over, and what it was
    handed."""
    left_alone(interp, because, added)
    may_have_run_in(interp, function.scope, because, *added)


def may_have_run_in(interp: Interpreter, inner: Scope, because: Unknown, *added: Value) -> None:
    """Code that sees these variables may have run: they, and what they hold, may be changed."""
    for scope in _closed_over(inner):
        values = {n: join_values(v, lost(because, v, *added), because) for n, v in scope.variables.items()}
        interp.journal.change(scope.variables, values)
        left_alone(interp, because, scope.variables.values())


def unsettle(interp: Interpreter, hidden: Instance, because: Unknown, *added: Value) -> None:
    """Any attribute of the object may hold something else now."""
    changed = {
        name: join_values(value, lost(because, value, *added), because)
        for name, value in hidden.attributes.items()
    }
    interp.journal.change(hidden.attributes, changed)


def left_alone(interp: Interpreter, because: Unknown, handed: Iterable[Value]) -> None:
    """A callee of the tree was not followed: what it was handed may have been changed by it."""
    handed = tuple(handed)
    take_items(interp, handed)
    for value in handed:
        if isinstance(value, (list, dict, set)) and not isinstance(value, (TracedDict, TracedList)):
            loosen(interp, value, because)
        elif isinstance(value, Instance) and value.label is None and value.made_by is None:
            unsettle(interp, value, because)


def set_on_unknown(interp: Interpreter, owner: Unknown, name: str, value: Value) -> None:
    """``owner.name = value`` for an unknown owner: each object that it may be may have it now."""
    interp.charged += len(owner.hides)
    for hidden in owner.hides:
        if isinstance(hidden, Instance):
            old = hidden.attributes.get(name, NotImplemented)
            joined = lost(owner, value) if old is NotImplemented else join_values(old, value, owner)
            interp.journal.touch(hidden.attributes, name)
            hidden.attributes[name] = joined
        elif isinstance(hidden, ClassValue):
            interp.journal.touch(hidden.assigned, name)
            old = hidden.assigned.get(name, ABSENT)
            hidden.assigned[name] = join_values(old, join_values(value, ABSENT, owner), owner)


def change_unknown(interp: Interpreter, owner: Unknown, *added: Value) -> None:
    """``owner[...] = added`` and the like: each container that it may be may be changed."""
    take_items(interp, added)
    for hidden in owner.hides:
        interp.charged += _parts(hidden) + len(owner.hides)
        if isinstance(hidden, (list, dict, set)):
            loosen(interp, hidden, owner, *added)


def take_items(interp: Interpreter, handed: Iterable[Value]) -> None:
    """Somebody who is not followed was handed these: of an iterator among them any number of items
    may have been taken."""
    for value in handed:
        if isinstance(value, Stream):
            go_astray(interp, value)
