"""Shapes of calls: functions split in two, partial, decorators that pass through, keywords, dispatch."""

import ast
from collections.abc import Iterator

from tests.support.rewriting.files import (
    Function,
    Place,
    Source,
    binds_in_expression,
    captured,
    decorator_names,
    fresh,
    is_docstring,
    loads,
    parameters,
    places,
    statement,
    stores,
    top_level,
    uses_super,
)

# -- a function split in two ------------------------------------------------------------


def split_with_helper(source: Source) -> bool:
    """The second half of each function is a function beside it that is handed what it needs."""
    return _split_all(source, _helper_beside)


def split_with_method(source: Source) -> bool:
    """The second half of each method is a method of its own."""
    return _split_all(source, _helper_method)


def split_into_module(source: Source) -> bool:
    """The second half of each function stands in another module, imported where it is called."""
    folder, _, name = source.path.rpartition("/")
    path = f"{folder}/parts_of_{name.removesuffix('.py').strip('_')}.py"
    helpers: list[ast.stmt] = []
    globals_here = top_level(source.tree)
    for place in places(source):
        found = _split(place)
        if found is None or uses_super(*found.tail):
            continue
        tail = [_without_annotation(s) for s in found.tail]
        needed = sorted((loads(tail) & globals_here) - set(found.arguments) - stores(tail))
        brought = [statement(f"from {source.dotted} import {', '.join(needed)}")] if needed else []
        name = f"rest_of_{place.label}"
        helpers.append(_function(name, found.arguments, [*brought, *tail]))
        dotted = path.removesuffix(".py").replace("/", ".")
        place.function.body = [
            *found.head,
            statement(f"from {dotted} import {name}"),
            _returned(ast.Name(name), found.arguments),
        ]
    if helpers:
        module = ast.fix_missing_locations(ast.Module(helpers, []))
        source.extra[path] = (ast.unparse(module) + "\n").encode()
    return bool(helpers)


class _Halves:
    """A body cut where everything that the rest needs is surely bound."""

    def __init__(self, head: list[ast.stmt], tail: list[ast.stmt], arguments: list[str]) -> None:
        self.head, self.tail, self.arguments = head, tail, arguments


def _split_all(source: Source, put: object) -> bool:
    found = False
    for place in places(source):
        if (halves := _split(place)) is not None:
            found |= put(source, place, halves)  # type: ignore[operator]
    return found


def _helper_beside(source: Source, place: Place, halves: _Halves) -> bool:
    if uses_super(*halves.tail):
        return False
    name = fresh(source, f"_rest_of_{place.label}")
    helper = _function(name, halves.arguments, halves.tail)
    top = place.owner or place.function
    source.tree.body.insert(source.tree.body.index(top), helper)
    place.function.body = [*halves.head, _returned(ast.Name(name), halves.arguments)]
    return True


def _helper_method(source: Source, place: Place, halves: _Halves) -> bool:
    first = place.receiver
    if place.owner is None or first is None or first in stores(place.function.body):
        return False
    if any("dataclass" in name for name in decorator_names(place.owner)):
        return False
    arguments = [a for a in halves.arguments if a != first]
    name = f"_rest_of_{place.label}"
    place.block.insert(
        place.block.index(place.function) + 1, _function(name, [first, *arguments], halves.tail)
    )
    callee = ast.Attribute(ast.Name(first), name)
    place.function.body = [*halves.head, _returned(callee, arguments)]
    return True


def _split(place: Place) -> _Halves | None:
    function = place.function
    body = function.body
    start = 1 if is_docstring(body[0]) else 0
    order = sorted(range(start + 1, len(body)), key=lambda i: abs(i - (start + len(body)) / 2))
    for at in order:
        head, tail = body[:at], body[at:]
        known = set(parameters(function)) | _surely(head)
        needed = loads(tail) & (set(parameters(function)) | stores(body))
        bound_in_tail_alone = needed - (stores(head) | set(parameters(function)))
        if (needed - bound_in_tail_alone) <= known and not captured(head) & stores(tail):
            names = [*dict.fromkeys([*parameters(function), *sorted(known)])]
            return _Halves(head, tail, [n for n in names if n in needed - bound_in_tail_alone])
    return None


