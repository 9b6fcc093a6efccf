"""Statements of a module that change an object which another of its statements has made."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code.local_bindings import bound_names, parameters_of
from investigator.code.program import Module
from investigator.code.syntax import field as child
from investigator.code.syntax import text
from investigator.code.types_and_methods import MUTATING

_FUNCTIONS = ("function_definition", "lambda")


@dataclass(frozen=True)
class Change:
    """One place that changes the object. ``statement``: the top-level statement it is, where
    it is one; None where it stands in a function, a condition or a loop. ``in_function``: in
    one that the module's top level does not itself call."""

    node: Node
    statement: Node | None
    in_function: bool


def changes(module: Module, name: str) -> list[Change]:
    """Where a module's own text changes the object that its top level calls ``name``, in order."""
    known, key = module.worked_out, (f"changes of {name}", 0)
    if key not in known:
        known[key] = list(_changes(module, name))
    found: list[Change] = known[key]
    return found


def _changes(module: Module, name: str) -> Iterator[Change]:
    pattern = re.compile(rb"(?<![\w.])" + re.escape(name.encode()) + rb"\s*[.\[]")
    for match in pattern.finditer(module.file.source):
        start = match.start()
        found = module.file.root.descendant_for_byte_range(start, start + len(name.encode()))
        if found is not None and found.type == "identifier" and text(found) == name:
            changing = _changing(found)
            if changing is not None and not _is_another(changing, name):
                yield Change(changing, _top_level(changing), _in_function(module, changing))


def _changing(found: Node) -> Node | None:
    """The call, assignment or deletion that changes what an identifier stands for."""
    user = found.parent
    if user is None or user.parent is None:
        return None
    outer = user.parent
    if user.type == "attribute" and user.child_by_field_name("object") == found:
        called = outer.type == "call" and outer.child_by_field_name("function") == user
        return outer if called and text(child(user, "attribute")) in MUTATING else None
    if user.type == "subscript" and user.child_by_field_name("value") == found:
        if outer.type in ("assignment", "augmented_assignment"):
            return outer if outer.child_by_field_name("left") == user else None
        return outer if outer.type == "delete_statement" else None
    return None


def _top_level(changing: Node) -> Node | None:
    current = changing
    while current.parent is not None and current.parent.type == "expression_statement":
        current = current.parent
    stands = current.parent is not None and current.parent.type == "module"
    return current if stands and current.type in ("expression_statement", "delete_statement") else None


def _in_function(module: Module, changing: Node) -> bool:
    """Whether the change is made by a function, and not one that the top level calls or decorates
    with."""
    inside = False
    current = changing.parent
    while current is not None:
        if current.type == "lambda":
            inside = True
        elif current.type == "function_definition":
            inside = True
            if text(child(current, "name")) in _called_at_top(module):
                return False
        current = current.parent
    return inside


def _called_at_top(module: Module) -> frozenset[str]:
    """The last names of what the module's top level, and its classes' bodies, call."""
    known, key = module.worked_out, ("called at the top", 0)
    if key not in known:
        found: set[str] = set()
        stack = [module.file.root]
        while stack:
            node = stack.pop()
            if node.type == "call":
                found.add(text(child(node, "function")).rpartition(".")[2])
            elif node.type == "decorator":
                found.add(text(node).lstrip("@ ").partition("(")[0].rpartition(".")[2].strip())
            if node.type not in _FUNCTIONS:
                stack.extend(node.named_children)
        known[key] = frozenset(found)
    names: frozenset[str] = known[key]
    return names


def _is_another(changing: Node, name: str) -> bool:
    """Whether the name is a local variable of a function around, or of a class."""
    current = changing.parent
    while current is not None:
        names = bound_names(current) if current.type in _FUNCTIONS else ()
        if name in names or (current.type in _FUNCTIONS and name in dict(parameters_of(current))):
            return True
        current = current.parent
    return False


def declared_global(module: Module) -> frozenset[str]:
    """The names that functions of the module declare ``global``."""
    known, key = module.worked_out, ("declared global", 0)
    if key not in known:
        known[key] = frozenset(_declared_global(module))
    names: frozenset[str] = known[key]
    return names


def _declared_global(module: Module) -> set[str]:
    found: set[str] = set()
    for match in re.finditer(rb"^[ \t]+global[ \t]+([^\n#;]+)", module.file.source, re.MULTILINE):
        found.update(name.strip().decode("utf-8", "replace") for name in match[1].split(b","))
    return found
