"""``match``: literals, alternatives, names, wildcards, sequences, classes with keywords, ``as`` and
guards. A pattern of another kind may fit or not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import builtin_functions, classes, dataclass_fields
from investigator.code.assignment import assign
from investigator.code.branching import Signal, fork
from investigator.code.equality import equal
from investigator.code.frames import Frame
from investigator.code.heap import lost, may_be_absent
from investigator.code.iteration import children
from investigator.code.local_bindings import captured_names
from investigator.code.syntax import field as child
from investigator.code.syntax import first, named, text
from investigator.code.values import Instance, OneOf, Unknown, Value, find_unknown, is_spread

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

_CONSTANTS = ("integer", "float", "string", "concatenated_string", "true", "false", "none")
Captured = list[tuple[Node, Value]]
"""The names that a pattern binds when it fits, and what to."""


def run_match(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """``match subject: case pattern: ...``."""
    subjects = node.children_by_field_name("subject")
    values = [interp.evaluate(frame, subject) for subject in subjects]
    value = values[0] if len(values) == 1 else tuple(values)
    clauses = [clause for clause in named(child(node, "body")) if clause.type == "case_clause"]
    return _first_that_fits(interp, frame, value, clauses)


def _first_that_fits(interp: Interpreter, frame: Frame, value: Value, clauses: list[Node]) -> Signal:
    for number, clause in enumerate(clauses):
        captured: Captured = []
        fits = _fits_clause(interp, frame, clause, value, captured)
        if fits is False:
            continue
        taken = partial(_take, interp, frame, value, clauses[number:], captured)
        if fits:
            return taken()
        because = find_unknown(value) or Unknown("whether a pattern fits", frame.module.place(clause))
        others = partial(_first_that_fits, interp, frame, value, clauses[number + 1 :])
        return fork(interp, frame, clause, [taken, others], because)
    return None


def is_taken(interp: Interpreter, frame: Frame, clause: Node) -> bool | None:
    """Whether control comes into a ``case`` of the ``match`` around it; None when that is not known."""
    body = clause.parent
    assert body is not None
    assert body.parent is not None
    values = [interp.evaluate(frame, each) for each in body.parent.children_by_field_name("subject")]
    value = values[0] if len(values) == 1 else tuple(values)
    decided = True
    for each in named(body):
        if each.type != "case_clause":
            continue
        here = _is_chosen(interp, frame, each, value)
        if each == clause:
            return here if decided or here is False else None
        if here:
            return False
        decided = decided and here is False
    return None


def _is_chosen(interp: Interpreter, frame: Frame, clause: Node, value: Value) -> bool | None:
    """Whether a clause is taken, once those before it were not."""
    captured: Captured = []
    fits = _fits_clause(interp, frame, clause, value, captured)
    guard = clause.child_by_field_name("guard")
    if fits is False or guard is None:
        return fits
    held = None if captured else interp.truth(interp.evaluate(frame, first(guard)))
    return held if fits or held is False else None


def _take(interp: Interpreter, frame: Frame, value: Value, clauses: list[Node], captured: Captured) -> Signal:
    """The first clause's pattern fits: bind its names, look at its guard, run its body."""
    for name, part in captured:
        assign(interp, frame, name, part)
    body = partial(interp.run_block, frame, child(clauses[0], "consequence"))
    others = partial(_first_that_fits, interp, frame, value, clauses[1:])
    guard = clauses[0].child_by_field_name("guard")
    if guard is None:
        return body()
    held = interp.evaluate(frame, first(guard))
    truth = interp.truth(held)
    if truth is None:
        return fork(interp, frame, clauses[0], [body, others], interp.why(held, frame, guard))
    return body() if truth else others()


# -- patterns --------------------------------------------------------------------------


def _fits_clause(
    interp: Interpreter, frame: Frame, clause: Node, value: Value, captured: Captured
) -> bool | None:
    patterns = [part for part in named(clause) if part.type == "case_pattern"]
    if len(patterns) == 1 and not any(part.type == "," for part in clause.children):
        return _fits(interp, frame, patterns[0], value, captured)
    return _fits_sequence(interp, frame, clause, patterns, value, captured)


def _fits(interp: Interpreter, frame: Frame, pattern: Node, value: Value, captured: Captured) -> bool | None:
    """Whether a pattern fits, None where it is not known; adds the names that it would bind."""
    inner = named(pattern)
    if not inner:
        return True if text(pattern) == "_" else _outside(frame, pattern, value, captured)
    negative = any(part.type == "-" for part in pattern.children)
    return _fits_part(interp, frame, inner[0], value, captured, negative=negative)


