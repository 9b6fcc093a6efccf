"""Shapes of control flow: match, nested and early returns, one exit, walrus, loops and comprehensions."""

import ast
from collections.abc import Callable

from tests.support.rewriting.files import (
    COMPREHENSIONS,
    Function,
    Source,
    binds_in_expression,
    blocks,
    captured,
    is_docstring,
    loads,
    parameters,
    places,
    statement,
    stores,
    uses_super,
)


class _Inside(ast.NodeTransformer):
    """Goes through a function without entering those inside it."""

    count = 0

    def visit_FunctionDef(self, node: Function) -> Function:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node


def _everywhere(source: Source, change: Callable[[], _Inside]) -> bool:
    count = 0
    for place in places(source):
        visitor = change()
        place.function.body = [visitor.visit(s) for s in place.function.body]
        count += visitor.count
    return count > 0


def _statement_lists(source: Source, change: Callable[[list[ast.stmt], Function], bool]) -> bool:
    found = False
    for place in places(source):
        for block in list(blocks(place.function)):
            found |= change(block, place.function)
    return found


# -- conditions -------------------------------------------------------------------------


def match_statement(source: Source) -> bool:
    """Each ``if`` with an ``elif`` or ``else`` is a ``match``: over the value that all conditions compare, or
    over nothing, with guards."""

    class Change(_Inside):
        def visit_If(self, node: ast.If) -> ast.stmt:
            chain: list[tuple[ast.expr, list[ast.stmt]]] = []
            rest: list[ast.stmt] = [node]
            while len(rest) == 1 and isinstance(rest[0], ast.If):
                chain.append((rest[0].test, rest[0].body))
                rest = rest[0].orelse
            if not rest and len(chain) == 1:
                self.generic_visit(node)
                return node
            self.count += 1
            bodies = [[self.visit(s) for s in body] for _, body in chain]
            otherwise = [self.visit(s) for s in rest]
            subject, cases = _over_a_value([test for test, _ in chain], bodies) or (
                ast.Constant(True),
                [
                    ast.match_case(ast.MatchAs(), test, body)
                    for (test, _), body in zip(chain, bodies, strict=True)
                ],
            )
            if otherwise:
                cases.append(ast.match_case(ast.MatchAs(), None, otherwise))
            return ast.Match(subject, cases)

    return _everywhere(source, Change)


def _over_a_value(
    tests: list[ast.expr], bodies: list[list[ast.stmt]]
) -> tuple[ast.expr, list[ast.match_case]] | None:
    subjects, patterns = set(), []
    subject: ast.expr | None = None
    for test in tests:
        match test:
            case ast.Compare(
                left=ast.Name() | ast.Attribute() as left,
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=str() | int())],
            ):
                patterns.append(ast.MatchValue(test.comparators[0]))
                subjects.add(ast.dump(left))
                subject = left
            case _:
                return None
    if (
        subject is None
        or len(subjects) != 1
        or any(isinstance(p.value, ast.Constant) and isinstance(p.value.value, bool) for p in patterns)
    ):
        return None
    return subject, [ast.match_case(p, None, b) for p, b in zip(patterns, bodies, strict=True)]


def nested_ifs(source: Source) -> bool:
    """What follows an early return stands in its ``else``."""

    def change(block: list[ast.stmt], function: Function) -> bool:
        found = False
        for at in range(len(block) - 2, -1, -1):
            node = block[at]
            if isinstance(node, ast.If) and _ends(node.body) and not _chain_end(node).orelse:
                _chain_end(node).orelse = block[at + 1 :]
                del block[at + 1 :]
                found = True
        return found

    return _statement_lists(source, change)


def _chain_end(node: ast.If) -> ast.If:
    """The last ``elif`` behind which an ``else`` may stand, as long as each side leaves."""
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If) and _ends(node.orelse[0].body):
        node = node.orelse[0]
    return node


def early_returns(source: Source) -> bool:
    """What stands in an ``else`` behind a side that leaves follows on the same level."""

    def change(block: list[ast.stmt], function: Function) -> bool:
        found = False
        at = 0
        while at < len(block):
            node = block[at]
            if isinstance(node, ast.If) and node.orelse and _ends(node.body):
                block[at + 1 : at + 1] = node.orelse
                node.orelse = []
                found = True
            at += 1
        return found

    return _statement_lists(source, change)


