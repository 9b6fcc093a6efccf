"""Values worked out backwards, on demand, instead of by running a whole function.

A model of an inference engine is built by an ``__init__`` that makes hundreds of layers, and
a runner loads it in a method of hundreds of statements. To know which class
``self.language_model`` is, or what ``set_aux_hidden_state_layers(x)`` is handed, only a few
assignments matter. So a name that is asked for is looked up among the assignments to it
*above* the place that asks, the conditions around each are decided, and only the right side
that counts is evaluated; the names on that side are resolved the same way. Places only move
upwards, so this ends. A name bound by a loop, a ``with`` or an augmented assignment is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.heap import join_values
from investigator.code.program import imports
from investigator.code.syntax import descendants, named, text
from investigator.code.syntax import field as child
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
    from investigator.code.interpreter import Frame, Interpreter

ABSENT = object()
"""What an object's ``made_by`` gives for an attribute that surely does not exist."""
MODULE_ATTRIBUTES = frozenset(
    ["training", "forward", "parameters", "named_parameters", "buffers", "named_buffers", "children", "named_children", "modules", "named_modules", "add_module", "register_module", "register_parameter", "register_buffer", "get_submodule", "get_parameter", "get_buffer", "apply", "cuda", "cpu", "type", "float", "double", "half", "bfloat16", "to", "to_empty", "state_dict", "load_state_dict", "train", "eval", "requires_grad_", "zero_grad", "share_memory", "extra_repr", "compile", "set_submodule"]
)
"""The public names of ``torch.nn.Module`` (torch 2.11, ``torch/nn/modules/module.py``)."""
_KNOWN_BASES = ("torch.nn.Module", "torch.nn.modules.module.Module")

Supply = Callable[[str, str], Value]
"""What a parameter holds, by its name and annotation; NotImplemented when not supplied."""


def nothing(name: str, annotation: str) -> Value:
    """A supply that knows no parameter."""
    return NotImplemented


def instance(interp: Interpreter, cls: ClassValue, supply: Supply, label: str | None = None) -> Instance:
    """An instance of ``cls`` whose attributes are worked out from the ``__init__`` methods
    along its resolution order, one by one, when they are asked for."""
    made = Instance(cls, {}, complete=False, label=label)
    pending: set[str] = set()

    def attribute(name: str) -> Value:
        if name in pending:
            return NotImplemented
        pending.add(name)
        try:
            value = _attribute(interp, made, supply, name)
            return _absent_or_open(interp, cls, name) if value is NotImplemented else value
        finally:
            pending.discard(name)

    made.made_by = attribute
    return made


