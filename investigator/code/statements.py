"""Statements of the subset. Both sides of an undecided condition are followed and joined."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import native
from investigator.code.branching import Leave, Return, Signal, fork, settle
from investigator.code.expressions import assign, binary, evaluate, render, why
from investigator.code.heap import join_values
from investigator.code.program import imports
from investigator.code.syntax import decorators, definition, named, text
from investigator.code.syntax import field as child
from investigator.code.syntax import statements as statements_of
from investigator.code.trace import Happening
from investigator.code.values import (
    Builtin,
    ClassValue,
    ExceptionValue,
    External,
    FunctionValue,
    Instance,
    Raised,
    Scope,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Frame, Interpreter


# -- functions -------------------------------------------------------------------------


def run_function(
    interp: Interpreter, function: FunctionValue, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """Call a function: bind its parameters, run its body, join early returns."""
    from investigator.code.interpreter import Frame

    frame = Frame(Scope(function.module, parent=function.scope), function, args[0] if args else None)
    bind_parameters(interp, frame, function, args, kwargs)
    interp.note(
        Happening.CALL, function.qualified_name, dict(frame.scope.variables), frame, _name_node(function.node)
    )
    if function.node.type == "lambda":
        return evaluate(interp, frame, child(function.node, "body"))
    body = child(function.node, "body")
    try:
        signal = run_block(interp, frame, body)
    except Raised:
        # A path that returned early stays; the one that raises is left out.
        early = [d for d in frame.deferred if isinstance(d.signal, Return)]
        if not early:
            settle(interp, frame, 0, lambda deferred: True)
            raise
        signal = early[-1].signal
    value = signal.value if isinstance(signal, Return) else None
    for deferred in frame.deferred:
        if isinstance(deferred.signal, Return):
            value = join_values(value, deferred.signal.value, deferred.because)
    settle(interp, frame, 0, lambda deferred: True)
    if _is_generator(body):
        return frame.yielded
    return value


def _name_node(node: Node) -> Node:
    return node.child_by_field_name("name") or node


def _is_generator(body: Node) -> bool:
    if b"yield" not in (body.text or b""):
        return False
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type == "yield":
            return True
        if node.type not in ("function_definition", "lambda", "class_definition"):
            stack.extend(node.named_children)
    return False


def bind_parameters(
    interp: Interpreter,
    frame: Frame,
    function: FunctionValue,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> None:
    """Bind arguments to parameters. Raises Raised(TypeError) as Python would."""
    from investigator.code.interpreter import Frame as NewFrame

    listed = function.node.child_by_field_name("parameters")
    variables = frame.scope.variables
    positional = list(args)
    rest = dict(kwargs)
    keyword_only = False
    for parameter in named(listed) if listed is not None else ():
        kind = parameter.type
        if kind == "keyword_separator" or text(parameter) == "*":
            keyword_only = True
            continue
        if kind == "positional_separator" or text(parameter) == "/":
            continue
        name_node = parameter.child_by_field_name("name")
        inner = name_node if name_node is not None else parameter
        if kind == "typed_parameter":
            inner = named(parameter)[0]
        if inner.type == "list_splat_pattern":
            variables[text(named(inner)[0])] = tuple(positional)
            positional, keyword_only = [], True
            continue
        if inner.type == "dictionary_splat_pattern":
            variables[text(named(inner)[0])] = rest
            rest = {}
            continue
        name = text(inner)
        default = parameter.child_by_field_name("value")
        if positional and not keyword_only:
            variables[name] = positional.pop(0)
        elif name in rest:
            variables[name] = rest.pop(name)
        elif default is not None:
            variables[name] = evaluate(interp, NewFrame(function.scope), default)
        elif any(isinstance(a, Unknown) and a.spread for a in args):
            variables[name] = next(a for a in args if isinstance(a, Unknown) and a.spread)
        else:
            raise interp.fail(
                "TypeError", f"{function.qualified_name}() misses argument {name!r}", frame, function.node
            )
    if rest:
        raise interp.fail(
            "TypeError",
            f"{function.qualified_name}() got an unexpected argument {next(iter(rest))!r}",
            frame,
            function.node,
        )


# -- blocks ----------------------------------------------------------------------------


def run_block(interp: Interpreter, frame: Frame, block: Node) -> Signal:
    """Run statements until one leaves the block."""
    for statement in statements_of(block):
        signal = run(interp, frame, statement)
        if signal is not None:
            return signal
    return None


def run(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """Run one statement."""
    interp.step(frame, node)
    handler = _HANDLERS.get(node.type)
    if handler is not None:
        return handler(interp, frame, node)
    return None


def _expression(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    for inner in named(node):
        if inner.type == "assignment":
            _assignment(interp, frame, inner)
        elif inner.type == "augmented_assignment":
            _augmented(interp, frame, inner)
        elif inner.type not in ("string", "ellipsis"):
            evaluate(interp, frame, inner)
    return None


def _assignment(interp: Interpreter, frame: Frame, node: Node) -> Value:
    right = node.child_by_field_name("right")
    if right is None:
        return None
    value = (
        _assignment(interp, frame, right) if right.type == "assignment" else evaluate(interp, frame, right)
    )
    assign(interp, frame, child(node, "left"), value)
    return value


def _augmented(interp: Interpreter, frame: Frame, node: Node) -> None:
    left = child(node, "left")
    value = evaluate(interp, frame, child(node, "right"))
    sign = text(child(node, "operator"))[:-1]
    before = evaluate(interp, frame, left)
    if sign == "+" and isinstance(before, list):
        items = native.iterate(interp, frame, node, value)
        interp.journal.touch(before)
        before.extend([items] if isinstance(items, Unknown) else items)
        return
    if sign == "|" and isinstance(before, (set, dict)) and isinstance(value, (set, dict)):
        interp.journal.touch(before)
        before.update(value)  # type: ignore[arg-type]
        return
    assign(interp, frame, left, binary(interp, frame, node, sign, before, value))


def _return(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    inner = named(node)
    value = evaluate(interp, frame, inner[0]) if inner else None
    name = frame.function.qualified_name if frame.function else ""
    interp.note(Happening.RETURN, name, value, frame, node)
    return Return(value)


def _raise(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    inner = named(node)
    if not inner:
        raise interp.fail("Exception", "raised again", frame, node)
    target = inner[0]
    name, message = text(target), ""
    if target.type == "call":
        name = text(child(target, "function"))
        arguments = named(child(target, "arguments"))
        message = render(interp, frame, arguments[0]) if arguments else ""
    else:
        value = evaluate(interp, frame, target)
        if isinstance(value, ExceptionValue):
            name, message = value.name, value.message
    raise interp.fail(name.rpartition(".")[2], message, frame, node)


def _assert(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    parts = named(node)
    if interp.truth(evaluate(interp, frame, parts[0])) is False:
        message = render(interp, frame, parts[1]) if len(parts) > 1 else text(parts[0])
        raise interp.fail("AssertionError", message, frame, node)
    return None


def _leave(breaks: bool) -> Callable[[Interpreter, Frame, Node], Signal]:
    return lambda interp, frame, node: Leave(breaks)


def _import(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    interp.journal.touch(frame.scope.variables)
    for name, imported in imports(node, frame.module.package):
        if name != "*":
            frame.scope.variables[name] = interp.import_value(*imported)
    return None


def _define(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    inner = definition(node)
    name = text(child(inner, "name"))
    interp.journal.touch(frame.scope.variables)
    if inner.type == "function_definition":
        made: Value = FunctionValue(name, inner, frame.scope, None, tuple(decorators(inner)))
    else:
        made = interp.class_value(inner, frame.scope)
    frame.scope.variables[name] = made
    return None


def _delete(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    for target in named(node):
        for part in named(target) if target.type == "expression_list" else [target]:
            if part.type == "identifier":
                interp.journal.touch(frame.scope.variables)
                frame.scope.variables.pop(text(part), None)
            elif part.type == "attribute":
                owner = evaluate(interp, frame, child(part, "object"))
                if isinstance(owner, Instance):
                    interp.journal.touch(owner.attributes)
                    owner.attributes.pop(text(child(part, "attribute")), None)
            elif part.type == "subscript":
                owner = evaluate(interp, frame, child(part, "value"))
                key = evaluate(interp, frame, child(part, "subscript"))
                if isinstance(owner, dict) and native.hashable(key):
                    interp.journal.touch(owner)
                    owner.pop(key, None)
    return None


def _global(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    for name in named(node):
        frame.scope.variables.setdefault(
            text(name), Unknown("a global that a function assigns", frame.module.place(node))
        )
    return None


# -- conditions ------------------------------------------------------------------------


def _if(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    return _branches(
        interp,
        frame,
        child(node, "condition"),
        child(node, "consequence"),
        node.children_by_field_name("alternative"),
    )


def _branches(interp: Interpreter, frame: Frame, condition: Node, body: Node, others: list[Node]) -> Signal:
    value = evaluate(interp, frame, condition)
    truth = interp.truth(value)

    def alternative() -> Signal:
        if not others:
            return None
        if others[0].type == "elif_clause":
            clause = others[0]
            return _branches(
                interp, frame, child(clause, "condition"), child(clause, "consequence"), others[1:]
            )
        return run_block(interp, frame, child(others[0], "body"))

    if truth is not None:
        interp.note(Happening.BRANCH, text(condition), truth, frame, condition)
        return run_block(interp, frame, body) if truth else alternative()
    return fork(
        interp,
        frame,
        condition,
        lambda: run_block(interp, frame, body),
        alternative,
        why(value, frame, condition),
    )


# -- loops, with, try ------------------------------------------------------------------


def _for(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    items = native.iterate(interp, frame, node, evaluate(interp, frame, child(node, "right")))
    body, left = child(node, "body"), child(node, "left")
    if isinstance(items, Unknown):
        return _maybe_rounds(interp, frame, node, items, lambda: assign(interp, frame, left, items))
    mark = len(frame.deferred)
    try:
        return _rounds(interp, frame, node, items, left, body)
    finally:
        settle(interp, frame, mark, lambda deferred: isinstance(deferred.signal, Leave))


def _rounds(
    interp: Interpreter, frame: Frame, node: Node, items: list[Value], left: Node, body: Node
) -> Signal:
    for count, item in enumerate(items):
        if count >= interp.budget.iterations:
            return _maybe_rounds(
                interp,
                frame,
                node,
                Unknown("a very long loop", frame.module.place(node)),
                lambda: None,
            )
        if isinstance(item, Unknown) and item.spread:
            uncertain = item
            signal = _maybe_rounds(
                interp, frame, node, uncertain, partial(assign, interp, frame, left, uncertain)
            )
        else:
            assign(interp, frame, left, item)
            signal = _round(interp, frame, body)
        if isinstance(signal, Return):
            return signal
        if isinstance(signal, Leave) and signal.breaks:
            return None
    return _otherwise(interp, frame, node)


def _round(interp: Interpreter, frame: Frame, body: Node) -> Signal:
    """One round of a loop; paths that said ``continue`` meet the others at its end."""
    mark = len(frame.deferred)
    signal = run_block(interp, frame, body)
    settle(interp, frame, mark, lambda d: isinstance(d.signal, Leave) and not d.signal.breaks)
    return signal


def _otherwise(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    alternative = node.child_by_field_name("alternative")
    if alternative is None:
        return None
    return run_block(interp, frame, child(alternative, "body"))


def _maybe_rounds(
    interp: Interpreter, frame: Frame, node: Node, because: Unknown, prepare: Callable[[], None]
) -> Signal:
    """Zero or more rounds of a loop: what two rounds change is not known afterwards."""

    def rounds() -> Signal:
        for _ in range(2):
            prepare()
            signal = _round(interp, frame, child(node, "body"))
            if isinstance(signal, Return):
                return signal
            if isinstance(signal, Leave) and signal.breaks:
                break
        return None

    return fork(interp, frame, node, rounds, lambda: None, because)


def _while(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    condition, body = child(node, "condition"), child(node, "body")
    for _ in range(interp.budget.iterations):
        value = evaluate(interp, frame, condition)
        truth = interp.truth(value)
        if truth is False:
            return _otherwise(interp, frame, node)
        if truth is None:
            return _maybe_rounds(interp, frame, node, why(value, frame, condition), lambda: None)
        signal = _round(interp, frame, body)
        if isinstance(signal, Return):
            return signal
        if isinstance(signal, Leave) and signal.breaks:
            return None
    unknown = Unknown(f"more than {interp.budget.iterations:,} rounds", frame.module.place(node))
    return _maybe_rounds(interp, frame, node, unknown, lambda: None)


def _with(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    for clause in named(node):
        if clause.type != "with_clause":
            continue
        for item in named(clause):
            inner = child(item, "value")
            if inner.type == "as_pattern":
                parts = named(inner)
                value = evaluate(interp, frame, parts[0])
                entered = (
                    value if isinstance(value, Instance) else Unknown("a context", frame.module.place(item))
                )
                target = parts[1]
                assign(
                    interp, frame, named(target)[0] if target.type == "as_pattern_target" else target, entered
                )
            else:
                evaluate(interp, frame, inner)
    return run_block(interp, frame, child(node, "body"))


def _try(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    signal: Signal = None
    try:
        signal = run_block(interp, frame, child(node, "body"))
        for clause in named(node):
            if clause.type == "else_clause" and signal is None:
                signal = run_block(interp, frame, child(clause, "body"))
    except Raised as error:
        handler = _handler_for(interp, frame, node, error)
        if handler is None:
            _finally(interp, frame, node)
            raise
        signal = run_block(interp, frame, handler)
    final = _finally(interp, frame, node)
    return final if final is not None else signal


def _finally(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    for clause in named(node):
        if clause.type == "finally_clause":
            return run_block(interp, frame, named(clause)[0])
    return None


def _handler_for(interp: Interpreter, frame: Frame, node: Node, error: Raised) -> Node | None:
    for clause in named(node):
        if clause.type not in ("except_clause", "except_group_clause"):
            continue
        parts = named(clause)
        body = next(part for part in parts if part.type == "block")
        caught = [part for part in parts if part.type != "block"]
        if not caught:
            return body
        pattern = caught[0]
        wanted = named(pattern)[0] if pattern.type == "as_pattern" else pattern
        if _catches(interp, frame, wanted, error.error.name):
            if pattern.type == "as_pattern":
                target = named(pattern)[1]
                inner = named(target)[0] if target.type == "as_pattern_target" else target
                assign(interp, frame, inner, error.error)
            return body
    return None


def _catches(interp: Interpreter, frame: Frame, node: Node, raised: str) -> bool:
    if node.type in ("tuple", "parenthesized_expression"):
        return any(_catches(interp, frame, part, raised) for part in named(node))
    name = text(node).rpartition(".")[2]
    value = evaluate(interp, frame, node)
    if isinstance(value, (Builtin, External)):
        name = value.name if isinstance(value, Builtin) else value.dotted.rpartition(".")[2]
    if isinstance(value, ClassValue):
        name = value.name
    return name == raised or native.is_subclass_of_builtin(raised, name)


def _match(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    unknown = Unknown("match statements are outside the subset", frame.module.place(node))
    clauses = [
        c
        for c in named(child(node, "body") if node.child_by_field_name("body") else node)
        if c.type == "case_clause"
    ]
    signal: Signal = None
    for clause in clauses:
        body = child(clause, "consequence")
        signal = fork(
            interp, frame, clause, lambda body=body: run_block(interp, frame, body), lambda: None, unknown
        )  # type: ignore[misc]
    return signal


_HANDLERS: dict[str, Callable[[Interpreter, Frame, Node], Signal]] = {
    "expression_statement": _expression,
    "return_statement": _return,
    "raise_statement": _raise,
    "assert_statement": _assert,
    "break_statement": _leave(True),
    "continue_statement": _leave(False),
    "import_statement": _import,
    "import_from_statement": _import,
    "future_import_statement": lambda interp, frame, node: None,
    "function_definition": _define,
    "class_definition": _define,
    "decorated_definition": _define,
    "delete_statement": _delete,
    "global_statement": _global,
    "nonlocal_statement": _global,
    "if_statement": _if,
    "for_statement": _for,
    "while_statement": _while,
    "with_statement": _with,
    "try_statement": _try,
    "match_statement": _match,
}
