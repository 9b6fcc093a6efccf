"""Statements of the subset. Both sides of an undecided condition are followed and joined."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, variables
from investigator.code.assignment import assign, augment
from investigator.code.attempts import run_try
from investigator.code.branching import Leave, Return, Signal, fork
from investigator.code.conditions import sides_of
from investigator.code.contexts import run_with
from investigator.code.deletion import delete
from investigator.code.frames import Frame
from investigator.code.functions import decorated, make_function
from investigator.code.loops import run_for, run_while
from investigator.code.matching import run_match
from investigator.code.program import imports
from investigator.code.raising import run_assert, run_raise
from investigator.code.syntax import decorators, definition, head, named, text
from investigator.code.syntax import field as child
from investigator.code.syntax import statements as statements_of
from investigator.code.trace import Happening
from investigator.code.values import Value

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def run_block(interp: Interpreter, frame: Frame, block: Node) -> Signal:
    """Run statements until one leaves the block."""
    for statement in statements_of(block):
        signal = interp.execute(frame, statement)
        if signal is not None:
            return signal
    return None


def run(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """Run one statement."""
    handler = _HANDLERS.get(node.type)
    return handler(interp, frame, node) if handler is not None else None


def _expression(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    for inner in named(node):
        if inner.type == "assignment":
            _assignment(interp, frame, inner)
        elif inner.type == "augmented_assignment":
            augment(interp, frame, inner)
        elif inner.type not in ("string", "ellipsis"):
            interp.evaluate(frame, inner)
    return None


def _assignment(interp: Interpreter, frame: Frame, node: Node) -> None:
    """``a = b = value``: one value for every target, from the left."""
    chain = [node]
    while (right := chain[-1].child_by_field_name("right")) is not None and right.type == "assignment":
        chain.append(right)
    if right is None:
        return
    value = interp.evaluate(frame, right)
    for each in chain:
        assign(interp, frame, child(each, "left"), value)


def _return(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    inner = named(node)
    value = interp.evaluate(frame, inner[0]) if inner else None
    name = frame.function.qualified_name if frame.function else ""
    interp.note(Happening.RETURN, name, value, frame, node)
    return Return(value)


def _leave(breaks: bool) -> Callable[[Interpreter, Frame, Node], Signal]:
    return lambda interp, frame, node: Leave(breaks)


def _import(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    for name, imported in imports(node, frame.module.package):
        if name != "*":
            variables.set_variable(interp, frame.scope, name, interp.import_value(*imported))
    return None


def _define(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    inner = definition(node)
    name = text(child(inner, "name"))
    marks = tuple(decorators(inner))
    made: Value
    if inner.type == "function_definition":
        made = make_function(interp, frame, name, inner, marks)
    else:
        made = interp.class_value(inner, frame.scope, marks)
        for attribute in classes.definitions(made):
            # A class made while a function runs keeps what the variables hold now.
            classes.own_attribute(interp, made, attribute)
    if marks:
        made = decorated(interp, frame.scope, inner, made)
    variables.set_variable(interp, frame.scope, name, made)
    return None


def _delete(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    for target in named(node):
        delete(interp, frame, target)
    return None


def _declare(everywhere: bool) -> Callable[[Interpreter, Frame, Node], Signal]:
    def run(interp: Interpreter, frame: Frame, node: Node) -> Signal:
        for name in named(node):
            variables.declare(interp, frame.scope, text(name), everywhere=everywhere)
        return None

    return run


def _if(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    return _branches(interp, frame, *sides_of(node))


def _branches(
    interp: Interpreter, frame: Frame, sides: list[tuple[Node, Node]], otherwise: Node | None
) -> Signal:
    """The first side whose condition holds; both from the first undecided condition on."""
    for number, (condition, body) in enumerate(sides):
        value = interp.evaluate(frame, condition)
        truth = interp.truth(value)
        if truth is None:
            both = [
                partial(interp.run_block, frame, body),
                partial(_branches, interp, frame, sides[number + 1 :], otherwise),
            ]
            return fork(interp, frame, condition, both, interp.why(value, frame, condition))
        interp.note(Happening.BRANCH, head(frame.module.file, condition, 400), truth, frame, condition)
        if truth:
            return interp.run_block(frame, body)
    return interp.run_block(frame, otherwise) if otherwise is not None else None


def _nothing(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    return None


_HANDLERS: dict[str, Callable[[Interpreter, Frame, Node], Signal]] = {
    "expression_statement": _expression,
    "return_statement": _return,
    "raise_statement": run_raise,
    "assert_statement": run_assert,
    "break_statement": _leave(True),
    "continue_statement": _leave(False),
    "import_statement": _import,
    "import_from_statement": _import,
    "future_import_statement": _nothing,
    "function_definition": _define,
    "class_definition": _define,
    "decorated_definition": _define,
    "delete_statement": _delete,
    "global_statement": _declare(True),
    "nonlocal_statement": _declare(False),
    "if_statement": _if,
    "for_statement": run_for,
    "while_statement": run_while,
    "with_statement": run_with,
    "try_statement": run_try,
    "match_statement": run_match,
}
