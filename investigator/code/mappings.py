"""What ``**value``, ``dict(value)`` and ``dict.update(value)`` take: the entries of a mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.builtin_call import is_surely_no
from investigator.code.dataclass_fields import as_tuple
from investigator.code.frames import Frame
from investigator.code.heap import lost
from investigator.code.iteration import iterate
from investigator.code.keys import set_entry
from investigator.code.subscripts import subscript
from investigator.code.values import Instance, Unknown, Value, find_unknown, is_unknown, single

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def entries_of(
    interp: Interpreter, frame: Frame, node: Node, value: Value
) -> dict[Value, Value] | Unknown | None:
    """The entries of a mapping: of an object, what its own ``keys`` and ``[...]`` give. None where
    the value surely has no ``keys``."""
    if isinstance(value, dict):
        return value
    value = as_tuple(interp, value)
    if not isinstance(value, Instance) and is_surely_no(interp, value):
        return None
    if not isinstance(value, Instance) or value.cls is None:
        return find_unknown(value) or Unknown("a mapping that is not followed", frame.module.place(node))
    method = interp.attribute_or_missing(frame, node, value, "keys")
    if method is NotImplemented:
        return None
    if is_unknown(method):
        return lost(interp.why(method, frame, node), value)
    keys = iterate(interp, frame, node, interp.call(frame, node, method, (), {}))
    if isinstance(keys, Unknown):
        return lost(keys, value)
    made: dict[Value, Value] = interp.journal.born({})
    for key in keys:
        set_entry(interp, frame, node, made, key, subscript(interp, frame, node, value, single(key)))
    return made
