"""Unpacking: what ``a, b, *c = value`` hands out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.frames import Frame
from investigator.code.heap import join_values, lost
from investigator.code.iteration import children, iterate
from investigator.code.values import (
    OneOf,
    Symbol,
    Unknown,
    Value,
    is_spread,
    single,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def parts_of(interp: Interpreter, frame: Frame, node: Node, value: Value, targets: list[Node]) -> list[Value]:
    """What ``a, b, *c = value`` hands out. Raises Raised(ValueError, TypeError)."""
    stars = [i for i, target in enumerate(targets) if target.type == "list_splat_pattern"]
    return unpack(interp, frame, node, value, len(targets), stars[0] if stars else None)


def unpack(
    interp: Interpreter, frame: Frame, node: Node, value: Value, count: int, star: int | None = None
) -> list[Value]:
    """The ``count`` values that ``a, b, ... = value`` hands out; the one at ``star`` is a list."""
    if isinstance(value, Symbol):
        made = value.unpack(count)
        if made is not NotImplemented:
            return list(made)
    if isinstance(value, OneOf):
        choice = interp.over(
            frame, node, value, lambda option: tuple(unpack(interp, frame, node, option, count, star))
        )
        return _columns(choice, count)
    items = iterate(interp, frame, node, value)
    if isinstance(items, Unknown):
        return _all_unknown(interp, items, count, star)
    loose = next((item for item in items if is_spread(item)), None)
    if loose is not None:
        interp.doubts += 1
        return _all_unknown(interp, lost(loose, *items), count, star)
    if star is None:
        if len(items) != count:
            raise interp.fail("ValueError", f"expected {count} values, got {len(items)}", frame, node)
        return items
    tail = count - star - 1
    if len(items) < count - 1:
        raise interp.fail("ValueError", f"expected {count - 1} or more values, got {len(items)}", frame, node)
    middle = interp.journal.born(items[star : len(items) - tail])
    return [*items[:star], middle, *items[len(items) - tail :]]


def _columns(choice: Value, count: int) -> list[Value]:
    """A choice among rows as a row of choices."""
    if isinstance(choice, tuple):
        return list(choice)
    options = choice.options if isinstance(choice, OneOf) else (choice,)
    because = choice.reason if isinstance(choice, OneOf) else choice
    rows = [o if isinstance(o, tuple) else (children(o),) * count for o in options]
    row = list(rows[0])
    for other in rows[1:]:
        row = [join_values(a, b, because) for a, b in zip(row, other, strict=True)]
    return row


def _all_unknown(interp: Interpreter, item: Unknown, count: int, star: int | None) -> list[Value]:
    one = single(item)
    row: list[Value] = [one] * count
    if star is not None:
        row[star] = interp.journal.born([_spreading(item)])
    return row


def _spreading(item: Unknown) -> Unknown:
    return Unknown(item.reason, item.place, item.not_followed, spread=True, hides=item.hides)
