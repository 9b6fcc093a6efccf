"""Finding things in an engine's tree by the role they play. Paths are hints: they save reading, no more."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.interpreter import Interpreter
from investigator.code.program import Module
from investigator.code.syntax import (
    Place,
    asked_for,
    definition,
    descendants,
    descendants_at,
    field,
    statements,
    string_value,
    text,
)
from investigator.code.values import ClassValue, FunctionValue, Value


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
                yield from own_methods(interp, cls)


def methods(interp: Interpreter, cls: ClassValue) -> Iterator[FunctionValue]:
    """The methods of a class: its own, then those that it has from a base and does not define anew."""
    seen: set[str] = set()
    for base in classes.mro(interp, cls):
        for method in own_methods(interp, base) if isinstance(base, ClassValue) else ():
            if method.name not in seen:
                seen.add(method.name)
                yield method


def own_methods(interp: Interpreter, cls: ClassValue) -> Iterator[FunctionValue]:
    """The methods in a class's own body."""
    for name, found in classes.own_definitions(cls).items():
        if found.node.type != "function_definition":
            continue  # what a field defaults to is not worth working out here
        value = classes.own_attribute(interp, cls, name)
        if isinstance(value, FunctionValue):
            yield value


def at_work(interp: Interpreter, cls: ClassValue, *, far: bool = False) -> Iterator[lazy.Acting]:
    """The methods of a class, and the functions that they hand the object to, in the same file or (``far``)
    in any. One that a single call runs has that call as its caller, so that what it is handed is known."""
    found: dict[tuple[str, int], list[lazy.Acting]] = {}
    for method in methods(interp, cls):
        for acting in lazy.reachable(interp, cls, method, far=far):
            key = (acting.function.module.path, acting.function.node.start_byte)
            found.setdefault(key, []).append(acting)
    for each in found.values():
        called = {(a.call.start_byte, a.caller.function.module.path): a for a in each if a.caller and a.call}
        if len(called) == 1:
            yield next(iter(called.values()))
        else:
            yield replace(each[0], caller=None, call=None)


def calls(function: FunctionValue, name: str) -> Iterator[Node]:
    """The calls inside a function whose callee's last name is ``name``, or what its file imports that as."""
    body = function.node.child_by_field_name("body")
    names = _imported_as(function.module, name)
    if body is None or not any(mentions(body, each) for each in names):
        return
    for node in descendants(body, "call"):
        callee = field(node, "function")
        asked = asked_for(callee)
        if text(callee) in names or (asked is not None and asked[1] == name):
            yield node


def _imported_as(module: Module, name: str) -> frozenset[str]:
    """The names by which a file calls what is ``name`` elsewhere: its own, and those of its imports."""
    known, key = module.worked_out, (f"imported as {name}", 0)
    if key not in known:
        # The source as it was parsed: the text of a tree's root is a copy of it.
        renamed = f"{name} as ".encode() in module.file.source
        others = descendants(module.file.root, "aliased_import") if renamed else ()
        known[key] = frozenset(
            [name, *(text(field(n, "alias")) for n in others if text(field(n, "name")) == name)]
        )
    found: frozenset[str] = known[key]
    return found


def bindings(node: Node) -> Iterator[tuple[Node, Node]]:
    """What is assigned below a node, statements and ``:=`` alike: what to, and the value."""
    for each in descendants(node, "assignment", "named_expression"):
        right = each.child_by_field_name("right" if each.type == "assignment" else "value")
        if right is not None:
            yield field(each, "left" if each.type == "assignment" else "name"), right


def mentions(node: Node, word: str) -> bool:
    """Whether a node's text holds a word; a cheap look before a walk through the node."""
    return word.encode() in (node.text or b"")


def sole_caller(interp: Interpreter, function: FunctionValue) -> tuple[FunctionValue, Node] | None:
    """The one place that calls a function: in its own file, or where others import it; None where there
    is none, or several."""
    found = list(_callers(interp, function, [function.module]))
    if not found and function.owner is None:
        importing = interp.program.search([f"import {function.name}"])
        found = list(_callers(interp, function, importing))
    return found[0] if len(found) == 1 else None


def _callers(
    interp: Interpreter, function: FunctionValue, modules: list[Module]
) -> Iterator[tuple[FunctionValue, Node]]:
    for module in modules:
        for caller in functions(interp, module):
            if caller.node != function.node:
                yield from ((caller, call) for call in calls(caller, function.name))


def through_caller(
    interp: Interpreter,
    function: FunctionValue,
    receiver: Callable[[FunctionValue], Value],
    supply: lazy.Supply,
) -> lazy.Supply:
    """The supply, and what the one place that calls the function hands over; ``receiver``: the object that
    a calling method is run on."""

    def supplied(name: str, annotation: str) -> Value:
        known = supply(name, annotation)
        found = sole_caller(interp, function) if known is NotImplemented else None
        if found is None:
            return known
        caller, call = found
        bound = function.owner is not None and asked_for(field(call, "function")) is not None
        handed, _ = lazy.handed_over(interp, lazy.Acting(function, "", bound, call=call))
        if name not in handed:
            return known
        further = through_caller(interp, caller, receiver, supply)
        return lazy.value_at(interp, caller, handed[name], receiver(caller), further)

    return supplied


def bound_to(module: Module, value: str) -> Iterator[str]:
    """The names that a file gives to a text: constants, members of enumerations, fields with a default."""
    for node in descendants(module.file.root, "assignment"):
        right = node.child_by_field_name("right")
        if right is not None and right.type == "string" and string_value(right) == value:
            left = field(node, "left")
            yield text(field(left, "attribute") if left.type == "attribute" else left)


def keyword_at(interp: Interpreter, call: Place, wanted: Callable[[str], bool]) -> Place:
    """The line of a call that passes an argument of a wanted name; else the call's own."""
    module = interp.program.module_at(call.path)
    if module is None:
        return call
    for node in descendants_at(module.file.root, call, "keyword_argument"):
        place = module.place(node)
        if call.line <= place.line <= call.end_line and wanted(text(field(node, "name"))):
            return place
    return call
