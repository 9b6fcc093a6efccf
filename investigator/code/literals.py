"""Numbers, strings and f-strings, and the displays of lists, tuples, sets and dicts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes
from investigator.code.builtin_call import is_surely_no
from investigator.code.equality import is_plain
from investigator.code.frames import Frame
from investigator.code.heap import spread
from investigator.code.iteration import in_some_order, iterate
from investigator.code.keys import make_set, merge, set_entry
from investigator.code.mappings import entries_of
from investigator.code.shown import shown_text
from investigator.code.syntax import field as child
from investigator.code.syntax import head, is_starred, named, plain_text, string_prefix, string_value, text
from investigator.code.text_methods import MAX_TEXT
from investigator.code.values import (
    BudgetSpent,
    FunctionValue,
    Instance,
    IntMember,
    OneOf,
    Raised,
    StrMember,
    Unknown,
    Value,
    find_unknown,
    single,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

MAX_DIGITS = 1_000
MAX_ELEMENTS = 100_000
_SIMPLE_SPEC = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?\d{0,4}[,_]?(?:\.\d{1,3})?[a-zA-Z%]?", re.DOTALL)


def number(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """An integer or float literal."""
    if node.end_byte - node.start_byte > MAX_DIGITS:
        return Unknown(f"a number of over {MAX_DIGITS:,} digits", frame.module.place(node))
    literal = text(node).lower()
    try:
        return float(literal) if node.type == "float" else int(literal, 0)
    except ValueError:
        return Unknown(f"number {literal[:20]}", frame.module.place(node))


def string(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """A string, an f-string, or several beside each other."""
    plain = string_value(node)
    if plain is not None:
        return plain
    if node.type == "concatenated_string":
        parts = [interp.evaluate(frame, part) for part in named(node)]
        missing = find_unknown(parts)
        if missing is not None or not all(isinstance(part, str) for part in parts):
            return missing or Unknown("a string that is not text", frame.module.place(node))
        return "".join(parts)
    prefix = string_prefix(node)
    if "b" in prefix:
        return Unknown("bytes", frame.module.place(node))
    parts = [_piece(interp, frame, prefix, piece) for piece in node.children]
    missing = find_unknown(parts)
    if missing is not None:
        return missing
    if sum(map(len, parts)) > MAX_TEXT:
        return Unknown("a very long text", frame.module.place(node))
    return "".join(parts)


def _piece(interp: Interpreter, frame: Frame, prefix: str, piece: Node) -> str | Unknown:
    if piece.type == "interpolation":
        return _interpolation(interp, frame, piece)
    plain = plain_text(prefix, piece)
    return plain if plain is not None else Unknown("text that is not UTF-8", frame.module.place(piece))


def _interpolation(interp: Interpreter, frame: Frame, node: Node) -> str | Unknown:
    inner = child(node, "expression")
    value = interp.evaluate(frame, inner)
    conversion = node.child_by_field_name("type_conversion")
    specifier = node.child_by_field_name("format_specifier")
    shows_itself = any(part.type == "=" for part in node.children)
    mark = text(conversion) if conversion is not None else ""
    if not mark and isinstance(value, Instance) and value.cls is not None:
        formatting = classes.class_attribute(interp, value.cls, "__format__")
        if isinstance(formatting, FunctionValue):
            spec = "" if specifier is None else _specifier(interp, frame, specifier)
            made = interp.invoke(frame, node, formatting, (value, spec), {})
            return made if isinstance(made, str) else find_unknown(made) or Unknown("formatted text")
    if shows_itself and specifier is None and not mark:
        mark = "!r"
    shown = _converted(interp, frame, node, value, mark)
    if specifier is not None:
        spec = _specifier(interp, frame, specifier)
        shown = _formatted(interp, frame, node, shown if mark else value, spec)
    if isinstance(shown, Unknown) or not shows_itself:
        return shown
    start = frame.module.file.source[inner.start_byte : inner.end_byte].decode("utf-8", "replace")
    return f"{start}={shown}"


def _converted(interp: Interpreter, frame: Frame, node: Node, value: Value, mark: str) -> str | Unknown:
    place = frame.module.place(node)
    if isinstance(value, OneOf):
        made = interp.over(frame, node, value, lambda o: _converted(interp, frame, node, o, mark))
        return made if isinstance(made, str) else find_unknown(made) or value.reason
    if mark and isinstance(value, (StrMember, IntMember)):
        return Unknown("repr of a member of an enumeration", place)
    if mark in ("!r", "!a"):
        plain = isinstance(value, (int, float, str, bool, type(None))) or is_plain(value)
        shown = shown_text(interp, frame, node, value) if plain and not isinstance(value, str) else None
        if isinstance(value, str) and type(value) is str:
            return repr(value) if mark == "!r" else ascii(value)
        return shown if shown is not None else find_unknown(value) or Unknown("repr", place)
    shown = shown_text(interp, frame, node, value)
    return shown if shown is not None else find_unknown(value) or Unknown("formatted text", place)


def _specifier(interp: Interpreter, frame: Frame, node: Node) -> str | Unknown:
    """The text of a format specifier, which may hold interpolations itself."""
    parts: list[str | Unknown] = []
    position = node.start_byte + 1
    source = frame.module.file.source
    for inner in named(node):
        parts.append(source[position : inner.start_byte].decode("utf-8", "replace"))
        if inner.type in ("interpolation", "format_expression"):
            parts.append(_interpolation(interp, frame, inner))
        else:
            parts.append(text(inner))
        position = inner.end_byte
    parts.append(source[position : node.end_byte].decode("utf-8", "replace"))
    missing = find_unknown(parts)
    return missing if missing is not None else "".join(str(part) for part in parts)


def _formatted(
    interp: Interpreter, frame: Frame, node: Node, value: Value, spec: str | Unknown
) -> str | Unknown:
    if isinstance(spec, Unknown):
        return spec
    if isinstance(value, OneOf):
        made = interp.over(frame, node, value, lambda o: _formatted(interp, frame, node, o, spec))
        return made if isinstance(made, str) else find_unknown(made) or value.reason
    if spec and _shows_in_one_way(interp, value):
        raise interp.fail("TypeError", "unsupported format string", frame, node)
    if type(value) not in (int, float, str, bool, type(None)) or not _SIMPLE_SPEC.fullmatch(spec):
        return find_unknown(value) or Unknown("formatted text", frame.module.place(node))
    with interp.host_errors(frame, node):
        return format(value, spec)


def _shows_in_one_way(interp: Interpreter, value: Value) -> bool:
    """Whether a value surely takes no format but the empty one."""
    if isinstance(value, Instance):
        return value.cls is not None and classes.surely_lacks(interp, value.cls, "__format__")
    return is_surely_no(interp, value, int, float, str)


def render(interp: Interpreter, frame: Frame, node: Node) -> str:
    """Text of an error message for people: unknown parts of an f-string as ``{...}``."""
    if node.type == "parenthesized_expression":
        return render(interp, frame, named(node)[0])
    if node.type == "concatenated_string":
        return "".join(render(interp, frame, part) for part in named(node))
    if node.type == "string" and string_value(node) is None:
        out: list[str] = []
        prefix = string_prefix(node)
        for piece in node.children:
            made: str | Unknown
            try:
                made = _piece(interp, frame, prefix, piece)
            except Raised as error:
                made = Unknown(str(error))
            out.append(made if isinstance(made, str) else head(frame.module.file, piece))
        return "".join(out)
    try:
        value = interp.evaluate(frame, node)
    except Raised:
        value = None
    return value if isinstance(value, str) else "{" + head(frame.module.file, node) + "}"


def elements(interp: Interpreter, frame: Frame, node: Node) -> list[Value]:
    """The elements of a display, ``*`` unpacked; a set's into a set in any order."""
    if node.named_child_count > MAX_ELEMENTS:
        raise BudgetSpent(f"a display of over {MAX_ELEMENTS:,} elements", frame.module.place(node))
    found: list[Value] = []
    for part in named(node):
        if is_starred(part):
            value = interp.evaluate(frame, part)
            if node.type == "set" and isinstance(value, set | frozenset):
                found.extend(in_some_order(value))
                continue
            inside = iterate(interp, frame, part, value)
            found.extend([spread(inside)] if isinstance(inside, Unknown) else inside)
        else:
            found.append(interp.evaluate(frame, part))
    return found