def _surely(block: list[ast.stmt]) -> set[str]:
    """Names that are bound once control has come through a block."""
    found: set[str] = set()
    for node in block:
        match node:
            case ast.Assign() | ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.ClassDef():
                found |= stores([node])
            case ast.AnnAssign(value=value) if value is not None:
                found |= stores([node])
            case ast.If(body=one, orelse=other):
                sides = [_surely(s) for s in (one, other) if not (s and _leaves(s[-1]))]
                found |= set.intersection(*sides) if sides else set()
            case ast.With(body=inside):
                found |= stores(node.items) | _surely(inside)
    return found


def _leaves(last: ast.stmt) -> bool:
    return isinstance(last, ast.Return | ast.Raise)


def _function(name: str, arguments: list[str], body: list[ast.stmt]) -> Function:
    given = ast.arguments([], [ast.arg(a) for a in arguments], None, [], [], None, [])
    return ast.FunctionDef(name, given, body, [])


def _returned(callee: ast.expr, arguments: list[str]) -> ast.stmt:
    return ast.Return(ast.Call(callee, [ast.Name(a) for a in arguments], []))


def _without_annotation(node: ast.stmt) -> ast.stmt:
    """Annotations of local variables are never evaluated."""

    class Strip(ast.NodeTransformer):
        def visit_AnnAssign(self, found: ast.AnnAssign) -> ast.stmt | None:
            if not isinstance(found.target, ast.Name):
                return found
            return ast.Assign([found.target], found.value) if found.value is not None else ast.Pass()

    return Strip().visit(node)  # type: ignore[no-any-return]


# -- partial, decorators ----------------------------------------------------------------


