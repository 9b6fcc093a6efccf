"""A tree of files and the rewrites of it: which functions may be touched, and how a file is written anew."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Files: TypeAlias = Mapping[str, bytes]
Function: TypeAlias = ast.FunctionDef
Scope: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
UNTOUCHABLE = ("jit", "overload", "compile", "kernel", "script")
"""Parts of decorators' names: such functions are read by a compiler that knows few shapes."""
READS_ITSELF = ("locals", "globals", "vars", "eval", "exec", "dir", "_getframe", "currentframe")


@dataclass
class Source:
    """One file while it is rewritten. ``extra``: new files that the rewrite needs."""

    path: str
    tree: ast.Module
    everything: Files
    extra: dict[str, bytes] = field(default_factory=dict)

    @property
    def dotted(self) -> str:
        """The name by which the file is imported."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def put_first(self, statements: Iterable[ast.stmt]) -> None:
        """Statements go to the top, behind the docstring and the imports from ``__future__``."""
        first = [
            is_docstring(each) or (isinstance(each, ast.ImportFrom) and each.module == "__future__")
            for each in self.tree.body
        ]
        at = first.index(False) if False in first else len(first)
        self.tree.body[at:at] = list(statements)


Shape: TypeAlias = Callable[[Source], bool]
"""Rewrites one file's tree in place; says whether it found anything."""


def rewritten(files: Files, paths: Iterable[str], shape: Shape) -> dict[str, bytes]:
    """The files with a shape applied to these paths, wherever it fits."""
    result = dict(files)
    for path in paths:
        source = Source(path, ast.parse(files[path]), files)
        if shape(source):
            ast.fix_missing_locations(source.tree)
            result[path] = (ast.unparse(source.tree) + "\n").encode()
            result.update(source.extra)
    return result


def is_docstring(statement: ast.stmt) -> bool:
    """A string that stands alone."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


@dataclass(frozen=True)
class Place:
    """A function, the class that it stands in, and the statement list that holds it."""

    function: Function
    owner: ast.ClassDef | None
    block: list[ast.stmt]

    @property
    def label(self) -> str:
        """A name of its own within the file."""
        return f"{self.owner.name}_{self.function.name}" if self.owner is not None else self.function.name

    @property
    def receiver(self) -> str | None:
        """``self`` of a plain method or property; None of any other function."""
        given = self.function.args.posonlyargs + self.function.args.args
        if self.owner is None or not given:
            return None
        return (
            given[0].arg
            if not set(decorator_names(self.function)) & {"staticmethod", "classmethod"}
            else None
        )


def places(source: Source) -> Iterator[Place]:
    """Functions and methods that may be rewritten: plain ones that do not look at themselves."""
    yield from _places(source.tree.body, None)


def _places(block: list[ast.stmt], owner: ast.ClassDef | None) -> Iterator[Place]:
    for statement in list(block):
        if isinstance(statement, ast.ClassDef) and owner is None:
            yield from _places(statement.body, statement)
        elif isinstance(statement, ast.FunctionDef) and touchable(statement):
            yield Place(statement, owner, block)


def touchable(function: Function) -> bool:
    """Whether nothing in a function depends on how it is written."""
    if any(part in name for name in decorator_names(function) for part in UNTOUCHABLE):
        return False
    for node in ast.walk(function):
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.Global | ast.Nonlocal):
            return False
        if isinstance(node, ast.Name) and (node.id in READS_ITSELF or mangled(node.id)):
            return False
        if isinstance(node, ast.Attribute) and (node.attr in READS_ITSELF or mangled(node.attr)):
            return False
    return True


def mangled(name: str) -> bool:
    """A name that means something else outside its class (``__x``), or ``__class__``."""
    return name == "__class__" or (name.startswith("__") and not name.endswith("__"))


def decorator_names(node: Function | ast.ClassDef) -> list[str]:
    """The decorators as written, without arguments."""
    return [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]


def uses_super(*nodes: ast.AST) -> bool:
    """Whether ``super`` is called: it needs the class around it and the first parameter."""
    return any(isinstance(n, ast.Name) and n.id == "super" for node in nodes for n in ast.walk(node))


def binds_in_expression(*nodes: ast.AST) -> bool:
    """Whether an expression assigns (``:=``) or waits, so that it cannot move into a function."""
    kinds = ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom
    return any(isinstance(n, kinds) for node in nodes for n in ast.walk(node))


def loads(nodes: Iterable[ast.AST]) -> set[str]:
    """Every name that is read, changed or deleted, in nested functions too."""
    found: set[str] = set()
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Store):
                found.add(inner.id)
            elif isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
                found.add(inner.target.id)
    return found


def stores(nodes: Iterable[ast.AST]) -> set[str]:
    """Every name that is bound in the scope that these nodes stand in."""
    found: set[str] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        elif isinstance(node, ast.Lambda):
            continue
        elif isinstance(node, COMPREHENSIONS):
            found |= {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
            continue
        todo.extend(ast.iter_child_nodes(node))
    return found


def parameters(function: Function) -> list[str]:
    """The names of a function's parameters, in order."""
    args = function.args
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [each.arg for each in every if each is not None]


def captured(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that nested functions read: they see what is bound later, too."""
    inner = (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)
    return loads(n for node in nodes for n in ast.walk(node) if isinstance(n, inner))


def top_level(tree: ast.Module) -> set[str]:
    """Names that a module binds."""
    return stores(tree.body)


def fresh(source: Source, name: str) -> str:
    """A name that the file does not use."""
    used = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)} | top_level(source.tree)
    while name in used:
        name += "_"
    return name


def statement(code: str) -> ast.stmt:
    """One statement of source."""
    return ast.parse(code).body[0]


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every statement list inside a node, its own first; nested functions and classes left out."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
            for inner in block:
                if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield from blocks(inner)
    for inner in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
        yield from blocks(inner)