def _absent_or_open(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """ABSENT when no method of the class assigns the attribute and no base can have it."""
    from investigator.code import classes

    for base in classes.mro(interp, cls):
        if isinstance(base, ClassValue):
            if any(
                field_name == name
                for node in descendants(base.node, "attribute")
                for field_name in [text(child(node, "attribute"))]
                if node.parent is not None and node == node.parent.child_by_field_name("left")
            ):
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
    from investigator.code import classes

    initialiser = classes.class_attribute(interp, cls, "__init__")
    given = dict(kwargs)
    defaults: dict[str, Node] = {}
    if isinstance(initialiser, FunctionValue):
        names = [name for name, _ in parameters_of(initialiser.node)][1:]
        given.update(zip(names, args, strict=False))
        defaults = _defaults(initialiser.node)

    def supply(name: str, annotation: str) -> Value:  # noqa: ARG001
        if name not in given and name in defaults:
            from investigator.code.expressions import evaluate
            from investigator.code.interpreter import Frame

            given[name] = evaluate(interp, Frame(initialiser.scope), defaults[name])
        return given.get(name, NotImplemented)

    return supply


def _defaults(function: Node) -> dict[str, Node]:
    found = {}
    for parameter in named(child(function, "parameters")):
        value, name = parameter.child_by_field_name("value"), parameter.child_by_field_name("name")
        if value is not None and name is not None:
            found[text(name)] = value
    return found


def value_at(
    interp: Interpreter, function: FunctionValue, node: Node, receiver: Value, supply: Supply = nothing
) -> Value:
    """The value of an expression inside a function, as far as the assignments above it decide."""
    from investigator.code.expressions import evaluate

    frame = _frame(interp, function, receiver, supply, node.start_byte)
    return evaluate(interp, frame, node)


def returned(interp: Interpreter, function: FunctionValue, supply: Supply = nothing) -> Value:
    """What a function returns, worked out on demand: the last of its returns that is reached."""
    from investigator.code.expressions import evaluate

    body = child(function.node, "body")
    if function.node.type == "lambda":
        return evaluate(interp, _frame(interp, function, None, supply, body.end_byte), body)
    for node in reversed(list(descendants(body, "return_statement"))):
        if named(node) and reached(interp, function, node, None, supply) is not False:
            return value_at(interp, function, named(node)[0], None, supply)
    return Unknown(f"what {function.qualified_name} returns")


def reached(
    interp: Interpreter, function: FunctionValue, node: Node, receiver: Value, supply: Supply = nothing
) -> bool | None:
    """Whether control reaches a node, by the ``if`` statements around it; None when undecided."""
    return _conditions_hold(interp, _frame(interp, function, receiver, supply, node.start_byte), node)


def _attribute(interp: Interpreter, made: Instance, supply: Supply, name: str) -> Value:
    from investigator.code import classes

    assert made.cls is not None
    for base in classes.mro(interp, made.cls):
        if not isinstance(base, ClassValue):
            continue
        initialiser = classes.own_attribute(interp, base, "__init__")
        if not isinstance(initialiser, FunctionValue):
            continue
        target = f"{_first_parameter(initialiser.node)}.{name}"
        body = child(initialiser.node, "body")
        binders = [node for node in _binders(body) if target in _targets(node)]
        if binders:
            frame = _frame(interp, initialiser, made, supply, body.end_byte)
            return _choose(interp, frame, binders, target)
    return NotImplemented


def _first_parameter(function: Node) -> str:
    parameters = named(child(function, "parameters"))
    return text(parameters[0]) if parameters else "self"


def _binders(body: Node) -> list[Node]:
    return [
        node
        for node in descendants(body, "assignment", "augmented_assignment")
        if node.child_by_field_name("right") is not None
    ]


def parameters_of(function: Node) -> Iterator[tuple[str, str]]:
    """Name and annotation (as written, "" when there is none) of each parameter."""
    listed = function.child_by_field_name("parameters")
    for parameter in named(listed) if listed is not None else ():
        name = parameter.child_by_field_name("name")
        inner = name if name is not None else (named(parameter) or [parameter])[0]
        annotation = parameter.child_by_field_name("type")
        yield text(inner).lstrip("*"), text(annotation) if annotation is not None else ""


def _frame(
    interp: Interpreter, function: FunctionValue, receiver: Value, supply: Supply, position: int
) -> Frame:
    """A frame whose variables are resolved as seen from a byte position of the function."""
    from investigator.code.interpreter import Frame

    enclosing = None if function.scope is interp.globals_of(function.module) else function.scope
    scope = Scope(function.module, parent=enclosing)
    frame = Frame(scope, function, receiver)
    parameters = dict(parameters_of(function.node))
    is_method = function.owner is not None and "staticmethod" not in function.decorators
    body = child(function.node, "body")

    def variable(name: str) -> Value:
        if is_method and name == _first_parameter(function.node):
            return receiver
        binders = [node for node in _binders(body) if node.start_byte < position and name in _targets(node)]
        if binders:
            return _choose(interp, frame, binders, name)
        imported = _local_import(interp, function, name)
        if imported is not NotImplemented:
            return imported
        inner = _local_function(function, scope, name)
        if inner is not None:
            return inner
        if _bound_otherwise(body, name):
            return Unknown(f"{name} is bound by a loop or a context", function.module.place(body))
        if name in parameters:
            value = supply(name, parameters[name])
            if value is not NotImplemented:
                return value
            return Unknown(f"argument {name} of {function.qualified_name} is not known")
        return NotImplemented

    scope.on_demand = variable
    scope.parameters = supply
    return frame


def _targets(node: Node) -> list[str]:
    left = child(node, "left")
    if left.type in ("identifier", "attribute"):
        return [text(left)]
    if left.type in ("pattern_list", "tuple_pattern", "list_pattern"):
        return [text(part) for part in named(left)]
    return []


def _bound_otherwise(body: Node, name: str) -> bool:
    for node in descendants(body, "for_statement", "as_pattern_target", "named_expression"):
        if node.type == "for_statement":
            bound = child(node, "left")
        elif node.type == "named_expression":
            bound = child(node, "name")
        else:
            bound = node
        if any(text(part) == name for part in descendants(bound, "identifier")):
            return True
    return False


def _local_function(function: FunctionValue, scope: Scope, name: str) -> FunctionValue | None:
    for node in descendants(child(function.node, "body"), "function_definition"):
        if text(child(node, "name")) == name:
            return FunctionValue(name, node, scope)
    return None


def _local_import(interp: Interpreter, function: FunctionValue, name: str) -> Value:
    for node in descendants(child(function.node, "body"), "import_statement", "import_from_statement"):
        for local, imported in imports(node, function.module.package):
            if local == name:
                return interp.import_value(*imported)
    return NotImplemented


def _choose(interp: Interpreter, frame: Frame, binders: list[Node], name: str | None = None) -> Value:
    """What the last assignment that is reached gives; a join when that is undecided."""
    value: Value = NotImplemented
    for node in reversed(binders):
        function = frame.function
        assert function is not None
        there = _seen_from(interp, frame, node)
        holds = _conditions_hold(interp, there, node)
        if holds is False:
            continue
        found = _bound_value(interp, there, node, name)
        because = Unknown("assigned under an undecided condition", frame.module.place(node))
        value = found if value is NotImplemented else join_values(value, found, because)
        if holds is True:
            return value
    if value is NotImplemented:
        return Unknown("not assigned on the path taken", frame.module.place(binders[0]))
    return join_values(
        value,
        Unknown("may not be assigned", frame.module.place(binders[0])),
        Unknown("assigned under an undecided condition", frame.module.place(binders[0])),
    )


def _seen_from(interp: Interpreter, frame: Frame, node: Node) -> Frame:
    """The same function, its variables resolved as seen from an earlier statement."""
    function = frame.function
    assert function is not None
    return _frame(interp, function, frame.receiver, _supply_of(frame), node.start_byte)


def _supply_of(frame: Frame) -> Supply:
    """What the frame's parameters hold; they are the same wherever one looks from."""
    parameters = frame.scope.parameters
    assert parameters is not None
    return parameters


def _bound_value(interp: Interpreter, frame: Frame, node: Node, name: str | None) -> Value:
    from investigator.code.expressions import evaluate, unpack

    if node.type == "augmented_assignment":
        return Unknown("changed by an augmented assignment", frame.module.place(node))
    if _inside_loop(node):
        return Unknown("assigned in a loop", frame.module.place(node))
    right = child(node, "right")
    while right.type == "assignment":
        right = child(right, "right")
    value = evaluate(interp, frame, right)
    targets = _targets(node)
    if name is not None and len(targets) > 1:
        return unpack(interp, frame, node, value, len(targets))[targets.index(name)]
    return value


def _inside_loop(node: Node) -> bool:
    current = node.parent
    while current is not None and current.type != "function_definition":
        if current.type in ("for_statement", "while_statement"):
            return True
        current = current.parent
    return False


def _conditions_hold(interp: Interpreter, frame: Frame, node: Node) -> bool | None:
    """Whether control reaches the node, by the ``if`` statements around it alone."""
    result: bool | None = True
    current = node
    while current.parent is not None and current.type != "function_definition":
        parent = current.parent
        if parent.type in ("if_statement", "elif_clause"):
            for condition, wanted in _conditions(parent, current):
                truth = _truth_of(interp, frame, condition)
                if truth is None:
                    result = None
                elif truth is not wanted:
                    return False
        current = parent
    return result


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
    from investigator.code.expressions import evaluate

    return interp.truth(evaluate(interp, _seen_from(interp, frame, condition), condition))
