"""Values worked out backwards, on demand, instead of by running a whole function.

A model of an inference engine is built by an ``__init__`` that makes hundreds of layers, and
a runner loads it in a method of hundreds of statements. To know which class
``self.language_model`` is, or what ``set_aux_hidden_state_layers(x)`` is handed, only a few
assignments matter. So a name that is asked for is looked up among the assignments to it
*above* the place that asks, the conditions around each are decided, and only the right side
that counts is evaluated; the names on that side are resolved the same way. Places only move
upwards, so this ends. A name bound by a ``for``, a ``with`` or an augmented assignment is
unknown, and so is one whose value an earlier round of a loop may have left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes
from investigator.code.assignment import part
from investigator.code.frames import Frame
from investigator.code.heap import join_values
from investigator.code.syntax import descendants, named, text
from investigator.code.syntax import field as child
from investigator.code.trace import Happening
from investigator.code.values import ABSENT as ABSENT
from investigator.code.values import (
    Builtin,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    Scope,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

MODULE_ATTRIBUTES = frozenset(
    [
        "training",
        "forward",
        "parameters",
        "named_parameters",
        "buffers",
        "named_buffers",
        "children",
        "named_children",
        "modules",
        "named_modules",
        "add_module",
        "register_module",
        "register_parameter",
        "register_buffer",
        "get_submodule",
        "get_parameter",
        "get_buffer",
        "apply",
        "cuda",
        "cpu",
        "type",
        "float",
        "double",
        "half",
        "bfloat16",
        "to",
        "to_empty",
        "state_dict",
        "load_state_dict",
        "train",
        "eval",
        "requires_grad_",
        "zero_grad",
        "share_memory",
        "extra_repr",
        "compile",
        "set_submodule",
    ]
)
"""The public names of ``torch.nn.Module`` (torch 2.11, ``torch/nn/modules/module.py``)."""
_KNOWN_BASES = ("torch.nn.Module", "torch.nn.modules.module.Module")

Supply = Callable[[str, str], Value]
"""What a parameter holds, by its name and annotation; NotImplemented when not supplied."""


def nothing(name: str, annotation: str) -> Value:
    """A supply that knows no parameter."""
    return NotImplemented


@dataclass(frozen=True)
class Given:
    """What a question supplies to a function whose variables are worked out on demand.

    ``names``: local variables whose value the question fixes, wherever they are bound.
    ``first_round``: places inside loops are looked at as in the loops' first round.
    """

    supply: Supply = nothing
    names: Mapping[str, Value] = field(default_factory=dict)
    first_round: bool = False


def instance(interp: Interpreter, cls: ClassValue, supply: Supply, label: str | None = None) -> Instance:
    """An instance of ``cls`` whose attributes are worked out from the ``__init__`` methods
    along its resolution order, one by one, when they are asked for."""
    made = Instance(cls, {}, complete=False, label=label)
    pending: dict[str, Node | None] = {}
    """The attributes being worked out, each with the assignment that is looked at."""

    def attribute(name: str) -> Value:
        within = pending.get(name)
        if name in pending and within is None:
            return NotImplemented
        known = name in pending

        def looking_at(node: Node) -> None:
            # An assignment that mentions its own target means what was there before.
            pending[name] = node
            made.attributes.pop(name, None)

        pending[name] = within
        try:
            value = _attribute(interp, made, supply, name, within, looking_at)
            return _absent_or_open(interp, cls, name) if value is NotImplemented and not known else value
        finally:
            if known:
                pending[name] = within
            else:
                del pending[name]

    made.made_by = attribute
    return made


def _absent_or_open(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """ABSENT when no method of the class assigns the attribute and no base can have it."""

    for base in classes.mro(interp, cls):
        if isinstance(base, ClassValue):
            if name in interp.assigned_attributes(base):
                return NotImplemented
        elif isinstance(base, External):
            if base.dotted in _KNOWN_BASES:
                if name in MODULE_ATTRIBUTES or name.startswith("__"):
                    return NotImplemented
            elif not base.dotted.startswith(("typing", "abc.")):
                return NotImplemented
        elif not isinstance(base, Builtin):
            return NotImplemented
    return ABSENT


def bound(interp: Interpreter, cls: ClassValue, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Supply:
    """What ``cls(*args, **kwargs)`` supplies to the parameters of its ``__init__``."""

    initialiser = classes.class_attribute(interp, cls, "__init__")
    given = dict(kwargs)
    defaults: dict[str, Node] = {}
    if isinstance(initialiser, FunctionValue):
        local = interp.local_bindings(initialiser)
        given.update(zip(list(local.parameters)[1:], args, strict=False))
        defaults = local.defaults

    def supply(name: str, annotation: str) -> Value:
        if name not in given and name in defaults:
            given[name] = interp.evaluate(Frame(initialiser.scope), defaults[name])
        return given.get(name, NotImplemented)

    return supply


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
    return interp.evaluate(_frame(interp, function, receiver, given, node.start_byte), node)


def run_at(
    interp: Interpreter, function: FunctionValue, statement: Node, receiver: Value, supply: Supply = nothing
) -> None:
    """Run one statement of a function, the variables above it worked out on demand.

    For what assignments alone do not decide: a ``try`` whose handlers assign too. Raises
    Raised or BudgetSpent.
    """

    interp.execute(_frame(interp, function, receiver, Given(supply), statement.start_byte), statement)


def returned(interp: Interpreter, function: FunctionValue, supply: Supply = nothing) -> Value:
    """What a function returns, worked out on demand: the last of its returns that is reached."""

    body = child(function.node, "body")
    if function.node.type == "lambda":
        return interp.evaluate(_frame(interp, function, None, Given(supply), body.end_byte), body)
    for node in reversed(list(descendants(body, "return_statement"))):
        if named(node) and reached(interp, function, node, None, supply) is not False:
            return value_at(interp, function, named(node)[0], None, supply)
    return Unknown(f"what {function.qualified_name} returns")


def reached(
    interp: Interpreter, function: FunctionValue, node: Node, receiver: Value, supply: Supply = nothing
) -> bool | None:
    """Whether control reaches a node, by the ``if`` statements around it; None when undecided."""
    return _conditions_hold(interp, _frame(interp, function, receiver, Given(supply), node.start_byte), node)


def _attribute(
    interp: Interpreter,
    made: Instance,
    supply: Supply,
    name: str,
    within: Node | None,
    looking_at: Callable[[Node], None],
) -> Value:
    """``made.name``, as left by the last assignment to it, or by the last one above ``within``."""

    assert made.cls is not None
    for base in classes.mro(interp, made.cls):
        if not isinstance(base, ClassValue):
            continue
        initialiser = classes.own_attribute(interp, base, "__init__")
        if not isinstance(initialiser, FunctionValue):
            continue
        local = interp.local_bindings(initialiser)
        target = f"{local.first}.{name}"
        binders = local.assigned.get(target, [])
        if within is not None:
            if within not in binders:
                supply = _handed_up(interp, initialiser, made, supply)
                continue
            binders = [node for node in binders if node.start_byte < within.start_byte]
            within = None
        if binders:
            frame = _frame(interp, initialiser, made, Given(supply), initialiser.node.end_byte)
            return _choose(interp, frame, binders, target, looking_at=looking_at)
        supply = _handed_up(interp, initialiser, made, supply)
    return NotImplemented


def _handed_up(interp: Interpreter, initialiser: FunctionValue, made: Instance, supply: Supply) -> Supply:
    """What the next ``__init__`` along the order is supplied with: what this one's
    ``super().__init__(...)`` hands it by name, else the same."""
    handed: dict[str, Node] = {}
    for call in descendants(child(initialiser.node, "body"), "call"):
        if text(child(call, "function")).replace(" ", "") == "super().__init__":
            for argument in named(child(call, "arguments")):
                if argument.type == "keyword_argument":
                    handed[text(child(argument, "name"))] = child(argument, "value")
    if not handed:
        return supply

    def next_supply(name: str, annotation: str) -> Value:
        if name in handed:
            return value_at(interp, initialiser, handed[name], made, supply)
        return supply(name, annotation)

    return next_supply


def _frame(
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
        binders = [node for node in local.assigned.get(name, ()) if node.start_byte < position]
        if binders:
            return _choose(interp, frame, binders, name, position)
        if name in local.imported:
            return _imported(interp, frame, local.imported[name])
        if name in local.functions:
            return FunctionValue(name, local.functions[name], scope)
        if name in local.otherwise:
            return Unknown(f"{name} is bound by a loop or a context", function.module.place(function.node))
        if name in local.parameters:
            value = given.supply(name, local.parameters[name])
            if value is not NotImplemented:
                return value
            return Unknown(f"argument {name} of {function.qualified_name} is not known")
        return NotImplemented

    scope.on_demand = variable
    scope.given = given
    return frame


def _imported(interp: Interpreter, frame: Frame, found: list[tuple[Node, tuple[str, str | None]]]) -> Value:
    """What the last import of a name that is reached binds; a join when that is undecided."""
    value: Value = NotImplemented
    for node, origin in reversed(found):
        holds = _conditions_hold(interp, _seen_from(interp, frame, node), node) if len(found) > 1 else True
        if holds is False:
            continue
        imported = interp.import_value(*origin)
        because = Unknown("imported under an undecided condition", frame.module.place(node))
        value = imported if value is NotImplemented else join_values(value, imported, because)
        if holds is True:
            return value
    return interp.import_value(*found[0][1]) if value is NotImplemented else value


def _choose(
    interp: Interpreter,
    frame: Frame,
    binders: list[Node],
    name: str,
    position: int | None = None,
    looking_at: Callable[[Node], None] | None = None,
) -> Value:
    """What the last assignment that is reached gives; a join when that is undecided.

    ``position``: the byte that asks; None: the function's end. ``looking_at`` is told of each
    assignment before it is looked at.
    """
    value: Value = NotImplemented
    ways: list[Ways] = []
    for node in reversed(binders):
        function = frame.function
        assert function is not None
        if looking_at is not None:
            looking_at(node)
        there = _seen_from(interp, frame, node)
        undecided = _undecided(interp, there, node)
        if undecided is None:
            continue
        ways.append({(condition.start_byte, wanted) for condition, wanted in undecided})
        found = _bound_value(interp, there, node, name, position)
        interp.note(Happening.BIND, name, found, there, node)
        because = Unknown("assigned under an undecided condition", frame.module.place(node))
        value = found if value is NotImplemented else join_values(value, found, because)
        if _covered(ways):
            later = None if _given(frame).first_round else _carried(interp, frame, name, node, position)
            if later is None:
                return value
            left = Unknown("an earlier round of a loop may have left it", frame.module.place(later))
            return join_values(value, left, left)
    if value is NotImplemented:
        return Unknown("not assigned on the path taken", frame.module.place(binders[0]))
    return join_values(
        value,
        Unknown("may not be assigned", frame.module.place(binders[0])),
        Unknown("assigned under an undecided condition", frame.module.place(binders[0])),
    )


MOST_CONDITIONS = 6
"""How many undecided conditions are weighed against each other at most."""
Ways = set[tuple[int, bool]]
"""Undecided conditions under which an assignment is reached: where each stands, and its side."""


def _covered(ways: list[Ways]) -> bool:
    """Whether one of the assignments is reached however the undecided conditions turn out."""
    conditions = sorted({condition for way in ways for condition, _ in way})
    return len(conditions) <= MOST_CONDITIONS and all(
        any(way <= set(zip(conditions, sides, strict=True)) for way in ways)
        for sides in product((True, False), repeat=len(conditions))
    )


def _carried(
    interp: Interpreter, frame: Frame, name: str, decisive: Node, position: int | None
) -> Node | None:
    """An assignment below the place that asks whose value the next round of a loop brings there,
    past the assignment that was found decisive."""
    if position is None or frame.function is None:
        return None
    for node in interp.local_bindings(frame.function).assigned.get(name, ()):
        if node.start_byte < position:
            continue
        shared = next((loop for loop in _loops(node) if loop.start_byte < position), None)
        if shared is not None and decisive.start_byte < shared.start_byte:
            return node
    return None


def _seen_from(interp: Interpreter, frame: Frame, node: Node) -> Frame:
    """The same function, its variables resolved as seen from an earlier statement."""
    function = frame.function
    assert function is not None
    return _frame(interp, function, frame.receiver, _given(frame), node.start_byte)


def _given(frame: Frame) -> Given:
    """What the question supplies; it is the same wherever one looks from."""
    given = frame.scope.given
    assert isinstance(given, Given)
    return given


def _bound_value(interp: Interpreter, frame: Frame, node: Node, name: str, position: int | None) -> Value:

    if node.type == "augmented_assignment":
        return Unknown("changed by an augmented assignment", frame.module.place(node))
    if any(position is None or loop.end_byte <= position for loop in _loops(node)):
        return Unknown("assigned in a loop", frame.module.place(node))
    right = child(node, "right")
    while right.type == "assignment":
        right = child(right, "right")
    value = interp.evaluate(frame, right)
    return part(interp, frame, child(node, "left"), name, value)


def _loops(node: Node) -> Iterator[Node]:
    """The loops of the same function around a node, innermost first."""
    current = node.parent
    while current is not None and current.type != "function_definition":
        if current.type in ("for_statement", "while_statement"):
            yield current
        current = current.parent


def _conditions_hold(interp: Interpreter, frame: Frame, node: Node) -> bool | None:
    """Whether control reaches the node, by the ``if`` statements around it alone."""
    undecided = _undecided(interp, frame, node)
    return False if undecided is None else (None if undecided else True)


def _undecided(interp: Interpreter, frame: Frame, node: Node) -> list[tuple[Node, bool]] | None:
    """The conditions around a node that are not decided, with the side it stands on; None when
    one of the others does not hold."""
    around: list[tuple[Node, bool]] = []
    current = node
    while current.parent is not None and current.type != "function_definition":
        parent = current.parent
        if parent.type in ("if_statement", "elif_clause"):
            around.extend(reversed(list(_conditions(parent, current))))
        current = parent
    undecided = []
    # Outermost first: an inner condition may make sense only where the outer ones hold.
    for condition, wanted in reversed(around):
        truth = _truth_of(interp, frame, condition)
        if truth is None:
            undecided.append((condition, wanted))
        elif truth is not wanted:
            return None
    return undecided


def _conditions(parent: Node, current: Node) -> Iterator[tuple[Node, bool]]:
    """The conditions between an ``if`` (or ``elif``) and one of its parts, and their sides."""
    if current == parent.child_by_field_name("consequence"):
        yield child(parent, "condition"), True
    elif parent.type == "if_statement" and current in parent.children_by_field_name("alternative"):
        yield child(parent, "condition"), False
        for earlier in parent.children_by_field_name("alternative"):
            if earlier == current:
                break
            if earlier.type == "elif_clause":
                yield child(earlier, "condition"), False


def _truth_of(interp: Interpreter, frame: Frame, condition: Node) -> bool | None:

    return interp.truth(interp.evaluate(_seen_from(interp, frame, condition), condition))
