"""Shapes of names: constants kept elsewhere, aliases, ``getattr``, imports renamed and moved."""

import ast
import re
from collections.abc import Callable, Iterable

from tests.support.rewriting.files import (
    Files,
    Function,
    Source,
    captured,
    is_docstring,
    loads,
    places,
    statement,
    stores,
    top_level,
    uses_super,
)

# -- constants --------------------------------------------------------------------------


def constants_at_the_top(source: Source) -> bool:
    """Texts and numbers inside functions are constants of the module."""
    return _constants(source, _plain)


def constants_in_an_enum(source: Source) -> bool:
    """They are members of an enumeration."""
    return _constants(source, _enumeration)


def constants_in_a_dataclass(source: Source) -> bool:
    """They are fields of one object of a frozen dataclass."""
    return _constants(source, _fields)


Kept = Callable[[dict[object, str]], tuple[list[str], Callable[[str], str]]]


def _plain(names: dict[object, str]) -> tuple[list[str], Callable[[str], str]]:
    return [f"{name} = {value!r}" for value, name in names.items()], lambda name: name


def _enumeration(names: dict[object, str]) -> tuple[list[str], Callable[[str], str]]:
    members = "".join(f"    {name} = {value!r}\n" for value, name in names.items())
    code = ["import enum as _enum", f"class _Words(_enum.Enum):\n{members}"]
    return code, lambda name: f"_Words.{name}.value"


def _fields(names: dict[object, str]) -> tuple[list[str], Callable[[str], str]]:
    members = "".join(f"    {name}: {type(value).__name__} = {value!r}\n" for value, name in names.items())
    code = [
        "import dataclasses as _dataclasses",
        f"@_dataclasses.dataclass(frozen=True)\nclass _Words:\n{members}",
        "_words = _Words()",
    ]
    return code, lambda name: f"_words.{name}"


def _constants(source: Source, keep: Kept) -> bool:
    names: dict[object, str] = {}

    class Change(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.expr:
            value = node.value
            plain = isinstance(value, str) or (type(value) is int and value > 1)
            if not plain:
                return node
            word = re.sub(r"\W+", "_", str(value)).strip("_")[:24].upper()
            name = names.setdefault(value, f"C{len(names)}_{word}")
            return ast.Name(f"__kept__{name}")

        def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
            return node

        def visit_MatchValue(self, node: ast.MatchValue) -> ast.MatchValue:
            return node

        def visit_Expr(self, node: ast.Expr) -> ast.Expr:
            return node if is_docstring(node) else self.generic_visit(node)  # type: ignore[return-value]

        def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
            if node.value is not None:
                node.value = self.visit(node.value)
            return node

        def visit_FunctionDef(self, node: Function) -> Function:
            node.body = [self.visit(s) for s in node.body]
            return node

    for place in places(source):
        place.function.body = [Change().visit(s) for s in place.function.body]
    if not names:
        return False
    code, use = keep(names)

    class Use(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id.startswith("__kept__"):
                return ast.parse(use(node.id.removeprefix("__kept__")), mode="eval").body
            return node

    source.tree = Use().visit(source.tree)
    source.put_first([statement(line) for line in code])
    return True


# -- aliases ----------------------------------------------------------------------------


def receiver_renamed(source: Source) -> bool:
    """``self`` goes by another name after the first line."""
    found = False
    for place in places(source):
        first, function = place.receiver, place.function
        used = first is not None and first in loads(function.body) and first not in stores(function.body)
        if not used or uses_super(function) or first in captured([]):
            continue
        at = 1 if is_docstring(function.body[0]) else 0

        class Rename(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name, first: str | None = first) -> ast.Name:
                return ast.Name("this_one", node.ctx) if node.id == first else node

        if any(first in parameters_of(n) for n in ast.walk(function) if n is not function):
            continue
        function.body[at:] = [
            statement(f"this_one = {first}"),
            *(Rename().visit(s) for s in function.body[at:]),
        ]
        found = True
    return found


def parameters_of(node: ast.AST) -> list[str]:
    """The parameters of a function or lambda; nothing of any other node."""
    return (
        [a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)]
        if isinstance(node, ast.FunctionDef | ast.Lambda)
        else []
    )


def attribute_aliases(source: Source) -> bool:
    """Objects that a constructor keeps (``self.vllm_config``) go by a local name where they are used."""
    found = False
    for place in places(source):
        function, first = place.function, place.receiver
        if (
            first is None
            or place.owner is None
            or function.name == "__init__"
            or first in stores(function.body)
        ):
            continue
        kept = _kept_by_constructor(place.owner)
        used = {
            n.attr
            for n in ast.walk(function)
            if isinstance(n, ast.Attribute) and _is(n.value, first) and n.attr in kept
        }
        used -= {
            n.attr
            for n in ast.walk(function)
            if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)
        }
        if not used or any(first in parameters_of(n) for n in ast.walk(function) if n is not function):
            continue
        names = {attribute: f"its_{attribute.strip('_')}" for attribute in sorted(used)}

        class Use(ast.NodeTransformer):
            def visit_Attribute(
                self, node: ast.Attribute, first: str = first, names: dict[str, str] = names
            ) -> ast.expr:
                if _is(node.value, first) and node.attr in names:
                    return ast.Name(names[node.attr])
                self.generic_visit(node)
                return node

        at = 1 if is_docstring(function.body[0]) else 0
        lines = [statement(f"{name} = {first}.{attribute}") for attribute, name in names.items()]
        function.body[at:] = [*lines, *(Use().visit(s) for s in function.body[at:])]
        found = True
    return found


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _kept_by_constructor(owner: ast.ClassDef) -> set[str]:
    """Configs that ``__init__`` itself keeps, whatever happens, and that nothing else of the class sets."""
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return {
                target.attr
                for line in node.body
                if isinstance(line, ast.Assign)
                for target in line.targets
                if isinstance(target, ast.Attribute)
                and _is(target.value, "self")
                and target.attr.endswith("config")
            }
    return set()


