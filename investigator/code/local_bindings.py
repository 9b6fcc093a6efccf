"""Every way in which a function's own text binds names, read off once per function."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code.program import imports
from investigator.code.syntax import definition, descendants, named, text
from investigator.code.syntax import field as child
from investigator.code.types_and_methods import MUTATING

_INNER = ("function_definition", "class_definition", "lambda")
_PATTERNS = (
    "pattern_list",
    "tuple_pattern",
    "list_pattern",
    "list_splat_pattern",
    "parenthesized_expression",
)


@dataclass(frozen=True)
class LocalBindings:
    """What a function binds and changes, by name (``self.x`` counts as a name, and is the same name as
    ``this.x`` where ``this = self`` is the only thing that either is).

    ``events``: everything that binds the name, in source order: assignments, imports, inner
    functions and classes, loops, contexts, ``:=``, ``del``.
    ``assigned``: the assignments among them, augmented ones too.
    ``changed``: what changes the object that the name stands for: ``x.append(...)``,
    ``x[...] = ...``, ``del x[...]``, ``x.a = ...``; and calls that are handed it.
    ``aliases``: names that are assigned straight from it.
    ``shadowed``: comprehensions and lambdas in which it is a variable of theirs.
    ``parameters``: name -> annotation as written; ``first`` is the first one's name.
    ``returns`` and ``calls``: its return statements and calls. ``others``: parameter -> its other names.
    """

    events: dict[str, list[Node]]
    assigned: dict[str, list[Node]]
    imported: dict[str, list[tuple[Node, tuple[str, str | None]]]]
    changed: dict[str, list[Node]]
    aliases: dict[str, list[str]]
    shadowed: dict[str, list[Node]]
    parameters: dict[str, str]
    defaults: dict[str, Node]
    first: str
    returns: list[Node]
    calls: list[Node]
    others: dict[str, tuple[str, ...]]

    def called(self, parameter: str) -> tuple[str, ...]:
        """Every name of what a parameter holds."""
        return (parameter, *self.others.get(parameter, ()))

    def binds(self, name: str) -> bool:
        """Whether the function itself gives this name a meaning."""
        return name in self.events or name in self.parameters or name in self.shadowed


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


_BINDING = (
    "assignment",
    "augmented_assignment",
    "import_statement",
    "import_from_statement",
    "function_definition",
    "class_definition",
    "for_statement",
    "as_pattern_target",
    "named_expression",
    "case_clause",
    "delete_statement",
)
_SHADOWING = ("for_in_clause", "lambda")


def local_bindings(function: Node, package: str) -> LocalBindings:
    """Read a function (or lambda) of a module that imports relative to ``package``."""
    parameters = dict(parameters_of(function))
    first = next(iter(parameters), "self")
    made = LocalBindings({}, {}, {}, {}, {}, {}, parameters, _defaults(function), first, [], [], {})
    body = child(function, "body")
    for node in own_nodes(body, *_BINDING, *_SHADOWING, "call", "return_statement"):
        if node == function:
            continue
        if node.type == "return_statement":
            made.returns.append(node)
        elif node.type == "call":
            made.calls.append(node)
            for name in _changed_by_call(node):
                made.changed.setdefault(name, []).append(node)
        elif node.type in _SHADOWING:
            _shadow(made, node)
        else:
            _bind(made, node, package)
    for parameter in parameters:
        _join_names(made, parameter, body)
    return made


def _join_names(made: LocalBindings, parameter: str, body: Node) -> None:
    """Put what happens to ``other.x`` down for ``parameter.x`` as well, and the other way round, where the
    function says ``other = parameter`` at its top and binds neither name anywhere else."""
    if parameter in made.events:
        return
    names = [name for name in made.aliases.get(parameter, ()) if _is_other_name(made, name, parameter, body)]
    if not names:
        return
    made.others[parameter] = tuple(names)
    every = made.called(parameter)
    for table in (made.events, made.assigned, made.changed):
        for attribute in {key.partition(".")[2] for key in table if key.partition(".")[0] in every} - {""}:
            keys = [f"{name}.{attribute}" for name in every]
            nodes = sorted((n for key in keys for n in table.get(key, ())), key=lambda node: node.start_byte)
            table.update(dict.fromkeys(keys, nodes))


def _is_other_name(made: LocalBindings, name: str, parameter: str, body: Node) -> bool:
    nodes = made.events.get(name, [])
    if len(nodes) != 1 or nodes[0].type != "assignment" or name in (*made.parameters, *made.shadowed):
        return False
    left, right = child(nodes[0], "left"), child(nodes[0], "right")
    at_the_top = nodes[0].parent is not None and nodes[0].parent.parent == body
    return at_the_top and text(left) == name and text(right) == parameter


def _shadow(made: LocalBindings, node: Node) -> None:
    if node.type == "lambda":
        for name, _ in parameters_of(node):
            made.shadowed.setdefault(name, []).append(node)
    elif node.parent is not None:
        for name in _plain_names(child(node, "left")):
            made.shadowed.setdefault(name, []).append(node.parent)


def _bind(made: LocalBindings, node: Node, package: str) -> None:
    bound: list[str] = []
    match node.type:
        case "assignment" | "augmented_assignment":
            if node.child_by_field_name("right") is not None:
                bound = targets(node)
                for name in bound:
                    made.assigned.setdefault(name, []).append(node)
                for name in _changed_by_target(child(node, "left")):
                    made.changed.setdefault(name, []).append(node)
                _alias(made, node)
        case "import_statement" | "import_from_statement":
            for name, origin in imports(node, package):
                made.imported.setdefault(name, []).append((node, origin))
                bound.append(name)
        case "function_definition":
            bound = [text(child(node, "name")), *_bound_in_inner(node)]
        case "class_definition" | "named_expression":
            bound = [text(child(node, "name"))]
        case "for_statement":
            bound = list(_all_names(child(node, "left")))
        case "delete_statement":
            bound = [text(part) for part in _deleted(node) if part.type in ("identifier", "attribute")]
            for part in _deleted(node):
                for name in _changed_by_target(part):
                    made.changed.setdefault(name, []).append(node)
        case "case_clause":
            bound = [text(name) for name in captured_names(node)]
        case _:
            bound = list(_all_names(node))
    for name in bound:
        made.events.setdefault(name, []).append(node)


def _alias(made: LocalBindings, node: Node) -> None:
    """``y = x``, ``self.y = x``, ``y = [x, ...]``: what is done to ``y`` may be done to ``x``."""
    right = child(node, "right")
    sources = [right, *(named(right) if right.type in ("list", "tuple", "expression_list") else ())]
    for source in sources:
        if source.type in ("identifier", "attribute"):
            made.aliases.setdefault(text(source), []).extend(targets(node))


def _deleted(node: Node) -> Iterator[Node]:
    for target in named(node):
        yield from named(target) if target.type in ("expression_list", "tuple", "list") else (target,)


def _changed_by_call(node: Node) -> Iterator[str]:
    """The names whose objects a call may change: a method's own, and what it is handed."""
    function = child(node, "function")
    if function.type == "attribute" and text(child(function, "attribute")) in MUTATING:
        yield text(child(function, "object"))
    arguments = child(node, "arguments")
    if arguments.type != "argument_list":
        return
    for argument in named(arguments):
        value = child(argument, "value") if argument.type == "keyword_argument" else argument
        if value.type in ("identifier", "attribute"):
            yield text(value)


