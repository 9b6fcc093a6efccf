"""Functions: how they are made and decorated, how parameters are bound, how they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.branching import Leave, Return, Signal, settle
from investigator.code.effects import left_alone
from investigator.code.frames import Frame
from investigator.code.generators import generator
from investigator.code.heap import join_values, lost
from investigator.code.syntax import field as child
from investigator.code.syntax import first, named, text
from investigator.code.trace import Happening
from investigator.code.values import (
    BoundMethod,
    ClassValue,
    FunctionValue,
    Instance,
    Partial,
    Raised,
    Scope,
    Unknown,
    Value,
    is_spread,
    single,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

_DECORATED = (FunctionValue, BoundMethod, Partial, Instance, ClassValue)


@dataclass(frozen=True)
class Parameter:
    """One parameter: ``kind`` is "positional", "any", "keyword", "*" or "**"."""

    name: str
    kind: str
    default: Node | None


def parameters(function: Node) -> list[Parameter]:
    """The parameters of a function or lambda, in order."""
    listed = function.child_by_field_name("parameters")
    found: list[Parameter] = []
    kind = "any"
    for node in named(listed) if listed is not None else ():
        if node.type == "positional_separator" or text(node) == "/":
            found = [Parameter(p.name, "positional", p.default) for p in found]
            continue
        if node.type == "keyword_separator" or text(node) == "*":
            kind = "keyword"
            continue
        inner = node.child_by_field_name("name") or (first(node) if node.type == "typed_parameter" else node)
        if inner.type == "list_splat_pattern":
            found.append(Parameter(text(first(inner)), "*", None))
            kind = "keyword"
        elif inner.type == "dictionary_splat_pattern":
            found.append(Parameter(text(first(inner)), "**", None))
        else:
            found.append(Parameter(text(inner), kind, node.child_by_field_name("value")))
    return found


# -- making ----------------------------------------------------------------------------


def make_function(
    interp: Interpreter, frame: Frame, name: str, node: Node, decorators: tuple[str, ...]
) -> FunctionValue:
    """A function made while another runs: its defaults are worked out now."""
    if frame.function is None and frame.scope.body is None and not frame.scope.is_comprehension:
        return FunctionValue(name, node, frame.scope, None, decorators)
    defaults = {p.name: interp.evaluate(frame, p.default) for p in parameters(node) if p.default is not None}
    return FunctionValue(name, node, frame.scope, None, decorators, defaults)


def decorated(interp: Interpreter, scope: Scope, node: Node, made: Value) -> Value:
    """What the decorators of a function or class make of it. Those that are not functions or
    classes of its own file are taken to leave it what it is."""
    parent = node.parent
    if parent is None or parent.type != "decorated_definition":
        return made
    frame = Frame(scope)
    for mark in reversed([node for node in parent.children if node.type == "decorator"]):
        expression = first(mark)
        callee = child(expression, "function") if expression.type == "call" else expression
        if callee.type not in ("identifier", "attribute"):
            continue
        try:
            known = interp.evaluate(frame, callee)
        except Raised:
            continue
        if isinstance(known, (FunctionValue, ClassValue)) and known.module.path == scope.module.path:
            decorator = interp.evaluate(frame, expression)
            result = interp.call(frame, mark, decorator, (made,), {})
            if isinstance(result, (*_DECORATED, Unknown)):
                made = result
    return made


# -- parameters ------------------------------------------------------------------------


def bind_parameters(
    interp: Interpreter,
    frame: Frame,
    function: FunctionValue,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> None:
    """Bind arguments to parameters. Raises Raised(TypeError) as Python would."""
    variables = frame.scope.variables
    known = parameters(function.node)
    loose = next((number for number, arg in enumerate(args) if is_spread(arg)), len(args))
    certain, uncertain = list(args[:loose]), args[loose:]
    keywords = {key: value for key, value in kwargs.items() if not is_spread(key)}
    any_keyword = next((key for key in kwargs if is_spread(key)), None)
    positional = [p.name for p in known if p.kind in ("positional", "any")]
    for name, value in zip(positional, certain, strict=False):
        variables[name] = value
    rest: list[Value] = [*certain[len(positional) :], *uncertain]
    for parameter in known:
        if parameter.kind == "*":
            variables[parameter.name] = tuple(rest)
            rest = []
    if rest and not uncertain:
        count = len(positional)
        raise _wrong(interp, frame, function, f"takes {count} positional arguments, {len(certain)} given")
    for parameter in known:
        if parameter.kind in ("*", "**"):
            continue
        name = parameter.name
        given = name in keywords and parameter.kind != "positional"
        if name in variables:
            if given:
                raise _wrong(interp, frame, function, f"got multiple values for argument {name!r}")
            continue
        if given:
            variables[name] = keywords.pop(name)
            continue
        _left_open(interp, frame, function, parameter, uncertain, any_keyword)
    taker = next((p.name for p in known if p.kind == "**"), None)
    if taker is not None:
        extra: dict[str, Value] = interp.journal.born({})
        extra.update(keywords)
        if any_keyword is not None:
            extra[any_keyword] = kwargs[any_keyword]
        variables[taker] = extra
    elif keywords:
        name = next(iter(keywords))
        raise _wrong(interp, frame, function, f"got an unexpected keyword argument {name!r}")


def _left_open(
    interp: Interpreter,
    frame: Frame,
    function: FunctionValue,
    parameter: Parameter,
    uncertain: tuple[Value, ...],
    any_keyword: Value,
) -> None:
    """A parameter that no argument surely gives: its default, unless an uncertain one may."""
    name = parameter.name
    reasons = [value for value in (*uncertain, any_keyword) if is_spread(value)]
    if parameter.kind == "keyword" and any_keyword is None:
        reasons = []
    if parameter.default is not None:
        value = default_of(interp, function, parameter)
        if reasons:
            value = join_values(value, single(lost(reasons[0], *uncertain)), reasons[0])
        frame.scope.variables[name] = value
    elif reasons:
        frame.scope.variables[name] = single(lost(reasons[0], *uncertain))
    else:
        raise _wrong(interp, frame, function, f"misses argument {name!r}")


def _wrong(interp: Interpreter, frame: Frame, function: FunctionValue, what: str) -> Raised:
    return interp.fail("TypeError", f"{function.qualified_name}() {what}", frame, function.node)


def default_of(interp: Interpreter, function: FunctionValue, parameter: Parameter) -> Value:
    """A parameter's default; made once for all calls, as Python does."""
    if function.defaults is not None:
        return function.defaults[parameter.name]
    assert parameter.default is not None
    return interp.module_default(function, parameter.default)