def _ends(block: list[ast.stmt]) -> bool:
    match block[-1]:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.If(body=one, orelse=other) if other:
            return _ends(one) and _ends(other)
    return False


def turned_conditions(source: Source) -> bool:
    """Each ``if`` with an ``else`` asks the opposite first."""

    class Change(_Inside):
        def visit_If(self, node: ast.If) -> ast.stmt:
            self.generic_visit(node)
            if node.orelse and not binds_in_expression(node.test):
                self.count += 1
                node.test, node.body, node.orelse = ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body
            return node

        def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
            self.generic_visit(node)
            self.count += 1
            return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)

    return _everywhere(source, Change)


def one_exit(source: Source) -> bool:
    """A function whose every return is the last thing on its path keeps its result and returns at the end."""
    found = False
    for place in places(source):
        body = place.function.body
        every = [n for n in ast.walk(place.function) if isinstance(n, ast.Return)]
        nested = {
            id(r)
            for n in ast.walk(place.function)
            if n is not place.function and isinstance(n, ast.FunctionDef)
            for r in ast.walk(n)
        }
        own = [n for n in every if id(n) not in nested]
        last = _last_returns(body)
        if len(own) < 2 or {id(n) for n in last} != {id(n) for n in own}:
            continue
        _kept(body)
        body.insert(1 if is_docstring(body[0]) else 0, statement("result_of_it = None"))
        body.append(statement("return result_of_it"))
        found = True
    return found


def _last_returns(block: list[ast.stmt]) -> list[ast.Return]:
    match block[-1] if block else None:
        case ast.Return() as node:
            return [node]
        case ast.If(body=one, orelse=other):
            return _last_returns(one) + _last_returns(other)
    return []


def _kept(block: list[ast.stmt]) -> None:
    match block[-1] if block else None:
        case ast.Return(value=value):
            block[-1] = ast.Assign([ast.Name("result_of_it")], value or ast.Constant(None))
        case ast.If(body=one, orelse=other):
            _kept(one)
            _kept(other)


# -- assignments ------------------------------------------------------------------------


def walrus(source: Source) -> bool:
    """A variable that is assigned and asked for at once is bound in the condition that asks."""

    def change(block: list[ast.stmt], function: Function) -> bool:
        found = False
        for at in range(len(block) - 2, -1, -1):
            match block[at], block[at + 1]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value), ast.If() as branch:
                    if not isinstance(value, ast.Yield) and _bind_first(branch, "test", name, value):
                        del block[at]
                        found = True
        return found

    return _statement_lists(source, change)


def _bind_first(owner: ast.AST, field: str, name: str, value: ast.expr) -> bool:
    """Put the binding where an expression looks at the name, when that is the first thing it does."""
    node = getattr(owner, field)
    match node:
        case ast.Name(id=found) if found == name:
            setattr(owner, field, ast.NamedExpr(ast.Name(name, ast.Store()), value))
            return True
        case ast.UnaryOp():
            return _bind_first(node, "operand", name, value)
        case ast.Compare() | ast.BinOp():
            return _bind_first(node, "left", name, value)
        case ast.Attribute() | ast.Subscript():
            return _bind_first(node, "value", name, value)
        case ast.BoolOp(values=[ast.Name(id=found), *_]) if found == name:
            node.values[0] = ast.NamedExpr(ast.Name(name, ast.Store()), value)
            return True
        case ast.BoolOp(values=[first, *_]):
            return not isinstance(first, ast.Name) and _bind_in(node.values, name, value)
    return False


def _bind_in(values: list[ast.expr], name: str, value: ast.expr) -> bool:
    match values[0]:
        case ast.UnaryOp() | ast.Compare() | ast.BinOp() | ast.Attribute() | ast.Subscript() as node:
            field = {"UnaryOp": "operand", "Compare": "left", "BinOp": "left"}.get(
                type(node).__name__, "value"
            )
            return _bind_first(node, field, name, value)
    return False


# -- loops ------------------------------------------------------------------------------


