"""Rewrites Python source as a maintainer might, without changing what it does; or breaks one thing.

A tree of files is a mapping path -> bytes; each function gives a new one. Edits are made on the
syntax tree (tree-sitter), never by matching text, so that they hold on any release: modules are
renamed with every import of them, a method's body moves to a file of its own, a helper is written
out where it is called, locals get other names. :class:`Rewritten` lays the result over a release.
"""

import ast
import builtins
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code.syntax import descendants, enclosing, field, named, parse, statements, text

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Edit:
    """Bytes ``start`` to ``end`` of a file become ``text``."""

    start: int
    end: int
    text: bytes


def edited(source: bytes, edits: Iterable[Edit]) -> bytes:
    """The source with these edits, which do not overlap."""
    parts, at = [], 0
    for edit in sorted(edits, key=lambda e: e.start):
        assert edit.start >= at, "edits overlap"
        parts += [source[at : edit.start], edit.text]
        at = edit.end
    return b"".join([*parts, source[at:]])


# -- modules ----------------------------------------------------------------------------


def dotted(path: str) -> str:
    """The name by which a file is imported."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def rename_modules(files: Files, names: Mapping[str, str], package: str = "vllm") -> dict[str, bytes]:
    """Files move (old path -> new path), and every import, relative or not, and every string that
    is exactly a moved module's dotted name follows."""
    moved = {dotted(old): dotted(new) for old, new in names.items()}
    stems = {old.rpartition(".")[2].encode() for old in moved}
    result: dict[str, bytes] = {}
    for path, source in files.items():
        touched = path.endswith(".py") and any(stem in source for stem in stems)
        result[names.get(path, path)] = _reimported(path, source, moved) if touched else source
    return result


def _reimported(path: str, source: bytes, moved: Mapping[str, str]) -> bytes:
    here = dotted(path) if path.endswith("__init__.py") else dotted(path).rpartition(".")[0]
    edits: list[Edit] = []
    root = parse(path, source).root
    for node in descendants(root, "import_from_statement"):
        edits += _from_import(node, here, moved)
    for node in descendants(root, "import_statement"):
        for name in node.children_by_field_name("name"):
            target = field(name, "name") if name.type == "aliased_import" else name
            if text(target) in moved:
                edits.append(_put(target, moved[text(target)]))
                if name.type != "aliased_import":
                    edits += _uses(root, text(target), moved[text(target)])
    for node in descendants(root, "string"):
        value = _literal(node)
        if value is not None and value in moved:
            edits.append(_put(node, repr(moved[value])))
    return edited(source, edits)


def _from_import(node: Node, here: str, moved: Mapping[str, str]) -> Iterator[Edit]:
    module = field(node, "module_name")
    base = _absolute(text(module), here)
    if base in moved:
        yield _put(module, moved[base])
        return
    for name in node.children_by_field_name("name"):
        target = field(name, "name") if name.type == "aliased_import" else name
        new = moved.get(f"{base}.{text(target)}")
        if new is not None:
            assert new.rpartition(".")[0] == base, "a module that is imported by name stays in its package"
            stem = new.rpartition(".")[2]
            yield _put(target, stem if name.type == "aliased_import" else f"{stem} as {text(target)}")


def _uses(root: Node, old: str, new: str) -> Iterator[Edit]:
    """Places that name a module in full (``import a.b`` and then ``a.b.c``)."""
    for node in descendants(root, "attribute"):
        if text(node) == old and (node.parent is None or node.parent.type != "dotted_name"):
            yield _put(node, new)


def _absolute(name: str, here: str) -> str:
    dots = len(name) - len(name.lstrip("."))
    if not dots:
        return name
    parts = here.split(".")[: len(here.split(".")) - (dots - 1)]
    return ".".join([*parts, *([name.lstrip(".")] if name.lstrip(".") else [])])


def _literal(node: Node) -> str | None:
    try:
        value = ast.literal_eval(text(node))
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None


def _put(node: Node, new: str) -> Edit:
    return Edit(node.start_byte, node.end_byte, new.encode())


# -- functions --------------------------------------------------------------------------


def function_in(source: bytes, name: str) -> Node:
    """The one function of this name in a file; ``Class.name`` for a method."""
    owner, _, bare = name.rpartition(".")
    found = [
        n
        for n in descendants(parse("", source).root, "function_definition")
        if _name(n) == bare and (not owner or _owner(n) == owner)
    ]
    assert len(found) == 1, f"{len(found)} functions are called {name}"
    return found[0]


