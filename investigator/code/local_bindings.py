"""Every way in which a function's own text binds names, read off once per function."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code.program import imports
from investigator.code.syntax import definition, descendants, named, text
from investigator.code.syntax import field as child

_INNER = ("function_definition", "class_definition", "lambda")


@dataclass(frozen=True)
class LocalBindings:
    """What a function binds, by name (``self.x`` counts as a name).

    ``assigned``: assignments, in source order, augmented ones among them.
    ``imported``: import statements, in source order, with the module and the name taken from it.
    ``otherwise``: names bound by loops, contexts, ``:=`` and inner functions, whose value is
    not followed.
    ``parameters``: name -> annotation as written; ``first`` is the first one's name.
    """

    assigned: dict[str, list[Node]]
    imported: dict[str, list[tuple[Node, tuple[str, str | None]]]]
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


def own_nodes(body: Node, *types: str) -> Iterator[Node]:
    """The nodes of some types below a function's body, those of inner functions, lambdas and
    classes left out (the inner definitions themselves are given)."""
    wanted = frozenset(types)
    stack = [body]
    while stack:
        current = stack.pop()
        if current.type in wanted:
            yield current
        if current.type not in _INNER or current == body:
            stack.extend(reversed(current.named_children))


def local_bindings(function: Node, package: str) -> LocalBindings:
    """Read a function (or lambda) of a module that imports relative to ``package``."""
    assigned: dict[str, list[Node]] = {}
    imported: dict[str, list[tuple[Node, tuple[str, str | None]]]] = {}
    functions: dict[str, Node] = {}
    otherwise: set[str] = set()
    for node in own_nodes(
        child(function, "body"),
        "assignment",
        "augmented_assignment",
        "import_statement",
        "import_from_statement",
        "function_definition",
        "class_definition",
        "for_statement",
        "as_pattern_target",
        "named_expression",
        "for_in_clause",
        "case_clause",
        "delete_statement",
    ):
        match node.type:
            case "assignment" | "augmented_assignment":
                if node.child_by_field_name("right") is not None:
                    for name in targets(node):
                        assigned.setdefault(name, []).append(node)
            case "import_statement" | "import_from_statement":
                for local, origin in imports(node, package):
                    imported.setdefault(local, []).append((node, origin))
            case "function_definition":
                name = text(child(node, "name"))
                if name in functions:
                    otherwise.add(name)
                functions.setdefault(name, node)
                otherwise.update(_bound_in_inner(node))
            case "class_definition":
                otherwise.add(text(child(node, "name")))
            case "for_statement" | "for_in_clause":
                otherwise.update(_all_names(child(node, "left")))
            case "named_expression":
                otherwise.add(text(child(node, "name")))
            case _:
                otherwise.update(_all_names(node))
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


def _all_names(node: Node) -> Iterator[str]:
    return (text(part) for part in descendants(node, "identifier", "attribute"))


def _bound_in_inner(function: Node) -> Iterator[str]:
    """What an inner function may bind outside itself: ``nonlocal`` names and attributes."""
    for node in descendants(function, "nonlocal_statement"):
        yield from _all_names(node)
    for node in descendants(function, "assignment", "augmented_assignment"):
        yield from (name for name in targets(node) if "." in name)


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


def assigned_attributes(cls: Node) -> frozenset[str]:
    """The attributes that any method in a class's body assigns."""
    return frozenset(
        text(child(left, "attribute"))
        for node in descendants(cls, "assignment", "augmented_assignment")
        for left in [child(node, "left"), *named(child(node, "left"))]
        if left.type == "attribute"
    )


# -- which names are a function's own --------------------------------------------------


def bound_names(function: Node) -> frozenset[str]:
    """The names that are variables of a function (parameters left out): those it binds anywhere
    and does not declare ``global`` or ``nonlocal``."""
    body = child(function, "body")
    found: set[str] = set()
    declared: set[str] = set()
    stack = [body] if function.type != "lambda" else []
    while stack:
        node = stack.pop()
        kind = node.type
        if kind in ("function_definition", "class_definition"):
            found.add(text(child(node, "name")))
        elif kind == "decorated_definition":
            stack.append(definition(node))
        elif kind in ("global_statement", "nonlocal_statement"):
            declared.update(text(name) for name in named(node))
        elif kind in ("import_statement", "import_from_statement"):
            found.update(name for name, _ in imports(node, ""))
        elif kind in ("assignment", "augmented_assignment"):
            found.update(_bound_by_target(child(node, "left")))
            right = node.child_by_field_name("right")
            if right is not None and right.type == "assignment":
                stack.append(right)
        else:
            if kind == "for_statement":
                found.update(_bound_by_target(child(node, "left")))
            elif kind in ("as_pattern_target", "case_clause"):
                found.update(_bound_by_target(node))
            if kind.endswith(("_statement", "_clause", "block", "as_pattern", "with_item", "module")):
                stack.extend(node.named_children)
    if b":=" in (body.text or b""):
        for node in own_nodes(body, "named_expression"):
            found.add(text(child(node, "name")))
    return frozenset(found - declared)


def _bound_by_target(target: Node) -> Iterator[str]:
    """The plain names that an assignment to a target binds."""
    stack = [target]
    while stack:
        node = stack.pop()
        if node.type == "identifier":
            yield text(node)
        elif node.type == "case_clause":
            stack.extend(part for part in named(node) if part.type == "case_pattern")
        elif node.type not in ("attribute", "subscript", "call", "block"):
            stack.extend(node.named_children)
