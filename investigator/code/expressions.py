"""Expressions of the subset: each kind of node and what gives it a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import literals
from investigator.code.assignment import bind_walrus
from investigator.code.assignment import key_of as subscript_key
from investigator.code.comparisons import apply_comparison
from investigator.code.comprehensions import comprehension
from investigator.code.frames import Frame
from investigator.code.functions import make_function
from investigator.code.heap import spread
from investigator.code.iteration import iterate
from investigator.code.mappings import entries_of
from investigator.code.operators import apply_binary, unary
from investigator.code.subscripts import make_slice, subscript
from investigator.code.syntax import field as child
from investigator.code.syntax import head, named, text
from investigator.code.trace import Happening
from investigator.code.values import (
    ABSENT,
    Builtin,
    OneOf,
    Super,
    Unknown,
    Value,
    is_spread,
)
from investigator.code.variables import imported_callee

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def evaluate(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """The value of an expression. Raises Raised or BudgetSpent."""
    handler = _HANDLERS.get(node.type)
    if handler is None:
        return Unknown(f"{node.type} is outside the subset", frame.module.place(node))
    return handler(interp, frame, node)


def _identifier(interp: Interpreter, frame: Frame, node: Node) -> Value:
    return interp.lookup(text(node), frame, node)


def _binary(interp: Interpreter, frame: Frame, node: Node) -> Value:
    return apply_binary(interp, frame, node)


def _unary(interp: Interpreter, frame: Frame, node: Node) -> Value:
    value = interp.evaluate(frame, child(node, "argument"))
    return unary(interp, frame, node, text(child(node, "operator")), value)


def _not(interp: Interpreter, frame: Frame, node: Node) -> Value:
    value = interp.evaluate(frame, child(node, "argument"))
    truth = interp.truth(value)
    return interp.why(value, frame, node) if truth is None else not truth


def _boolean(interp: Interpreter, frame: Frame, node: Node) -> Value:
    left = interp.evaluate(frame, child(node, "left"))
    stops_on = text(child(node, "operator")) == "or"
    truth = interp.truth(left)
    if truth is stops_on:
        return left
    right = child(node, "right")
    if truth is not None:
        return interp.evaluate(frame, right)
    because = interp.why(left, frame, node)
    kept = _known_truth(interp, left, stops_on)
    return interp.either(frame, node, (lambda: kept, lambda: interp.evaluate(frame, right)), because)


def _known_truth(interp: Interpreter, value: Value, truth: bool) -> Value:
    """An undecided value, known to be true or to be false."""
    if isinstance(value, Unknown):
        return Unknown(value.reason, value.place, value.not_followed, truth=truth, hides=value.hides)
    if isinstance(value, OneOf):
        fitting = [o for o in value.options if o is not ABSENT and interp.truth(o) in (None, truth)]
        options = tuple(_known_truth(interp, option, truth) for option in fitting)
        return options[0] if len(options) == 1 else OneOf(options, value.place, value.because)
    return value


def _conditional(interp: Interpreter, frame: Frame, node: Node) -> Value:
    body, condition, alternative = named(node)
    value = interp.evaluate(frame, condition)
    truth = interp.truth(value)
    if truth is not None:
        interp.note(Happening.BRANCH, head(frame.module.file, condition, 400), truth, frame, condition)
        return interp.evaluate(frame, body if truth else alternative)
    because = interp.why(value, frame, condition)
    sides = (lambda: interp.evaluate(frame, body), lambda: interp.evaluate(frame, alternative))
    return interp.either(frame, node, sides, because)


def _attribute(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """A long chain of attributes is gone through, not down."""
    chain = [node]
    while (inner := child(chain[-1], "object")).type == "attribute":
        chain.append(inner)
    if frame.scope.on_demand is not None and inner.type == "identifier":
        value = frame.scope.on_demand(text(chain[-1]).lstrip("*"))
        if value is not NotImplemented:
            chain.pop()
        else:
            value = interp.evaluate(frame, inner)
    else:
        value = interp.evaluate(frame, inner)
    for each in reversed(chain):
        interp.step(frame, each)
        value = interp.attribute(frame, each, value, text(child(each, "attribute")))
    return value


def _subscript(interp: Interpreter, frame: Frame, node: Node) -> Value:
    owner = interp.evaluate(frame, child(node, "value"))
    return subscript(interp, frame, node, owner, subscript_key(interp, frame, node))


def _call(interp: Interpreter, frame: Frame, node: Node) -> Value:
    function = child(node, "function")
    arguments = child(node, "arguments")
    if function.type == "identifier" and text(function) == "super":
        return _super(interp, frame, node, arguments)
    elsewhere = imported_callee(interp, frame, text(function)) if function.type == "identifier" else None
    # A callee in another file is looked up only if it may be entered: most never are.
    callee = interp.evaluate(frame, function) if elsewhere is None else None
    if arguments.type == "generator_expression":
        callee = callee if elsewhere is None else interp.evaluate(frame, function)
        return interp.call(frame, node, callee, (interp.evaluate(frame, arguments),), {})
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    for part in named(arguments):
        if part.type == "keyword_argument":
            name = text(child(part, "name"))
            _once(interp, frame, part, kwargs, name)
            kwargs[name] = interp.evaluate(frame, child(part, "value"))
        elif part.type == "list_splat":
            inside = iterate(interp, frame, part, interp.evaluate(frame, named(part)[0]))
            args.extend([spread(inside)] if isinstance(inside, Unknown) else inside)
        elif part.type == "dictionary_splat":
            _splat(interp, frame, part, kwargs, interp.evaluate(frame, named(part)[0]))
        else:
            args.append(interp.evaluate(frame, part))
    if elsewhere is not None:
        if not interp.may_enter(args, kwargs):
            return interp.leave_alone(frame, node, elsewhere, tuple(args), kwargs)
        callee = interp.evaluate(frame, function)
    return interp.call(frame, node, callee, tuple(args), kwargs)


def _once(interp: Interpreter, frame: Frame, node: Node, kwargs: dict[str, Value], name: str) -> None:
    if name in kwargs:
        raise interp.fail("TypeError", f"got multiple values for argument {name!r}", frame, node)


def _splat(interp: Interpreter, frame: Frame, node: Node, kwargs: dict[str, Value], value: Value) -> None:
    """``**value`` among arguments: a spread key where some of its keys are not known."""
    entries = entries_of(interp, frame, node, value)
    if entries is None:
        raise interp.fail("TypeError", "argument after ** must be a mapping", frame, node)
    if isinstance(entries, Unknown):
        kwargs[spread(entries, value)] = entries  # type: ignore[index]
        return
    for key, item in entries.items():
        if isinstance(key, str):
            _once(interp, frame, node, kwargs, key)
        elif not is_spread(key):
            raise interp.fail("TypeError", "keywords must be strings", frame, node)
        kwargs[key] = item


def _super(interp: Interpreter, frame: Frame, node: Node, arguments: Node) -> Value:
    function = frame.function
    given = named(arguments)
    if function is not None and function.owner is not None and (not given or _names_itself(frame, given)):
        return Super(function.owner, frame.receiver)
    return Unknown("super() outside a method", frame.module.place(node))


def _names_itself(frame: Frame, given: list[Node]) -> bool:
    """Whether this is ``super(Class, self)`` written in a method of ``Class``."""
    assert frame.function is not None
    assert frame.function.owner is not None
    return len(given) == 2 and text(given[0]) == frame.function.owner.name


def _yield(interp: Interpreter, frame: Frame, node: Node) -> Value:
    parts = named(node)
    value = interp.evaluate(frame, parts[0]) if parts else None
    if frame.on_yield is not None:
        frame.on_yield(value)
        return None
    interp.journal.touch(frame.yielded)
    if any(part.type == "from" for part in node.children):
        inside = iterate(interp, frame, node, value)
        frame.yielded.extend([spread(inside)] if isinstance(inside, Unknown) else inside)
    else:
        frame.yielded.append(value)
    return Unknown("what is sent into a generator", frame.module.place(node))


def _lambda(interp: Interpreter, frame: Frame, node: Node) -> Value:
    return make_function(interp, frame, "<lambda>", node, ())


def _walrus(interp: Interpreter, frame: Frame, node: Node) -> Value:
    value = interp.evaluate(frame, child(node, "value"))
    bind_walrus(interp, frame, text(child(node, "name")), value)
    return value


def _parenthesized(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """However many pairs of parentheses there are, they are gone through, not down."""
    while node.type == "parenthesized_expression":
        node = named(node)[0]
    return interp.evaluate(frame, node)


def _starred(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """What is unpacked by whoever asks for an element of a display."""
    return interp.evaluate(frame, named(node)[0])


def _await(interp: Interpreter, frame: Frame, node: Node) -> Value:
    interp.evaluate(frame, named(node)[0])
    return Unknown("await is outside the subset", frame.module.place(node))


def _constant(value: Value) -> Callable[[Interpreter, Frame, Node], Value]:
    return lambda interp, frame, node: value


_HANDLERS: dict[str, Callable[[Interpreter, Frame, Node], Value]] = {
    "identifier": _identifier,
    "integer": literals.number,
    "float": literals.number,
    "string": literals.string,
    "concatenated_string": literals.string,
    "true": _constant(True),
    "false": _constant(False),
    "none": _constant(None),
    "ellipsis": _constant(Builtin("Ellipsis")),
    "list": literals.list_display,
    "tuple": literals.tuple_display,
    "expression_list": literals.tuple_display,
    "set": literals.set_display,
    "dictionary": literals.dict_display,
    "binary_operator": _binary,
    "unary_operator": _unary,
    "not_operator": _not,
    "boolean_operator": _boolean,
    "conditional_expression": _conditional,
    "comparison_operator": apply_comparison,
    "attribute": _attribute,
    "subscript": _subscript,
    "slice": make_slice,
    "call": _call,
    "lambda": _lambda,
    "yield": _yield,
    "await": _await,
    "named_expression": _walrus,
    "parenthesized_expression": _parenthesized,
    "list_splat": _starred,
    "parenthesized_list_splat": _starred,
    "list_comprehension": comprehension,
    "set_comprehension": comprehension,
    "dictionary_comprehension": comprehension,
    "generator_expression": comprehension,
}