def _name(function: Node) -> str:
    return text(field(function, "name"))


def _owner(function: Node) -> str | None:
    """The class that a method stands in."""
    around = enclosing(function, "class_definition", "function_definition")
    return text(field(around, "name")) if around is not None else None


def parameters(function: Node) -> list[str]:
    """The names of a function's parameters."""
    return [name for child in named(field(function, "parameters")) if (name := _parameter(child))]


def _parameter(node: Node) -> str | None:
    if node.type == "identifier":
        return text(node)
    inner = node.child_by_field_name("name") or next(iter(descendants(node, "identifier")), None)
    return text(inner) if inner is not None and node.type != "comment" else None


def rename_locals(files: Files, path: str, function: str, prefix: str = "renamed_") -> dict[str, bytes]:
    """Every variable that a function binds, its parameters too (except the receiver, those that
    callers pass by name, and a constructor's), gets another name."""
    source = files[path]
    node = function_in(source, function)
    bound = _bound(node)
    given = parameters(node)
    passed = set(given if _name(node) == "__init__" else given[:1]) | _passed_by_name(files, _name(node))
    names = {name for name in bound if name not in passed}
    edits = []
    for found in descendants(node, "identifier"):
        if text(found) in names and not _is_label(found):
            edits.append(_put(found, prefix + text(found)))
    return {**files, path: edited(source, edits)}


def _bound(function: Node) -> set[str]:
    """Parameters and local variables; what is declared ``global`` or ``nonlocal`` is neither."""
    names = set(parameters(function))
    body = field(function, "body")
    for node in descendants(body, "assignment", "augmented_assignment", "for_statement", "for_in_clause"):
        names.update(_targets(field(node, "left")))
    for node in descendants(body, "named_expression"):
        names.add(text(field(node, "name")))
    for statement in descendants(body, "global_statement", "nonlocal_statement"):
        names -= {text(n) for n in named(statement)}
    return names


def _targets(left: Node) -> Iterator[str]:
    """Plain names among the targets of an assignment or a loop."""
    if left.type == "identifier":
        yield text(left)
    elif left.type in ("pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"):
        for child in named(left):
            yield from _targets(child)


def _is_label(node: Node) -> bool:
    """An identifier that names no variable: an attribute, a keyword, a parameter of another call."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "attribute":
        return field(parent, "attribute") == node
    return parent.type == "keyword_argument" and field(parent, "name") == node


def _passed_by_name(files: Files, function: str) -> set[str]:
    names = set()
    for path, source in files.items():
        if path.endswith(".py") and function.encode() in source:
            for call in descendants(parse(path, source).root, "call"):
                if text(field(call, "function")).rpartition(".")[2] == function:
                    names |= {
                        text(field(a, "name"))
                        for a in named(field(call, "arguments"))
                        if a.type == "keyword_argument"
                    }
    return names


def move_function(files: Files, path: str, function: str, new_path: str) -> dict[str, bytes]:
    """A function's or method's body goes to a new module; what is left calls it."""
    source = files[path]
    node = function_in(source, function)
    receiver = parameters(node)
    imports, own = _needed(source, node)
    moved = f"moved_{_name(node)}"
    lines = [
        *imports,
        "",
        "",
        f"def {moved}{text(field(node, 'parameters'))}:",
        *[f"    from {dotted(path)} import {name}" for name in own],
        textwrap.indent(_dedented(source, node), "    "),
    ]
    assert not list(descendants(field(node, "parameters"), "list_splat_pattern", "dictionary_splat_pattern"))
    assert not any(text(field(call, "function")) == "super" for call in descendants(node, "call"))
    called = f"return {moved}({', '.join(receiver)})"
    call = f"from {dotted(new_path)} import {moved}\n\n{_margin(source, node)}{called}"
    body = field(node, "body")
    kept = edited(source, [Edit(body.start_byte, body.end_byte, call.encode())])
    return {**files, path: kept, new_path: "\n".join([*lines, ""]).encode()}


def _margin(source: bytes, function: Node) -> str:
    return " " * field(function, "body").start_point.column


def _dedented(source: bytes, function: Node) -> str:
    """The function's body at the left margin."""
    body = field(function, "body")
    return textwrap.dedent(_margin(source, function) + source[body.start_byte : body.end_byte].decode())


