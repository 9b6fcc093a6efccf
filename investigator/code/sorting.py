"""``sorted`` and ``list.sort``, ``min`` and ``max``: with keys, and with undecided items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.comparisons import compare
from investigator.code.equality import is_plain
from investigator.code.frames import Frame
from investigator.code.heap import lost
from investigator.code.values import Unknown, Value, find_unknown

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def sorted_items(
    interp: Interpreter, frame: Frame, node: Node, items: list[Value], kwargs: dict[str, Value]
) -> list[Value] | Unknown:
    """The items in order (``key=``, ``reverse=``); Unknown where that is not decided."""
    unexpected = [name for name in kwargs if name not in ("key", "reverse")]
    if unexpected:
        loose = find_unknown(unexpected[0])
        if loose is not None:
            return lost(loose, *items)
        raise interp.fail("TypeError", f"unexpected argument {unexpected[0]!r}", frame, node)
    ranks = keyed(interp, frame, node, items, kwargs.get("key"))
    if isinstance(ranks, Unknown):
        return lost(ranks, *items)
    backwards = interp.truth(kwargs.get("reverse", False))
    if backwards is None:
        return lost(interp.why(kwargs["reverse"], frame, node), *items)
    interp.charge(frame, node, 4 * len(items))
    if is_plain(ranks):
        with interp.host_errors(frame, node):
            order = sorted(range(len(items)), key=ranks.__getitem__, reverse=backwards)
        return interp.journal.born([items[number] for number in order])
    numbers = list(range(len(items)))
    sort = _inserted(interp, frame, node, ranks, numbers[::-1] if backwards else numbers)
    if isinstance(sort, Unknown):
        return lost(sort, *items)
    return interp.journal.born([items[number] for number in (sort[::-1] if backwards else sort)])


def _inserted(
    interp: Interpreter, frame: Frame, node: Node, ranks: list[Value], numbers: list[int]
) -> list[int] | Unknown:
    """The numbers in the order of their ranks, by comparing two of them at a time."""
    order: list[int] = []
    for number in numbers:
        place = len(order)
        while place > 0:
            held = compare(interp, frame, node, "<", ranks[number], ranks[order[place - 1]])
            truth = interp.truth(held)
            if truth is None:
                return interp.why(held, frame, node)
            if not truth:
                break
            place -= 1
        order.insert(place, number)
    return order


def keyed(
    interp: Interpreter, frame: Frame, node: Node, items: list[Value], key: Value
) -> list[Value] | Unknown:
    """What the items are compared by, all of it decided; Unknown where it is not."""
    missing = find_unknown(items, 1) if key is not None else find_unknown(items)
    if missing is not None:
        return missing
    ranks = items if key is None else [interp.call(frame, node, key, (item,), {}) for item in items]
    missing = find_unknown(ranks)
    return missing if missing is not None else ranks


def extreme(
    interp: Interpreter,
    frame: Frame,
    node: Node,
    items: list[Value],
    kwargs: dict[str, Value],
    *,
    largest: bool,
) -> Value:
    """``max`` or ``min`` of some items. Raises Raised(ValueError) where there are none."""
    if not items:
        if "default" in kwargs:
            return kwargs["default"]
        raise interp.fail("ValueError", "max() or min() of nothing", frame, node)
    ranks = keyed(interp, frame, node, items, kwargs.get("key"))
    if isinstance(ranks, Unknown):
        return lost(ranks, *items)
    interp.charge(frame, node, len(items))
    pick = 0
    for number in range(1, len(items)):
        held = compare(interp, frame, node, ">" if largest else "<", ranks[number], ranks[pick])
        truth = interp.truth(held)
        if truth is None:
            return lost(interp.why(held, frame, node), *items)
        pick = number if truth else pick
    return items[pick]