def through_partial(source: Source) -> bool:
    """Calls of the file's own functions and methods are made of a ``functools.partial``."""
    own = {p.function.name for p in places(source)}
    count = 0

    class Change(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            nonlocal count
            self.generic_visit(node)
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            plain = not any(isinstance(a, ast.Starred) for a in node.args)
            if name not in own or not plain or not (node.args or node.keywords) or uses_super(node.func):
                return node
            count += 1
            bound = ast.Call(
                ast.parse("_functools.partial", mode="eval").body, [node.func, *node.args[:1]], []
            )
            return ast.Call(bound, node.args[1:], node.keywords)

    for place in places(source):
        place.function.body = [Change().visit(s) for s in place.function.body]
    if count:
        source.put_first([statement("import functools as _functools")])
    return count > 0


def through_decorator(source: Source) -> bool:
    """Each function has a decorator that hands everything on."""
    allowed = {"property", "staticmethod", "classmethod", "cached_property", "functools.cached_property"}
    count = 0
    for place in places(source):
        names = decorator_names(place.function)
        magic = place.function.name.startswith("__") and place.function.name != "__init__"
        if set(names) <= allowed and not magic and not _is_declared(place):
            place.function.decorator_list.append(ast.Name("_handed_on"))
            count += 1
    if count:
        code = """
def _handed_on(function):
    @_functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)
    return call
"""
        source.put_first([statement("import functools as _functools"), statement(code.strip())])
    return count > 0


def _is_declared(place: Place) -> bool:
    return place.owner is not None and any("Protocol" in ast.unparse(b) for b in place.owner.bases)


# -- keywords and positions -------------------------------------------------------------


def by_keyword(source: Source) -> bool:
    """What calls of the file's own private functions hand over in order is handed over by name."""
    return _arguments(source, _named)


def by_position(source: Source) -> bool:
    """What they hand over by name is handed over in order."""
    return _arguments(source, _ordered)


def _arguments(source: Source, change: object) -> bool:
    known = dict(_signatures(source))
    count = 0

    class Change(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            nonlocal count
            self.generic_visit(node)
            match node.func:
                case ast.Name(id=name):
                    names = known.get(name)
                case ast.Attribute(value=ast.Name(id="self"), attr=name) if name.startswith("_"):
                    names = known.get(f"self.{name}")
                case _:
                    names = None
            unclear = any(isinstance(a, ast.Starred) for a in node.args) or any(
                k.arg is None for k in node.keywords
            )
            if names is not None and not unclear and change(node, names):  # type: ignore[operator]
                count += 1
            return node

    for place in places(source):
        place.function.body = [Change().visit(s) for s in place.function.body]
    return count > 0


def _named(node: ast.Call, names: list[str]) -> bool:
    if not node.args or len(node.args) > len(names):
        return False
    handed = [ast.keyword(name, value) for name, value in zip(names, node.args, strict=False)]
    node.args, node.keywords = [], [*handed, *node.keywords]
    return True


def _ordered(node: ast.Call, names: list[str]) -> bool:
    rest = names[len(node.args) :]
    moved = 0
    while moved < min(len(rest), len(node.keywords)) and node.keywords[moved].arg == rest[moved]:
        moved += 1
    node.args += [k.value for k in node.keywords[:moved]]
    node.keywords = node.keywords[moved:]
    return moved > 0


def _signatures(source: Source) -> Iterator[tuple[str, list[str]]]:
    """Functions of the module, and private methods that one class defines."""
    seen: dict[str, list[str] | None] = {}
    for place in places(source):
        function = place.function
        if place.owner is None and not function.decorator_list and not function.args.posonlyargs:
            yield function.name, [a.arg for a in function.args.args]
        elif place.receiver == "self" and not function.args.posonlyargs:
            key = f"self.{function.name}"
            names = [a.arg for a in function.args.args[1:]]
            seen[key] = None if key in seen or function.decorator_list else names
    yield from ((key, names) for key, names in seen.items() if names is not None)


# -- dispatch ---------------------------------------------------------------------------


def dict_dispatch(source: Source) -> bool:
    """A choice between two values is looked up in a dictionary of functions that make them."""
    count = 0

    class Change(ast.NodeTransformer):
        def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
            nonlocal count
            self.generic_visit(node)
            if uses_super(node) or binds_in_expression(node):
                return node
            count += 1
            return _looked_up(node.test, node.body, node.orelse)

        def visit_If(self, node: ast.If) -> ast.stmt:
            nonlocal count
            self.generic_visit(node)
            if uses_super(node) or binds_in_expression(node):
                return node
            match node:
                case ast.If(body=[ast.Return(value=one)], orelse=[ast.Return(value=other)]) if one and other:
                    count += 1
                    return ast.Return(_looked_up(node.test, one, other))
                case ast.If(
                    body=[ast.Assign(targets=[first], value=one)],
                    orelse=[ast.Assign(targets=[second], value=other)],
                ) if ast.dump(first) == ast.dump(second) and not isinstance(first, ast.Tuple):
                    count += 1
                    return ast.Assign([first], _looked_up(node.test, one, other))
            return node

        def visit_FunctionDef(self, node: Function) -> Function:
            return node

        def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
            return node

    for place in places(source):
        body = place.function.body
        match body[-2:]:
            case [ast.If(body=[ast.Return(value=one)], orelse=[]) as branch, ast.Return(value=other)] if (
                one and other
            ):
                branch.orelse = [body.pop()]
        place.function.body = [Change().visit(s) for s in body]
    return count > 0


def _looked_up(test: ast.expr, one: ast.expr, other: ast.expr) -> ast.expr:
    table = ast.Dict([ast.Constant(True), ast.Constant(False)], [_deferred(one), _deferred(other)])
    asked = ast.Call(ast.Name("bool"), [test], [])
    return ast.Call(ast.Subscript(table, asked), [], [])


def _deferred(value: ast.expr) -> ast.expr:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


def method_dispatch(source: Source) -> bool:
    """What method is meant is looked up in a dictionary instead of compared."""
    count = 0

    class Change(ast.NodeTransformer):
        def visit_Compare(self, node: ast.Compare) -> ast.expr:
            nonlocal count
            self.generic_visit(node)
            match node:
                case ast.Compare(
                    left=ast.Attribute(attr="method") as asked,
                    ops=[ast.Eq()],
                    comparators=[ast.Constant(value=str()) as word],
                ):
                    words: list[ast.expr] = [word]
                case ast.Compare(
                    left=ast.Attribute(attr="method") as asked,
                    ops=[ast.In()],
                    comparators=[ast.Tuple(elts=words) | ast.List(elts=words) | ast.Set(elts=words)],
                ) if all(isinstance(w, ast.Constant) for w in words):
                    pass
                case _:
                    return node
            count += 1
            table = ast.Dict(list(words), [ast.Constant(True) for _ in words])
            return ast.Call(ast.Attribute(table, "get"), [asked, ast.Constant(False)], [])

    for place in places(source):
        place.function.body = [Change().visit(s) for s in place.function.body]
    return count > 0
