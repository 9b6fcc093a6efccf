"""``del``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import (
    builtin_methods,
    classes,
    dataclass_fields,
    effects,
    properties,
    variables,
)
from investigator.code.assignment import FIXED, key_of
from investigator.code.builtin_call import is_surely_no
from investigator.code.frames import Frame
from investigator.code.syntax import field as child
from investigator.code.syntax import named, text
from investigator.code.values import (
    FunctionValue,
    Instance,
    OneOf,
    Unknown,
    Value,
    is_spread,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def delete(interp: Interpreter, frame: Frame, target: Node) -> None:
    """``del target``. Raises Raised(NameError, KeyError, IndexError, AttributeError)."""
    match target.type:
        case "identifier":
            variables.delete_variable(interp, frame, target, text(target))
        case "attribute":
            owner = interp.evaluate(frame, child(target, "object"))
            delete_attribute(interp, frame, target, owner, text(child(target, "attribute")))
        case "subscript":
            owner = interp.evaluate(frame, child(target, "value"))
            delete_item(interp, frame, target, owner, key_of(interp, frame, target))
        case _:
            for inner in named(target):
                delete(interp, frame, inner)


def delete_attribute(interp: Interpreter, frame: Frame, node: Node, owner: Value, name: str) -> None:
    """``del owner.name``."""
    if isinstance(owner, OneOf):
        interp.over(frame, node, owner, lambda o: delete_attribute(interp, frame, node, o, name))
    elif isinstance(owner, Unknown):
        effects.set_on_unknown(interp, owner, name, Unknown("deleted, perhaps"))
    elif isinstance(owner, Instance):
        hook = classes.hook(interp, owner.cls, "__delattr__") if owner.cls is not None else None
        if hook is not None:
            interp.invoke(frame, node, hook, (owner, name), {})
            return
        if owner.cls is not None and dataclass_fields.is_frozen(interp, owner.cls):
            raise interp.fail("FrozenInstanceError", f"cannot delete field {name!r}", frame, node)
        if owner.cls is not None and properties.property_accessor(interp, owner.cls, name, "deleter"):
            effects.unsettle(interp, owner, Unknown(f"a deleter of {name}", frame.module.place(node)))
            return
        if name not in owner.attributes and owner.complete and owner.made_by is None:
            raise interp.fail("AttributeError", name, frame, node)
        interp.journal.touch(owner.attributes, name)
        owner.attributes.pop(name, None)
    elif isinstance(owner, (list, dict, *FIXED)):
        raise interp.fail("AttributeError", f"{type(owner).__name__} has no {name!r}", frame, node)


def delete_item(interp: Interpreter, frame: Frame, node: Node, owner: Value, key: Value) -> None:
    """``del owner[key]``."""
    if isinstance(owner, OneOf):
        interp.over(frame, node, owner, lambda o: delete_item(interp, frame, node, o, key))
    elif isinstance(key, OneOf):
        interp.over(frame, node, key, lambda k: delete_item(interp, frame, node, owner, k))
    elif isinstance(owner, Unknown):
        effects.change_unknown(interp, owner)
    elif isinstance(owner, dict):
        builtin_methods.call_named(interp, frame, node, owner, "pop", (key,))
    elif isinstance(owner, list):
        if isinstance(key, Unknown) or any(is_spread(item) for item in owner):
            interp.doubts += 1
            effects.loosen(interp, owner, key if isinstance(key, Unknown) else Unknown("an item was deleted"))
            return
        interp.journal.touch(owner)
        with interp.host_errors(frame, node):
            del owner[key]
    elif isinstance(owner, Instance) and owner.cls is not None:
        method = classes.class_attribute(interp, owner.cls, "__delitem__")
        if isinstance(method, FunctionValue):
            interp.invoke(frame, node, method, (owner, key), {})
        elif classes.surely_lacks(interp, owner.cls, "__delitem__"):
            sets = classes.class_attribute(interp, owner.cls, "__setitem__") is not NotImplemented
            kind = "AttributeError" if sets else "TypeError"  # as Python has it
            raise interp.fail(kind, f"{owner!r} does not support item deletion", frame, node)
    elif is_surely_no(interp, owner):
        kind = type(owner).__name__
        raise interp.fail("TypeError", f"{kind} object does not support item deletion", frame, node)