def _needed(source: bytes, function: Node) -> tuple[list[str], list[str]]:
    """Import statements of the file that a function needs, and names that the file itself defines."""
    used = {text(n) for n in descendants(function, "identifier")} - _bound(function)
    imports, own = [], []
    root = parse("", source).root
    for statement in statements(root):
        if statement.type in ("import_statement", "import_from_statement"):
            if _binds(statement) & used:
                imports.append(ast.unparse(ast.parse(text(statement))))
        else:
            own += [name for name in _defines(statement) if name in used and not hasattr(builtins, name)]
    return imports, sorted(set(own))


def _binds(statement: Node) -> set[str]:
    names = set()
    for name in statement.children_by_field_name("name"):
        alias = name.child_by_field_name("alias")
        names.add(text(alias) if alias is not None else text(name).partition(".")[0])
    return names


def _defines(statement: Node) -> Iterator[str]:
    inner = statement.child_by_field_name("definition") or statement
    if inner.type in ("function_definition", "class_definition"):
        yield text(field(inner, "name"))
    for assignment in (n for n in named(statement) if n.type == "assignment"):
        if field(assignment, "left").type == "identifier":
            yield text(field(assignment, "left"))


def inline_function(files: Files, path: str, function: str) -> dict[str, bytes]:
    """A helper without parameters (but its receiver) is written out where its result is assigned.

    Early returns become branches: ``if a: return x`` and then the rest is ``if a: v = x``, else the
    rest. Only assignments of the form ``v = helper()`` in the same file are rewritten.
    """
    source = files[path]
    node = function_in(source, function)
    body = statements(field(node, "body"))
    edits = []
    for assignment in descendants(parse("", source).root, "assignment"):
        right = assignment.child_by_field_name("right")
        if right is None or right.type != "call":
            continue
        if text(field(right, "function")).rpartition(".")[2] != _name(node):
            continue
        target = text(field(assignment, "left"))
        margin = " " * assignment.start_point.column
        lines = [*_branches(body, target), ""]
        written = ("\n" + margin).join(lines[:-1])
        edits.append(Edit(assignment.start_byte, assignment.end_byte, written.encode()))
    assert edits, f"nothing assigns what {function} returns"
    return {**files, path: edited(source, edits)}


def _branches(body: list[Node], target: str) -> list[str]:
    """The statements with every way through them ending in an assignment to ``target``."""
    if not body:
        return [f"{target} = None"]
    first, rest = body[0], body[1:]
    if first.type == "return_statement":
        value = named(first)
        return [f"{target} = {_flat(value[0]) if value else 'None'}"]
    if first.type == "if_statement" and any(True for _ in descendants(first, "return_statement")):
        lines = [f"if {_flat(field(first, 'condition'))}:"]
        lines += _indented(_branches([*statements(field(first, "consequence")), *rest], target))
        for clause in first.children_by_field_name("alternative"):
            if clause.type == "elif_clause":
                lines.append(f"elif {_flat(field(clause, 'condition'))}:")
                inner = statements(field(clause, "consequence"))
            else:
                lines.append("else:")
                inner = statements(field(clause, "body"))
            lines += _indented(_branches([*inner, *rest], target))
        if not any(c.type == "else_clause" for c in first.children_by_field_name("alternative")):
            lines += ["else:", *_indented(_branches(rest, target))]
        return lines
    assert not any(True for _ in descendants(first, "return_statement")), f"a return in a {first.type}"
    if first.type == "expression_statement" and named(first)[0].type == "string":
        return _branches(rest, target)  # a docstring
    return [*_lines(first), *_branches(rest, target)]


def _lines(node: Node) -> list[str]:
    return textwrap.dedent(" " * node.start_point.column + text(node)).split("\n")


def _flat(node: Node) -> str:
    """An expression on one line, in parentheses where it had several."""
    line = " ".join(text(node).split())
    return f"({line})" if "\n" in text(node) and not line.startswith("(") else line


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


# -- faults -----------------------------------------------------------------------------


def edit_nodes(files: Files, path: str, kind: str, change: Callable[[Node], str | None]) -> dict[str, bytes]:
    """The nodes of one kind in a file, each as ``change`` makes it (None: as it is)."""
    source = files[path]
    edits = [
        _put(node, new)
        for node in descendants(parse(path, source).root, kind)
        if (new := change(node)) is not None
    ]
    assert edits, f"nothing in {path} was changed"
    return {**files, path: edited(source, edits)}


def within(node: Node, function: str) -> bool:
    """Whether a node stands in a function of this name."""
    around = node.parent
    while around is not None:
        if around.type == "function_definition" and _name(around) == function:
            return True
        around = around.parent
    return False