# -- running ---------------------------------------------------------------------------


def run_function(
    interp: Interpreter, function: FunctionValue, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> Value:
    """Call a function: bind its parameters, run its body, join early returns."""
    if function.module.file.unreadable(function.node):
        place = function.module.place(function.node)
        unknown = Unknown(f"{function.qualified_name} holds text that could not be parsed", place)
        left_alone(interp, unknown, (*args, *kwargs.values()))
        return unknown
    scope = Scope(function.module, parent=function.scope, body=function.node)
    interp.journal.born(scope.variables)
    frame = Frame(scope, function)
    bind_parameters(interp, frame, function, args, kwargs)
    frame.receiver = next(iter(scope.variables.values()), None)
    name = function.node.child_by_field_name("name") or function.node
    interp.note(Happening.CALL, function.qualified_name, dict(scope.variables), frame, name)
    body = child(function.node, "body")
    if function.node.type == "lambda":
        return interp.evaluate(frame, body)
    if interp.is_generator(function):
        return generator(interp, frame, function, body)
    return _run_body(interp, frame, body)


def _run_body(interp: Interpreter, frame: Frame, body: Node) -> Value:
    signal = settle(interp, frame, body, lambda: interp.run_block(frame, body), _at_end, ends=True)
    assert isinstance(signal, Return)
    return signal.value


_NOTHING = Return(None)


def _at_end(signal: Signal) -> Signal:
    if signal is None:
        return _NOTHING
    return Return(Unknown("a loop is left outside a loop")) if isinstance(signal, Leave) else signal
