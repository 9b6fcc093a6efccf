"""What ``object`` itself does for an object: ``super().__init__``, ``object.__setattr__`` and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, construction, dataclass_fields, effects
from investigator.code.frames import Frame
from investigator.code.heap import lost, without_absent
from investigator.code.values import (
    ClassValue,
    Instance,
    Super,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def initialise(
    interp: Interpreter, caller: Super, made: Instance, args: tuple[Value, ...], kwargs: dict[str, Value]
) -> None:
    """``super().__init__(...)`` where no class further on writes one: a dataclass's, or a builtin type's."""
    order = classes.mro(interp, made.cls) if made.cls is not None else ()
    after = order[order.index(caller.owner) + 1 :] if caller.owner in order else ()
    found = construction.initialiser_along(interp, after)
    if isinstance(found, ClassValue):
        dataclass_fields.fill_fields(interp, made, args, kwargs, found)
    else:
        construction.put_into(interp, made, *args, *kwargs.values())


def as_object(
    interp: Interpreter, frame: Frame, node: Node, name: str, owner: Value, args: tuple[Value, ...]
) -> Value:
    """``object.__getattribute__(owner, ...)`` and the like."""
    place = frame.module.place(node)
    attribute = args[0] if args else None
    if not isinstance(owner, Instance):
        return lost(Unknown(f"{name} of something not followed", place), owner, *args)
    if not isinstance(attribute, str):
        if name != "__getattribute__":
            effects.unsettle(interp, owner, Unknown("an attribute was set", place), *args)
            owner.complete = False
        return lost(Unknown(f"{name} of an attribute that is not known", place), owner)
    if name == "__setattr__":
        interp.set_plainly(frame, node, owner, attribute, args[1] if len(args) > 1 else None)
    elif name == "__delattr__":
        if attribute not in owner.attributes and owner.complete and owner.made_by is None:
            raise interp.fail("AttributeError", attribute, frame, node)
        interp.journal.touch(owner.attributes, attribute)
        owner.attributes.pop(attribute, None)
    else:
        value = interp.plain_attribute(frame, node, owner, attribute)
        if value is NotImplemented:
            raise interp.fail("AttributeError", attribute, frame, node)
        return without_absent(value)
    return None