def list_display(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """``[a, *b]``."""
    return interp.journal.born(elements(interp, frame, node))


def tuple_display(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """``(a, *b)``."""
    return tuple(elements(interp, frame, node))


def set_display(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """``{a, *b}``."""
    return make_set(interp, frame, node, elements(interp, frame, node))


def dict_display(interp: Interpreter, frame: Frame, node: Node) -> Value:
    """``{key: value, **other}``."""
    if node.named_child_count > MAX_ELEMENTS:
        raise BudgetSpent(f"a display of over {MAX_ELEMENTS:,} elements", frame.module.place(node))
    made: dict[Value, Value] = interp.journal.born({})
    for part in named(node):
        if part.type == "pair":
            key = interp.evaluate(frame, child(part, "key"))
            value = interp.evaluate(frame, child(part, "value"))
            set_entry(interp, frame, part, made, key, value)
        elif part.type == "dictionary_splat":
            value = interp.evaluate(frame, named(part)[0])
            entries = entries_of(interp, frame, part, value)
            if entries is None:
                raise interp.fail("TypeError", "argument after ** must be a mapping", frame, part)
            if isinstance(entries, dict):
                merge(interp, frame, part, made, entries)
            else:
                loose = spread(entries, value)
                set_entry(interp, frame, part, made, loose, single(loose))
    return made