def getattr_for_attributes(source: Source) -> bool:
    """Attributes are asked for by ``getattr``."""
    count = 0

    class Change(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            nonlocal count
            self.generic_visit(node)
            if not isinstance(node.ctx, ast.Load) or (
                isinstance(node.value, ast.Name) and node.value.id in outer
            ):
                return node
            count += 1
            return ast.Call(ast.Name("getattr"), [node.value, ast.Constant(node.attr)], [])

        def visit_Call(self, node: ast.Call) -> ast.expr:
            if isinstance(node.func, ast.Attribute):  # methods are called as they were
                node.func.value = self.visit(node.func.value)
                node.args = [self.visit(a) for a in node.args]
                node.keywords = [self.visit(k) for k in node.keywords]
                return node
            self.generic_visit(node)
            return node

        def visit_MatchValue(self, node: ast.MatchValue) -> ast.MatchValue:
            return node

        def visit_FunctionDef(self, node: Function) -> Function:
            node.body = [self.visit(s) for s in node.body]
            return node

        def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
            if node.value is not None:
                node.value = self.visit(node.value)
            return node

    outer = top_level(source.tree)
    for place in places(source):
        place.function.body = [Change().visit(s) for s in place.function.body]
    return count > 0


def getattr_for_methods(source: Source) -> bool:
    """The object's own methods are asked for by ``getattr`` before they are called."""
    count = 0

    class Change(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            nonlocal count
            self.generic_visit(node)
            if isinstance(node.func, ast.Attribute) and _is(node.func.value, "self"):
                count += 1
                node.func = ast.Call(ast.Name("getattr"), [node.func.value, ast.Constant(node.func.attr)], [])
            return node

    for place in places(source):
        place.function.body = [Change().visit(s) for s in place.function.body]
    return count > 0


# -- imports ----------------------------------------------------------------------------


def imports_aliased(source: Source) -> bool:
    """What is imported from the package goes by another name in the file."""
    names = {name: f"{name.strip('_')}_of_theirs" for name in _own_imports(source)}
    if not names:
        return False

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.Name(names.get(node.id, node.id), node.ctx)

    for line in source.tree.body:
        if isinstance(line, ast.ImportFrom):
            for alias in line.names:
                bound = alias.asname or alias.name
                alias.asname = names.get(bound, alias.asname)
    source.tree = Rename().visit(source.tree)
    return True


def imports_inside(source: Source) -> bool:
    """What only functions use is imported inside each function that uses it."""
    wanted = _own_imports(source)
    outside = _used_outside(source.tree)
    moved = {name: line for name, line in wanted.items() if name not in outside}
    if not moved:
        return False
    for place_block in _functions(source.tree.body):
        needed = [moved[name] for name in moved if name in loads(place_block.body)]
        at = 1 if is_docstring(place_block.body[0]) else 0
        place_block.body[at:at] = [statement(line) for line in needed]
    for line in source.tree.body:
        if isinstance(line, ast.ImportFrom):
            line.names = [a for a in line.names if (a.asname or a.name) not in moved]
    source.tree.body = [n for n in source.tree.body if not (isinstance(n, ast.ImportFrom) and not n.names)]
    return True


def _functions(block: Iterable[ast.stmt]) -> Iterable[Function]:
    for node in block:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body)


def _used_outside(tree: ast.Module) -> set[str]:
    """Names that are needed while the module itself is run: bases, decorators, defaults, annotations."""
    inside = {id(n) for f in _functions(tree.body) for s in f.body for n in ast.walk(s)}
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in inside}
    quoted = {
        w
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in inside
        for w in re.findall(r"\w+", n.value)
    }
    rest = {
        n.id
        for node in tree.body
        if not isinstance(node, ast.FunctionDef | ast.ClassDef)
        for n in ast.walk(node)
        if isinstance(n, ast.Name)
    }
    return names | quoted | rest