def _changed_by_target(target: Node) -> Iterator[str]:
    """``x`` for the targets ``x[...]`` and ``x.a``."""
    for part in (target, *(named(target) if target.type in _PATTERNS else ())):
        if part.type == "subscript":
            yield text(child(part, "value"))
        elif part.type == "attribute":
            yield text(child(part, "object"))


def _plain_names(target: Node) -> Iterator[str]:
    return (text(part) for part in descendants(target, "identifier"))


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
    found: list[str] = []
    stack = [child(assignment, "left")]
    while stack:
        left = stack.pop()
        if left.type in ("identifier", "attribute"):
            found.append(text(left))
        elif left.type in _PATTERNS:
            stack.extend(reversed(named(left)))
    return found


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


_REGISTERING = ("register_buffer", "register_parameter", "register_module", "add_module")
"""The methods of ``torch.nn.Module`` that set the attribute that their first argument names."""


def registered_attribute(call: Node) -> str | None:
    """``a`` for ``self.register_buffer("a", ...)``; None for any other call."""
    function, arguments = child(call, "function"), named(child(call, "arguments"))
    if function.type != "attribute" or text(child(function, "attribute")) not in _REGISTERING:
        return None
    return text(arguments[0]).strip("\"'") if arguments and arguments[0].type == "string" else None


def assigned_attributes(cls: Node) -> frozenset[str]:
    """The attributes that any method in a class's body assigns, or registers with a module."""
    found: set[str] = set()
    for node in descendants(cls, "assignment", "augmented_assignment", "call"):
        if node.type == "call":
            registered = registered_attribute(node)
            found.update({registered} if registered else ())
            continue
        left = child(node, "left")
        attributes = (part for part in (left, *named(left)) if part.type == "attribute")
        found.update(text(child(attribute, "attribute")) for attribute in attributes)
    return frozenset(found)


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
            elif kind == "as_pattern_target":
                found.update(_bound_by_target(node))
            elif kind == "case_clause":
                found.update(map(text, captured_names(node)))
            if kind.endswith(("_statement", "_clause", "block", "as_pattern", "with_item", "module")):
                stack.extend(node.named_children)
    if b":=" in (body.text or b""):
        for node in own_nodes(body, "named_expression"):
            found.add(text(child(node, "name")))
    return frozenset(found - declared)


def captured_names(pattern: Node) -> Iterator[Node]:
    """The names that a pattern of a ``match`` binds when it fits."""
    stack = [pattern]
    while stack:
        node = stack.pop()
        parts = named(node)
        match node.type:
            case "identifier":
                yield node
            case "dotted_name":
                stack.extend(parts if len(parts) == 1 else ())  # Mode.FAST is a value
            case "class_pattern" | "keyword_pattern":
                stack.extend(parts[1:])  # after the class's, or the attribute's, name
            case "case_clause":
                stack.extend(part for part in parts if part.type == "case_pattern")
            case _:
                stack.extend(parts)


def _bound_by_target(target: Node) -> Iterator[str]:
    """The plain names that an assignment to a target binds."""
    stack = [target]
    while stack:
        node = stack.pop()
        if node.type == "identifier":
            yield text(node)
        elif node.type not in ("attribute", "subscript", "call", "block"):
            stack.extend(node.named_children)
