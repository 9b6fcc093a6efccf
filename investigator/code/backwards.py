"""The variables of a function, worked out backwards from a place in it (see ``lazy``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from investigator.code.assignment import part
from investigator.code.conditions import of_if
from investigator.code.frames import Frame
from investigator.code.functions import decorated, make_function
from investigator.code.heap import join_values, spread
from investigator.code.local_bindings import LocalBindings
from investigator.code.matching import is_taken
from investigator.code.syntax import decorators, named, text
from investigator.code.syntax import field as child
from investigator.code.trace import Happening
from investigator.code.values import (
    BoundMethod,
    FunctionValue,
    Instance,
    OneOf,
    Raised,
    Scope,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

Supply = Callable[[str, str], Value]
"""What a parameter holds, by its name and annotation; NotImplemented when not supplied."""
MOST_CONDITIONS = 6
"""How many undecided conditions are weighed against each other at most."""
Way = frozenset[tuple[int, bool]]
"""Undecided conditions under which a statement is reached: where each stands, and its side."""
_LOOPS = ("for_statement", "while_statement")
_HANDLERS = ("except_clause", "except_group_clause")
_SOMETIMES = (
    "list_comprehension",
    "set_comprehension",
    "dictionary_comprehension",
    "generator_expression",
    "lambda",
)
_FIRST = {"boolean_operator": 0, "comparison_operator": 0, "conditional_expression": 1}
"""Expressions of which one part alone is evaluated whatever comes of it: which."""


def nothing(name: str, annotation: str) -> Value:
    """A supply that knows no parameter."""
    return NotImplemented


def _always(node: Node) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True)
class Given:
    """What a question supplies to a function whose variables are worked out on demand.

    ``names``: local variables whose value the question fixes, wherever they are bound.
    ``first_round``: places inside loops are looked at as in the loops' first round.
    ``looking_from``: entered while an expression is evaluated, with where it stands.
    ``known``: what right sides gave, by where they stand, so that each is evaluated once.
    """

    supply: Supply = nothing
    names: Mapping[str, Value] = field(default_factory=dict)
    first_round: bool = False
    looking_from: Callable[[Node], AbstractContextManager[None]] = _always
    known: dict[tuple[int, str], Value] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Weighed:
    """What some of a function's statements give: the join of what those that are reached give.

    ``value``: NotImplemented when none is reached. ``certain``: one of them surely is.
    ``since``: the byte from which on they stand.
    """

    value: Value = NotImplemented
    certain: bool = False
    since: int = 0

    def or_else(self, other: Value, because: Unknown) -> Value:
        """The value, or ``other`` where it is not certain."""
        if self.value is NotImplemented:
            return other
        return self.value if self.certain else join_values(self.value, other, because)


def frame_at(
    interp: Interpreter, function: FunctionValue, receiver: Value, given: Given, position: int
) -> Frame:
    """A frame whose variables are resolved as seen from a byte position of the function."""
    enclosing = None if function.scope is interp.globals_of(function.module) else function.scope
    scope = Scope(function.module, parent=enclosing)
    frame = Frame(scope, function, receiver)
    is_method = function.owner is not None and "staticmethod" not in function.decorators
    local = interp.local_bindings(function)

    def variable(name: str) -> Value:
        if name in given.names:
            return given.names[name]
        if is_method and name == local.first:
            return receiver
        if local.binds(name) and function.module.file.unreadable(function.node):
            return Unknown("text that could not be parsed", function.module.place(function.node))
        if "." in name:
            return _attribute_here(interp, frame, local, name, position)
        if any(_spans(node, position) for node in local.shadowed.get(name, ())):
            return Unknown(f"{name} is a variable of a comprehension", function.module.place(function.node))
        if name in local.events:
            return _variable(interp, frame, local, name, position)
        if name in local.parameters:
            value = _parameter(function, local, given, name)
            return changed_since(interp, frame, name, value, 0, position)
        return NotImplemented

    scope.on_demand = variable
    scope.given = given
    return frame


def _attribute_here(
    interp: Interpreter, frame: Frame, local: LocalBindings, name: str, position: int
) -> Value:
    """``x.a`` where the function itself sets it above the place that asks; NotImplemented where it
    does not, where the question says what ``x`` is, or where ``x`` may be changed under another
    name."""
    given, (owner, _, attribute) = given_of(frame), name.rpartition(".")
    fixed = owner in given.names or given.looking_from is not _always
    if owner == local.first and isinstance(frame.receiver, Instance):
        fixed = fixed or attribute in frame.receiver.attributes
    if name not in local.events or owner in local.aliases or fixed:
        return NotImplemented
    weighed = _bound_above(interp, frame, local, name, position)
    because = Unknown(
        f"{name} is set under an undecided condition", frame.module.place(_function(frame).node)
    )
    if not weighed.certain:
        carried = None if given.first_round else _carried(local.events[name], weighed, position)
        nothing_set = weighed.value is NotImplemented and carried is None
        return NotImplemented if nothing_set else weighed.or_else(because, because)
    return changed_since(interp, frame, name, weighed.value, weighed.since, position)


def _spans(node: Node, position: int) -> bool:
    return node.start_byte <= position < node.end_byte


def _parameter(function: FunctionValue, local: LocalBindings, given: Given, name: str) -> Value:
    value = given.supply(name, local.parameters[name])
    if value is not NotImplemented:
        return value
    return Unknown(f"argument {name} of {function.qualified_name} is not known")


def _bound_above(
    interp: Interpreter, frame: Frame, local: LocalBindings, name: str, position: int
) -> Weighed:
    """What the statements before ``position`` (a byte offset) bind ``name`` to."""
    return weigh(
        interp,
        frame,
        [node for node in local.events[name] if _bound_by(node) <= position],
        lambda there, node: binding(interp, frame, there, node, name, position),
        position=position,
    )


def _variable(interp: Interpreter, frame: Frame, local: LocalBindings, name: str, position: int) -> Value:
    assert frame.function is not None
    place = frame.module.place(frame.function.node)
    weighed = _bound_above(interp, frame, local, name, position)
    if name in local.parameters:
        before = _parameter(frame.function, local, given_of(frame), name)
    else:
        before = Unknown(f"{name} is not assigned on the path taken", place)
    value = weighed.or_else(before, Unknown("assigned under an undecided condition", place))
    later = None if given_of(frame).first_round else _carried(local.events[name], weighed, position)
    if later is not None:
        left = Unknown("an earlier round of a loop may have left it", frame.module.place(later))
        return join_values(value, left, left)
    return changed_since(interp, frame, name, value, weighed.since, position)


def _bound_by(node: Node) -> int:
    """The byte from which on a statement has bound its names."""
    left = child(node, "left") if node.type == "for_statement" else node
    return left.start_byte if node.type == "case_clause" else left.end_byte


def seen_from(interp: Interpreter, frame: Frame, node: Node) -> Frame:
    """The same function, its variables resolved as seen from a statement of it."""
    assert frame.function is not None
    return frame_at(interp, frame.function, frame.receiver, given_of(frame), node.start_byte)


def given_of(frame: Frame) -> Given:
    """What the question supplies; it is the same wherever one looks from."""
    given = frame.scope.given
    assert isinstance(given, Given)
    return given


# -- which of several statements counts ------------------------------------------------


def weigh(
    interp: Interpreter,
    frame: Frame,
    nodes: Sequence[Node],
    value_of: Callable[[Frame, Node], Weighed],
    leaving: Sequence[Node] = (),
    position: int | None = None,
) -> Weighed:
    """What the last of some statements of the frame's function that is reached gives; a join
    when that is undecided.

    ``leaving``: return statements; past one that is reached no statement counts.
    ``position``: the place that asks, which control has come to; None: the function's end.
    """
    value: Value = NotImplemented
    ways: list[Way] = []
    since = 0
    for node in reversed(nodes):
        there = seen_from(interp, frame, node)
        conditions = undecided(interp, there, node, position)
        if conditions is None:
            continue
        exits = _exits_above(interp, frame, leaving, node)
        if exits is None:
            continue
        found = value_of(there, node)
        if found.value is NotImplemented:
            continue
        because = Unknown("assigned under an undecided condition", frame.module.place(node))
        value = found.value if value is NotImplemented else join_values(value, found.value, because)
        since = node.start_byte
        if found.certain:
            ways.append(frozenset({*conditions, *exits}))
            if _covered(ways):
                return Weighed(value, True, since)
    return Weighed(value, False, since)


def _covered(ways: list[Way]) -> bool:
    """Whether one of the statements is reached however the undecided conditions turn out."""
    conditions = sorted({condition for way in ways for condition, _ in way})
    return len(conditions) <= MOST_CONDITIONS and all(
        any(way <= set(zip(conditions, sides, strict=True)) for way in ways)
        for sides in product((True, False), repeat=len(conditions))
    )


def _exits_above(interp: Interpreter, frame: Frame, leaving: Sequence[Node], node: Node) -> Way | None:
    """The undecided returns above a statement, each not taken; None when one surely is."""
    exits = set()
    for exit_ in leaving:
        if exit_.end_byte <= node.start_byte:
            conditions = undecided(interp, seen_from(interp, frame, exit_), exit_)
            if conditions is not None and not conditions:
                return None
            if conditions:
                (at, side) = next(iter(conditions)) if len(conditions) == 1 else (exit_.start_byte, True)
                exits.add((at, not side))
    return frozenset(exits)


def undecided(interp: Interpreter, frame: Frame, node: Node, position: int | None = None) -> Way | None:
    """The conditions around a node that are not decided, with the side it stands on; None when
    one of the others does not hold. A handler's is never decided.

    ``position``: a place that control has come to: what stands around it too holds.
    """
    around: list[tuple[Node, bool]] = []
    current = node
    while current.parent is not None and current.type not in ("function_definition", "lambda"):
        parent = current.parent
        if position is not None and _spans(current, position):
            pass
        elif parent.type in ("if_statement", "elif_clause"):
            around.extend(reversed(list(of_if(parent, current))))
        elif parent.type in (*_HANDLERS, "case_clause"):
            around.append((parent, True))
        current = parent
    found = set()
    # Outermost first: an inner condition may make sense only where the outer ones hold.
    for condition, wanted in reversed(around):
        if not wanted and _ends_in_raise(condition):
            continue  # whoever comes further did not raise there, as where the raise stands above
        truth = None if condition.type in _HANDLERS else _truth_of(interp, frame, condition)
        if truth is None:
            found.add((condition.start_byte, wanted))
        elif truth is not wanted:
            return None
    return frozenset(found)


def _ends_in_raise(condition: Node) -> bool:
    """Whether what stands under the condition of an ``if`` ends in a ``raise``."""
    body = condition.parent.child_by_field_name("consequence") if condition.parent is not None else None
    inside = named(body) if body is not None else []
    return bool(inside) and inside[-1].type == "raise_statement"


def _truth_of(interp: Interpreter, frame: Frame, condition: Node) -> bool | None:
    with given_of(frame).looking_from(condition):
        if condition.type == "case_clause":
            return is_taken(interp, seen_from(interp, frame, condition), condition)
        return interp.truth(interp.evaluate(seen_from(interp, frame, condition), condition))


# -- what one statement binds ----------------------------------------------------------


def binding(
    interp: Interpreter, frame: Frame, there: Frame, node: Node, name: str, position: int | None
) -> Weighed:
    """What a statement binds a name (as written) to, seen from ``position`` (None: the end)."""
    known = given_of(frame).known
    key = (node.start_byte, name)
    place = frame.module.place(node)
    value: Value
    if any(position is None or loop.end_byte <= position for loop in loops_around(node)):
        value = Unknown("assigned in a loop", place)
    elif key in known:
        value = known[key]
    else:
        value = _bound(interp, frame, there, node, name)
        known[key] = value
        interp.note(Happening.BIND, name, value, there, node)
    return Weighed(value, True, node.start_byte)


def _bound(interp: Interpreter, frame: Frame, there: Frame, node: Node, name: str) -> Value:
    place = frame.module.place(node)
    match node.type:
        case "assignment":
            right = child(node, "right")
            while right.type == "assignment":
                right = child(right, "right")
            with given_of(frame).looking_from(node):
                value = part(interp, there, child(node, "left"), name, interp.evaluate(there, right))
                return value if value is not NotImplemented else Unknown(f"a part of what {name} is", place)
        case "named_expression" if _is_always_evaluated(node):
            with given_of(frame).looking_from(node):
                return interp.evaluate(there, child(node, "value"))
        case "augmented_assignment":
            return Unknown("changed by an augmented assignment", place)
        case "import_statement" | "import_from_statement":
            found = interp.local_bindings(_function(frame)).imported[name]
            return interp.import_value(*next(origin for each, origin in found if each == node))
        case "function_definition" if name == text(child(node, "name")):
            made = make_function(interp, frame, name, node, tuple(decorators(node)))
            return decorated(interp, frame.scope, node, made)
        case "class_definition":
            cls = interp.class_value(node, frame.scope, tuple(decorators(node)))
            return decorated(interp, frame.scope, node, cls)
        case _:
            return Unknown(f"{name} is bound by a loop, a context or an inner function", place)


def _is_always_evaluated(node: Node) -> bool:
    """Whether the statement that an expression stands in evaluates it whatever its other parts come to."""
    current = node
    while current.parent is not None and not current.parent.type.endswith("_statement"):
        parent = current.parent
        if parent.type in _SOMETIMES or (
            parent.type in _FIRST and named(parent)[_FIRST[parent.type]] != current
        ):
            return False
        current = parent
    return True


def _function(frame: Frame) -> FunctionValue:
    assert frame.function is not None
    return frame.function


def loops_around(node: Node) -> Iterator[Node]:
    """The loops of the same function around a node, innermost first."""
    current = node.parent
    while current is not None and current.type not in ("function_definition", "lambda"):
        if current.type in _LOOPS:
            yield current
        current = current.parent


def _carried(events: Sequence[Node], weighed: Weighed, position: int) -> Node | None:
    """A statement below the place that asks whose value the next round of a loop brings there,
    past the statement that was found decisive."""
    for node in events:
        if _bound_by(node) <= position:
            continue
        shared = next((loop for loop in loops_around(node) if _spans(loop, position)), None)
        if shared is not None and not (weighed.certain and weighed.since > shared.start_byte):
            return node
    return None


# -- what changes the object since ------------------------------------------------------


def changed_since(
    interp: Interpreter, frame: Frame, name: str, value: Value, since: int, position: int
) -> Value:
    """The value of a name after what changes its object between two places."""
    if not _can_change(value):
        return value
    for node in _changes(interp, frame, name, since, position):
        attribute = _attribute_set(node, name)
        if isinstance(value, Instance):
            if attribute is not None:
                # Where the object is seen from does not tell when the attribute was set.
                value.attributes[attribute] = Unknown(
                    "set after the object was made", frame.module.place(node)
                )
            continue
        if attribute is None and _reaches(interp, frame, node, name):
            because = Unknown(f"{name} is changed after it is assigned", frame.module.place(node))
            return _loosened(value, because)
    return value


def _can_change(value: Value) -> bool:
    if isinstance(value, OneOf):
        return any(map(_can_change, value.options))
    if isinstance(value, Instance):
        return value.label is None
    return isinstance(value, (list, dict, set))


def _loosened(value: Value, because: Unknown) -> Value:
    if isinstance(value, list):
        return [spread(because, *value)]
    if isinstance(value, dict):
        made: dict[Any, Any] = {spread(because, *value, *value.values()): because}
        return made
    return {spread(because, *value)} if isinstance(value, set) else because


def _changes(interp: Interpreter, frame: Frame, name: str, since: int, position: int) -> Iterator[Node]:
    local = interp.local_bindings(_function(frame))
    seen: set[str] = set()
    stack = [name]
    while stack:
        alias = stack.pop()
        if alias in seen:
            continue
        seen.add(alias)
        stack.extend(local.aliases.get(alias, ()))
        for node in local.changed.get(alias, ()):
            again = any(_spans(loop, position) for loop in loops_around(node))
            if node.start_byte > since and (
                node.end_byte <= position or (again and not _spans(node, position))
            ):
                yield node


def _attribute_set(node: Node, name: str) -> str | None:
    """``a`` for a statement that sets (or deletes) ``name.a``."""
    left = node.child_by_field_name("left")
    if left is None or left.type != "attribute":
        return None
    return text(child(left, "attribute"))


def _reaches(interp: Interpreter, frame: Frame, node: Node, name: str) -> bool:
    """Whether a statement that may change the object is reached, and is not a call that is taken
    to leave alone what it is handed."""
    there = seen_from(interp, frame, node)
    if undecided(interp, there, node) is None:
        return False
    if node.type != "call":
        return True
    function = child(node, "function")
    if function.type == "attribute" and text(child(function, "object")) == name:
        return True
    if function.type not in ("identifier", "attribute"):
        return True
    try:
        callee = interp.evaluate(there, function)
    except Raised:
        return False
    entered = callee.function if isinstance(callee, BoundMethod) else callee
    return isinstance(entered, FunctionValue) and entered.module.path == frame.module.path