def loops_for_comprehensions(source: Source) -> bool:
    """A list, set or dict that is assigned or returned from a comprehension is filled in a loop."""
    number = 0

    def change(block: list[ast.stmt], function: Function) -> bool:
        nonlocal number
        found = False
        for at in range(len(block) - 1, -1, -1):
            match block[at]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in loads([value]):
                    made, last = name, []
                case ast.Return(value=value):
                    made, last = "filled_in_a_loop", [statement("return filled_in_a_loop")]
                case _:
                    continue
            match value:
                case ast.Call(
                    func=ast.Name(id="list" | "tuple" | "set" as kind),
                    args=[ast.GeneratorExp() as inner],
                    keywords=[],
                ):
                    pass
                case ast.ListComp() | ast.SetComp() | ast.DictComp() as inner:
                    kind = {"ListComp": "list", "SetComp": "set"}.get(type(inner).__name__, "dict")
                case _:
                    continue
            if (
                binds_in_expression(inner)
                or any(g.is_async for g in inner.generators)
                or any(
                    isinstance(n, (ast.Lambda, *COMPREHENSIONS)) and n is not inner for n in ast.walk(inner)
                )
            ):
                continue
            number += 1
            filled = (
                f"{made}_filled_{number}" if kind == "tuple" or made in _captured_here(function) else made
            )
            lines = _loop(inner, kind, filled, number)
            if filled != made:
                value_of = f"tuple({filled})" if kind == "tuple" else filled
                lines.append(statement(f"{made} = {value_of}"))
            block[at : at + 1] = [*lines, *last]
            found = True
        return found

    return _statement_lists(source, change)


def _captured_here(function: Function) -> set[str]:
    return captured(function.body)


def _loop(inner: ast.AST, kind: str, made: str, number: int) -> list[ast.stmt]:
    """``made`` filled as the comprehension would; its variables get names of their own."""
    assert isinstance(inner, COMPREHENSIONS)
    names = {n.id for g in inner.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    first = inner.generators[0].iter

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id in names and node not in outside:
                return ast.Name(f"{node.id}_{number}", node.ctx)
            return node

    outside = set(ast.walk(first))  # evaluated before any variable of the comprehension is bound
    Rename().visit(inner)
    match kind, inner:
        case "dict", ast.DictComp(key=key, value=value):
            body: ast.stmt = ast.Assign([ast.Subscript(ast.Name(made), key, ast.Store())], value)
        case _:
            assert not isinstance(inner, ast.DictComp)
            add = "add" if kind == "set" else "append"
            body = ast.Expr(ast.Call(ast.Attribute(ast.Name(made), add), [inner.elt], []))
    for each in reversed(inner.generators):
        for test in reversed(each.ifs):
            body = ast.If(test, [body], [])
        body = ast.For(each.target, each.iter, [body], [])
    empty = {"set": "set()", "dict": "{}"}.get(kind, "[]")
    return [statement(f"{made} = {empty}"), body]


def comprehensions_for_loops(source: Source) -> bool:
    """A list that a loop fills, and nothing else in it, is a comprehension."""

    def change(block: list[ast.stmt], function: Function) -> bool:
        found = False
        for at in range(len(block) - 2, -1, -1):
            match block[at], block[at + 1]:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])),
                    ast.For(target=target, iter=each, body=[inner], orelse=[]),
                ):
                    tests: list[ast.expr] = []
                    while isinstance(inner, ast.If) and not inner.orelse and len(inner.body) == 1:
                        tests.append(inner.test)
                        inner = inner.body[0]
                    match inner:
                        case ast.Expr(
                            value=ast.Call(
                                func=ast.Attribute(value=ast.Name(id=filled), attr="append"),
                                args=[value],
                                keywords=[],
                            )
                        ) if filled == name:
                            pass
                        case _:
                            continue
                    parts = [each, value, *tests]
                    bound = stores([target])
                    elsewhere = sum(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(function))
                    here = sum(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(block[at + 1]))
                    if (
                        name in loads(parts)
                        or binds_in_expression(*parts)
                        or elsewhere != here
                        or uses_super(*parts)
                        or bound & set(parameters(function))
                    ):
                        continue
                    made = ast.ListComp(value, [ast.comprehension(target, each, tests, 0)])
                    block[at : at + 2] = [ast.Assign([ast.Name(name)], made)]
                    found = True
        return found

    return _statement_lists(source, change)