def _own_imports(source: Source) -> dict[str, str]:
    """Names that plain ``from ... import`` lines at the top bring from the same package, and that no other
    file takes from here: name -> the line that brings it alone."""
    package = source.path.partition("/")[0]
    found: dict[str, str] = {}
    if source.path.endswith("__init__.py"):
        return found
    for line in source.tree.body:
        if isinstance(line, ast.ImportFrom) and (line.level or (line.module or "").split(".")[0] == package):
            for alias in line.names:
                if alias.name != "*":
                    bound = alias.asname or alias.name
                    kept = f" as {alias.asname}" if alias.asname else ""
                    found[bound] = f"from {'.' * line.level}{line.module or ''} import {alias.name}{kept}"
    stored = [n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    given = {
        p
        for f in ast.walk(source.tree)
        if isinstance(f, ast.FunctionDef | ast.Lambda)
        for p in parameters_of(f)
    }
    defined = {n.name for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    bound_twice = set(stored) | given | defined | _imported_inside(source.tree)
    taken = _taken_from(source)
    return {name: line for name, line in found.items() if name not in bound_twice | taken}


def _imported_inside(tree: ast.Module) -> set[str]:
    top = {id(n) for n in tree.body}
    lines = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom) and id(n) not in top]
    return stores(lines)


def _taken_from(source: Source) -> set[str]:
    """Names that other files import from this one, or ask its module for."""
    stem = source.dotted.rpartition(".")[2].encode()
    found: set[str] = set()
    pattern = re.compile(
        rb"(?:from\s+[\w.]*" + stem + rb"\s+import\s+(\([^)]*\)|[^\n]*)|\b" + stem + rb"\.(\w+))"
    )
    for path, content in source.everything.items():
        if path != source.path and path.endswith(".py") and stem in content:
            for match in pattern.finditer(content):
                found |= set(re.findall(r"\w+", (match[1] or match[2] or b"").decode()))
    return found


# -- helpers renamed --------------------------------------------------------------------


def private_names_changed(files: Files, paths: Iterable[str]) -> dict[str, bytes]:
    """Private functions, methods and attributes of these files are called otherwise, everywhere."""
    pattern = re.compile(rb"\b_(?!_)[a-z][a-z0-9_]{3,}\b")
    names: set[bytes] = set()
    for path in paths:
        for node in ast.walk(ast.parse(files[path])):
            match node:
                case ast.FunctionDef(name=name) | ast.Attribute(attr=name, ctx=ast.Store()):
                    if pattern.fullmatch(name.encode()):
                        names.add(name.encode())
    modules = {part.encode() for path in files for part in path.removesuffix(".py").split("/")}
    names -= modules

    def other(match: re.Match[bytes]) -> bytes:
        return b"_own" + match[0] if match[0] in names else match[0]

    return {p: pattern.sub(other, c) if p.endswith(".py") else c for p, c in files.items()}
