"""``match``: literals, alternatives, names, wildcards, sequences, ``as`` and guards."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.assignment import assign
from investigator.code.branching import Signal, fork
from investigator.code.classes import is_instance
from investigator.code.equality import equal
from investigator.code.frames import Frame
from investigator.code.syntax import field as child
from investigator.code.syntax import first, named, text
from investigator.code.values import ClassValue, OneOf, Unknown, Value, find_unknown, is_spread

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

_CONSTANTS = ("integer", "float", "string", "concatenated_string", "true", "false", "none")


def run_match(interp: Interpreter, frame: Frame, node: Node) -> Signal:
    """``match subject: case pattern: ...``."""
    subjects = node.children_by_field_name("subject")
    values = [interp.evaluate(frame, subject) for subject in subjects]
    value = values[0] if len(values) == 1 else tuple(values)
    clauses = [clause for clause in named(child(node, "body")) if clause.type == "case_clause"]
    return _first_that_fits(interp, frame, value, clauses)


def _first_that_fits(interp: Interpreter, frame: Frame, value: Value, clauses: list[Node]) -> Signal:
    for number, clause in enumerate(clauses):
        fits = _fits_clause(interp, frame, clause, value)
        body = child(clause, "consequence")
        if fits is True:
            return interp.run_block(frame, body)
        if fits is None:
            because = find_unknown(value) or Unknown("whether a pattern fits", frame.module.place(clause))
            sides = [
                partial(interp.run_block, frame, body),
                partial(_first_that_fits, interp, frame, value, clauses[number + 1 :]),
            ]
            return fork(interp, frame, clause, sides, because)
    return None


def _fits_clause(interp: Interpreter, frame: Frame, clause: Node, value: Value) -> bool | None:
    patterns = [part for part in named(clause) if part.type == "case_pattern"]
    fits = (
        _fits(interp, frame, patterns[0], value)
        if len(patterns) == 1
        else _fits_sequence(interp, frame, clause, patterns, value)
    )
    guard = clause.child_by_field_name("guard")
    if fits is False or guard is None:
        return fits
    held = interp.truth(interp.evaluate(frame, first(guard)))
    return False if held is False else None if held is None else fits


def _fits(interp: Interpreter, frame: Frame, pattern: Node, value: Value) -> bool | None:
    """Whether a pattern fits; binds its names. None where it is not known."""
    inner = named(pattern)
    kind = inner[0].type if inner else ""
    if not inner:
        if text(pattern) == "_":
            return True
        return _unsupported(interp, frame, pattern)
    if kind in _CONSTANTS:
        negative = text(pattern).lstrip().startswith("-")
        wanted = interp.evaluate(frame, inner[0])
        wanted = -wanted if negative and isinstance(wanted, (int, float)) else wanted
        if wanted is None or isinstance(wanted, bool):
            return (value is wanted) if not isinstance(value, (Unknown, OneOf)) else None
        return interp.truth(equal(interp, frame, pattern, value, wanted))
    if kind == "dotted_name":
        return _fits_name(interp, frame, inner[0], value)
    if kind == "union_pattern":
        return _fits_any(interp, frame, named(inner[0]), value)
    if kind == "as_pattern":
        parts = named(inner[0])
        fits = _fits(interp, frame, parts[0], value)
        if fits is not False:
            assign(interp, frame, parts[-1], value)
        return fits
    if kind in ("list_pattern", "tuple_pattern"):
        return _fits_sequence(interp, frame, pattern, named(inner[0]), value)
    if kind == "class_pattern" and len(named(inner[0])) == 1:
        cls = _value_of(interp, frame, named(inner[0])[0])
        if isinstance(cls, ClassValue):
            return is_instance(interp, value, cls) if not isinstance(value, OneOf) else None
    return _unsupported(interp, frame, pattern)


def _fits_name(interp: Interpreter, frame: Frame, node: Node, value: Value) -> bool | None:
    parts = named(node)
    if len(parts) == 1:
        if text(parts[0]) != "_":
            assign(interp, frame, parts[0], value)
        return True
    return interp.truth(equal(interp, frame, node, value, _value_of(interp, frame, node)))


def _value_of(interp: Interpreter, frame: Frame, dotted: Node) -> Value:
    parts = named(dotted) or [dotted]
    value = interp.evaluate(frame, parts[0])
    for part in parts[1:]:
        value = interp.attribute(frame, part, value, text(part))
    return value


def _fits_any(interp: Interpreter, frame: Frame, alternatives: list[Node], value: Value) -> bool | None:
    missing = False
    for alternative in alternatives:
        if alternative.type in _CONSTANTS:
            wanted = interp.evaluate(frame, alternative)
            plain = not isinstance(value, (Unknown, OneOf))
            if wanted is None or isinstance(wanted, bool):
                fits = (value is wanted) if plain else None
            else:
                fits = interp.truth(equal(interp, frame, alternative, value, wanted))
        elif alternative.type == "dotted_name":
            fits = _fits_name(interp, frame, alternative, value)
        else:
            fits = _fits(interp, frame, alternative, value) if alternative.type == "case_pattern" else None
        if fits:
            return None if missing else True
        missing = missing or fits is None
    return None if missing else False


def _fits_sequence(
    interp: Interpreter, frame: Frame, node: Node, patterns: list[Node], value: Value
) -> bool | None:
    """``[a, b, *rest]`` against a list or tuple."""
    if isinstance(value, (Unknown, OneOf)):
        return _unsupported(interp, frame, node)
    if not isinstance(value, (list, tuple)):
        return False if isinstance(value, (str, int, float, dict, set, type(None))) else None
    if any(is_spread(item) for item in value):
        return _unsupported(interp, frame, node)
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
            name = first(first(pattern))
            if text(name) != "_":
                assign(interp, frame, name, item)
            continue
        fits = _fits(interp, frame, pattern, item)
        if fits is False:
            return False
        answer = None if fits is None else answer
    return answer


def _unsupported(interp: Interpreter, frame: Frame, pattern: Node) -> bool | None:
    """A pattern outside the subset may fit or not; the names it may bind are not known."""
    unknown = Unknown("a pattern outside the subset", frame.module.place(pattern))
    stack = [pattern]
    while stack:
        node = stack.pop()
        if node.type == "identifier" and text(node) != "_":
            assign(interp, frame, node, unknown)
        else:
            stack.extend(named(node))
    return None
