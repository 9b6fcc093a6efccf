"""Finding things in an engine's tree by the role they play. Paths are hints: they save reading, no more."""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code import classes
from investigator.code.interpreter import Interpreter
from investigator.code.program import Module
from investigator.code.syntax import definition, descendants, field, statements, text
from investigator.code.values import ClassValue, FunctionValue


def class_named(interp: Interpreter, name: str, hint: str) -> ClassValue | None:
    """The class of this name: in the hinted file, else wherever the tree defines it.

    Where several files define it, the one with most methods is taken.
    """
    needle = f"class {name}"
    found: list[ClassValue] = []
    for module in interp.program.mentioning([needle], [hint]):
        value = interp.global_name(module, name)
        if isinstance(value, ClassValue):
            found.append(value)
    if not found:
        for module in interp.program.mentioning([f"class {name}("], ()) + interp.program.mentioning(
            [f"class {name}:"], ()
        ):
            value = interp.global_name(module, name)
            if isinstance(value, ClassValue):
                found.append(value)
    return max(found, key=lambda cls: len(statements(field(cls.node, "body"))), default=None)


def functions(interp: Interpreter, module: Module) -> Iterator[FunctionValue]:
    """Every function and method of a module, with the class it stands in."""
    for statement in statements(module.file.root):
        inner = definition(statement)
        if inner.type == "function_definition":
            value = interp.global_name(module, text(field(inner, "name")))
            if isinstance(value, FunctionValue):
                yield value
        elif inner.type == "class_definition":
            cls = interp.global_name(module, text(field(inner, "name")))
            if isinstance(cls, ClassValue):
                yield from methods(interp, cls)


def methods(interp: Interpreter, cls: ClassValue) -> Iterator[FunctionValue]:
    """The methods in a class's own body."""
    for name, found in classes.own_definitions(cls).items():
        if found.node.type != "function_definition":
            continue  # what a field defaults to is not worth working out here
        value = classes.own_attribute(interp, cls, name)
        if isinstance(value, FunctionValue):
            yield value


def calls(function: FunctionValue, name: str) -> Iterator[Node]:
    """The calls inside a function whose callee's last name is ``name``."""
    body = function.node.child_by_field_name("body")
    if body is None or not mentions(body, name):
        return
    for node in descendants(body, "call"):
        callee = field(node, "function")
        if text(callee) == name or (callee.type == "attribute" and text(field(callee, "attribute")) == name):
            yield node


def mentions(node: Node, word: str) -> bool:
    """Whether a node's text holds a word; a cheap look before a walk through the node."""
    return word.encode() in (node.text or b"")
