"""The speculative config: the class that says which drafting method runs."""

from tree_sitter import Node

from investigator.code.program import Module, Program
from investigator.code.syntax import descendants, field, named, string_value, text
from investigator.patches.pen import Unfit
from investigator.patches.repairs.fault import Fault
from investigator.patches.repairs.roles import Found, classes, found_in, methods, only

_CONFIG = "vllm/config/speculative.py"


def speculative_config(program: Program, fault: Fault) -> Found:
    """The class with a predicate that counts the drafter's method among EAGLE's."""
    return only(
        found_in(program, ["use_eagle", f'"{fault.checkpoint.method}"'], fault.hints(_CONFIG), _configs),
        "class that says which drafting method runs",
    )


def _configs(module: Module) -> list[Found]:
    return [
        cls
        for cls in classes(module)
        if any(text(field(node, "name")) == "use_eagle" for node in methods(cls.node))
    ]


def method_predicate(program: Program, fault: Fault) -> str:
    """The test for the drafter's method, to be written after ``config.``: a predicate where the
    class has one."""
    config = speculative_config(program, fault)
    own = predicate_of_method(config, fault.checkpoint.method)
    return f"{text(field(own, 'name'))}()" if own is not None else f'method == "{fault.checkpoint.method}"'


def predicate_of_method(config: Found, name: str) -> Node | None:
    """The predicate that is true for exactly this method: ``return self.method == "name"``."""
    return next((node for node in methods(config.node) if _compares_method(node) == name), None)


def _compares_method(predicate: Node) -> str | None:
    """The method that a predicate compares with, when it does just that."""
    try:
        value = returned(predicate)
    except Unfit:
        return None
    operators = [text(child) for child in value.children if not child.is_named]
    sides = named(value)
    if value.type != "comparison_operator" or operators != ["=="] or text(sides[0]) != "self.method":
        return None
    return string_value(sides[1])


def returned(method: Node) -> Node:
    """What a predicate returns, when it does nothing else. Raises Unfit."""
    found = list(descendants(method, "return_statement"))
    if len(found) != 1 or len(found[0].named_children) != 1:
        raise Unfit(f"{text(field(method, 'name'))} is more than one return")
    return found[0].named_children[0]
