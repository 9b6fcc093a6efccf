"""Every way in which a function's own text binds names, read off once per function."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code.program import imports
from investigator.code.syntax import descendants, named, text
from investigator.code.syntax import field as child

_BINDING = frozenset(
    [
        "assignment",
        "augmented_assignment",
        "import_statement",
        "import_from_statement",
        "function_definition",
        "for_statement",
        "as_pattern_target",
        "named_expression",
    ]
)


@dataclass(frozen=True)
class LocalBindings:
    """What a function binds, by name (``self.x`` counts as a name).

    ``assigned``: assignments, in source order, augmented ones among them.
    ``otherwise``: names bound by loops, contexts and ``:=``, whose value is not followed.
    ``parameters``: name -> annotation as written; ``first`` is the first one's name.
    """

    assigned: dict[str, list[Node]]
    imported: dict[str, tuple[str, str | None]]
    functions: dict[str, Node]
    otherwise: frozenset[str]
    parameters: dict[str, str]
    defaults: dict[str, Node]
    first: str

    def binds(self, name: str) -> bool:
        """Whether the function itself gives this name a meaning."""
        return (
            name in self.assigned
            or name in self.imported
            or name in self.functions
            or name in self.otherwise
            or name in self.parameters
        )


def local_bindings(function: Node, package: str) -> LocalBindings:
    """Read a function (or lambda) of a module that imports relative to ``package``."""
    assigned: dict[str, list[Node]] = {}
    imported: dict[str, tuple[str, str | None]] = {}
    functions: dict[str, Node] = {}
    otherwise: set[str] = set()
    for node in _own(child(function, "body")):
        match node.type:
            case "assignment" | "augmented_assignment":
                if node.child_by_field_name("right") is not None:
                    for name in targets(node):
                        assigned.setdefault(name, []).append(node)
            case "import_statement" | "import_from_statement":
                for local, origin in imports(node, package):
                    imported.setdefault(local, origin)
            case "function_definition":
                functions.setdefault(text(child(node, "name")), node)
            case "for_statement":
                otherwise.update(text(part) for part in descendants(child(node, "left"), "identifier"))
            case "named_expression":
                otherwise.add(text(child(node, "name")))
            case _:
                otherwise.update(text(part) for part in descendants(node, "identifier"))
    parameters = dict(parameters_of(function))
    return LocalBindings(
        assigned,
        imported,
        functions,
        frozenset(otherwise),
        parameters,
        _defaults(function),
        next(iter(parameters), "self"),
    )


def _own(body: Node) -> Iterator[Node]:
    """The nodes of a function's body that may bind, those inside inner functions left out."""
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type in _BINDING:
            yield node
        if node.type not in ("function_definition", "class_definition", "lambda"):
            stack.extend(reversed(node.named_children))


def targets(assignment: Node) -> list[str]:
    """The names and attributes that an assignment binds, as written."""
    left = child(assignment, "left")
    if left.type in ("identifier", "attribute"):
        return [text(left)]
    if left.type in ("pattern_list", "tuple_pattern", "list_pattern"):
        return [text(part) for part in named(left)]
    return []


def parameters_of(function: Node) -> Iterator[tuple[str, str]]:
    """Name and annotation (as written, "" when there is none) of each parameter."""
    listed = function.child_by_field_name("parameters")
    for parameter in named(listed) if listed is not None else ():
        name = parameter.child_by_field_name("name")
        inner = name if name is not None else (named(parameter) or [parameter])[0]
        annotation = parameter.child_by_field_name("type")
        yield text(inner).lstrip("*"), text(annotation) if annotation is not None else ""


def _defaults(function: Node) -> dict[str, Node]:
    found = {}
    listed = function.child_by_field_name("parameters")
    for parameter in named(listed) if listed is not None else ():
        value, name = parameter.child_by_field_name("value"), parameter.child_by_field_name("name")
        if value is not None and name is not None:
            found[text(name)] = value
    return found
