"""``sorted`` and ``list.sort``, ``min`` and ``max``: with keys, and with undecided items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

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
    with interp.host_errors(frame, node):
        order = sorted(range(len(items)), key=ranks.__getitem__, reverse=backwards)
    return interp.journal.born([items[number] for number in order])


def keyed(
    interp: Interpreter, frame: Frame, node: Node, items: list[Value], key: Value
) -> list[Value] | Unknown:
    """What the items are compared by, all of it plain; Unknown where it is not."""
    missing = find_unknown(items, 1) if key is not None else find_unknown(items)
    if missing is not None:
        return missing
    ranks = items if key is None else [interp.call(frame, node, key, (item,), {}) for item in items]
    missing = find_unknown(ranks)
    if missing is not None:
        return missing
    if not is_plain(ranks):
        return Unknown("an order of things that are not plain", frame.module.place(node))
    return ranks


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
    with interp.host_errors(frame, node):
        pick = (max if largest else min)(range(len(items)), key=ranks.__getitem__)
    return items[pick]
