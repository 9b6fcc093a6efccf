"""Find code by what it does: who reads a key, who is called, who assigns an attribute."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code.program import Module, Program
from investigator.code.syntax import definition, descendants, enclosing, field, named, string_value, text
from investigator.patches.pen import Pen, Unfit

FUNCTION = "function_definition"
CLASS = "class_definition"


@dataclass(frozen=True)
class Found:
    """A class or function and the module it stands in."""

    module: Module
    node: Node

    @property
    def name(self) -> str:
        """Its name."""
        return text(field(self.node, "name"))

    @property
    def pen(self) -> Pen:
        """Writes into its file."""
        return Pen(self.module.file)


def reads_of_key(node: Node, key: str) -> Iterator[Node]:
    """``x.get("key")``, ``x["key"]`` and ``getattr(x, "key")`` below a node; never an assignment's
    target."""
    for found in descendants(node, "call", "subscript"):
        if found.type == "subscript":
            index = found.child_by_field_name("subscript")
            if index is not None and string_value(index) == key and not _is_target(found):
                yield found
            continue
        arguments = positional(found)
        callee = text(field(found, "function"))
        at = {"getattr": 1, "get": 0}.get(callee.rpartition(".")[2], len(arguments))
        if len(arguments) > at and string_value(arguments[at]) == key:
            yield found


def _is_target(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "assignment" and parent.child_by_field_name("left") == node


def calls(node: Node, *names: str) -> Iterator[Node]:
    """Calls below a node whose callee is written (or ends, after a dot) as one of the names."""
    for found in descendants(node, "call"):
        if text(field(found, "function")).rpartition(".")[2] in names:
            yield found


def positional(call: Node) -> list[Node]:
    """A call's positional arguments."""
    arguments = field(call, "arguments")
    if arguments.type != "argument_list":
        return [arguments]
    return [node for node in named(arguments) if node.type not in ("keyword_argument", "dictionary_splat")]


def keyword(call: Node, name: str) -> Node | None:
    """The value of a call's keyword argument."""
    for node in named(field(call, "arguments")):
        if node.type == "keyword_argument" and text(field(node, "name")) == name:
            return field(node, "value")
    return None


def parameters(function: Node) -> list[str]:
    """The names of a function's parameters, stars left out."""
    names = []
    for node in named(field(function, "parameters")):
        inner = node
        if node.type in ("default_parameter", "typed_default_parameter"):
            inner = field(node, "name")
        elif node.type == "typed_parameter":
            inner = named(node)[0]
        if inner.type == "identifier":
            names.append(text(inner))
    return names


def keyword_only(function: Node) -> bool:
    """Whether a parameter appended to the function can only be given by keyword."""
    return any(
        node.type == "keyword_separator" or text(node).startswith("*")
        for node in named(field(function, "parameters"))
        if not text(node).startswith("**")
    )


def classes(module: Module) -> list[Found]:
    """The module's top-level classes."""
    return [
        Found(module, bound.node)
        for bindings in module.symbols.values()
        for bound in bindings
        if bound.node.type == CLASS
    ]


def methods(cls: Node) -> Iterator[Node]:
    """A class's own methods."""
    for node in named(field(cls, "body")):
        inner = definition(node)
        if inner.type == FUNCTION:
            yield inner


def method(cls: Node, name: str) -> Node | None:
    """A class's own method."""
    return next((node for node in methods(cls) if text(field(node, "name")) == name), None)


def assignments(node: Node, target: str) -> list[Node]:
    """The assignments below a node whose left side is written exactly so."""
    return [
        found
        for found in descendants(node, "assignment")
        if found.child_by_field_name("right") is not None and text(field(found, "left")) == target
    ]


def attribute_reads(node: Node, written: str) -> list[Node]:
    """Where ``self.x`` (written exactly so) is read below a node."""
    return [
        found
        for found in descendants(node, "attribute")
        if text(found) == written
        and not _is_target(found)
        and not (found.parent is not None and found.parent.type == "attribute")
    ]


def names_in(node: Node) -> set[str]:
    """Every identifier below a node."""
    return {text(found) for found in descendants(node, "identifier")}


def function_of(node: Node) -> Node:
    """The function that a node stands in. Raises Unfit at module or class level."""
    found = enclosing(node, FUNCTION)
    if found is None:
        raise Unfit(f"line {node.start_point.row + 1} stands in no function")
    return found


def found_in(
    program: Program, needles: list[str], hints: Iterable[str], role: Callable[[Module], list[Found]]
) -> list[Found]:
    """What plays a role: among the hinted files, or else anywhere in the tree."""
    for paths in (hints, ()):
        modules = program.mentioning(needles, paths)
        if found := [one for module in modules for one in role(module)]:
            return found
    return []


def only(found: Iterable[Found], what: str) -> Found:
    """The one thing that plays a role. Raises Unfit when there is none, or more than one."""
    all_of_them = list(found)
    if len(all_of_them) != 1:
        number = len(all_of_them) or "no"
        raise Unfit(f"found {number} {what}")
    return all_of_them[0]


def resolve(program: Program, module: Module, name: str) -> Found | None:
    """The class that ``name`` means in a module, followed through imports and re-exports."""
    for _ in range(8):
        bound = module.symbols.get(name)
        if not bound:
            return None
        last = bound[-1]
        if last.node.type == CLASS:
            return Found(module, last.node)
        if last.imported is None or last.imported[1] is None:
            return None
        source, name = last.imported[0], last.imported[1]
        found = program.module(source)
        if found is None:
            return None
        module = found
    return None