def _fits_part(
    interp: Interpreter, frame: Frame, part: Node, value: Value, captured: Captured, *, negative: bool
) -> bool | None:
    match part.type:
        case "case_pattern":
            return _fits(interp, frame, part, value, captured)
        case "dotted_name":
            return _fits_name(interp, frame, part, value, captured)
        case "union_pattern":
            return _fits_any(interp, frame, part, value, captured)
        case "as_pattern":
            pattern, name = named(part)
            captured.append((name, value))
            return _fits(interp, frame, pattern, value, captured)
        case "tuple_pattern" if len(named(part)) == 1 and not any(p.type == "," for p in part.children):
            return _fits(interp, frame, first(part), value, captured)
        case "list_pattern" | "tuple_pattern":
            return _fits_sequence(interp, frame, part, named(part), value, captured)
        case "class_pattern":
            return _fits_class(interp, frame, part, value, captured)
        case kind if kind in _CONSTANTS:
            return _fits_constant(interp, frame, part, value, negative=negative)
        case _:
            return _outside(frame, part, value, captured)


def _fits_constant(
    interp: Interpreter, frame: Frame, node: Node, value: Value, *, negative: bool
) -> bool | None:
    wanted = interp.evaluate(frame, node)
    wanted = -wanted if negative and isinstance(wanted, (int, float)) else wanted
    if wanted is None or isinstance(wanted, bool):
        return (value is wanted) if not isinstance(value, (Unknown, OneOf)) else None
    return interp.truth(equal(interp, frame, node, value, wanted))


def _fits_name(
    interp: Interpreter, frame: Frame, node: Node, value: Value, captured: Captured
) -> bool | None:
    if len(named(node)) == 1:
        captured.append((first(node), value))
        return True
    return interp.truth(equal(interp, frame, node, value, _value_of(interp, frame, node)))


def _value_of(interp: Interpreter, frame: Frame, dotted: Node) -> Value:
    value: Value = None
    for number, part in enumerate(named(dotted)):
        value = interp.attribute(frame, part, value, text(part)) if number else interp.evaluate(frame, part)
    return value


def _fits_any(
    interp: Interpreter, frame: Frame, union: Node, value: Value, captured: Captured
) -> bool | None:
    missing, negative = False, False
    for part in union.children:
        if part.is_named and part.type != "comment":
            fits = _fits_part(interp, frame, part, value, captured, negative=negative)
            if fits:
                return None if missing else True
            missing = missing or fits is None
        negative = part.type == "-"
    return None if missing else False


def _fits_class(
    interp: Interpreter, frame: Frame, pattern: Node, value: Value, captured: Captured
) -> bool | None:
    """``Class()`` and ``Class(attribute=pattern)``."""
    name, *parts = named(pattern)
    held = builtin_functions.call(
        interp, frame, pattern, "isinstance", (value, _value_of(interp, frame, name)), {}
    )
    answer = interp.truth(held)
    if answer is False:
        return False
    if any(part.type != "case_pattern" or first(part).type != "keyword_pattern" for part in parts):
        return _outside(frame, pattern, value, captured)
    for part in parts:
        key, inner = named(first(part))
        found = interp.attribute_or_missing(frame, part, value, text(key))
        if found is NotImplemented:
            return False
        if may_be_absent(found):
            return _outside(frame, pattern, value, captured)
        fits = _fits_part(interp, frame, inner, found, captured, negative=False)
        if fits is False:
            return False
        answer = None if fits is None else answer
    return answer


def _fits_sequence(
    interp: Interpreter, frame: Frame, node: Node, patterns: list[Node], value: Value, captured: Captured
) -> bool | None:
    """``[a, b, *rest]`` against a list or tuple."""
    value = dataclass_fields.as_tuple(interp, value)
    if not isinstance(value, (list, tuple)):
        if isinstance(value, Instance) and value.cls is not None:
            never = classes.surely_lacks(interp, value.cls)
        else:
            never = isinstance(value, (str, int, float, dict, set, frozenset, type(None)))
        return False if never else _outside(frame, node, value, captured)
    if any(is_spread(item) for item in value):
        return _outside(frame, node, value, captured)
    stars = [i for i, p in enumerate(patterns) if any(part.type == "splat_pattern" for part in named(p))]
    least = len(patterns) - len(stars)
    if len(value) < least or (not stars and len(value) > least):
        return False
    items = list(value)
    if stars:
        tail = len(items) - (len(patterns) - stars[0] - 1)
        items[stars[0] : tail] = [interp.journal.born(items[stars[0] : tail])]
    answer: bool | None = True
    for number, (pattern, item) in enumerate(zip(patterns, items, strict=True)):
        if number in stars:
            captured.extend((name, item) for name in named(first(pattern)))  # "_" is no name
            continue
        fits = _fits(interp, frame, pattern, item, captured)
        if fits is False:
            return False
        answer = None if fits is None else answer
    return answer


def _outside(frame: Frame, pattern: Node, value: Value, captured: Captured) -> bool | None:
    """A pattern outside the subset may fit or not; what it may bind is the value or part of it."""
    unknown = lost(Unknown("a pattern outside the subset", frame.module.place(pattern)), value)
    part = lost(unknown, children(unknown))
    captured.extend((name, part) for name in captured_names(pattern))
    return None
