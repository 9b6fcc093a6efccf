"""Functions that run with one object in hand: methods that are called on it, functions that are handed it.

A maintainer may cut a method in two, or move a part of it to a function of another file; what is
done to the object is then done there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes, properties
from investigator.code.backwards import Given, Supply, frame_at
from investigator.code.functions import parameters
from investigator.code.local_bindings import LocalBindings
from investigator.code.syntax import asked_for, named, text
from investigator.code.syntax import field as child
from investigator.code.values import ClassValue, FunctionValue, Instance, Raised, Value

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


@dataclass(frozen=True)
class Acting:
    """A function with the object in hand. ``name``: what it calls the object; ``bound``: the object is
    not written among the arguments. ``caller`` and ``call``: who runs it, and where."""

    function: FunctionValue
    name: str
    bound: bool = True
    caller: Acting | None = None
    call: Node | None = None


def acting_at(
    interp: Interpreter, cls: ClassValue, by: Acting, node: Node, *, far: bool = False
) -> Acting | None:
    """What a call, or an assignment to a property, in one such function runs with the object in hand.

    ``far``: a function of another file, too, which is read for that.
    """
    callee = child(node, "function" if node.type == "call" else "left")
    local = interp.local_bindings(by.function)
    own = local.called(by.name)
    attribute = _asked_of(callee, own)
    if attribute is not None:
        if node.type == "call":
            method = classes.class_attribute(interp, cls, attribute)
        else:
            method = properties.property_accessor(interp, cls, attribute, "setter")
        if not isinstance(method, FunctionValue):
            return None
        return Acting(method, interp.local_bindings(method).first, True, by, node)
    at = _place_among_arguments(node, own)
    head = text(callee).partition(".")[0]
    if at is None or callee.type not in ("identifier", "attribute") or head in (*own, "super"):
        return None
    if local.binds(head) and head not in local.imported:
        return None  # another object's method
    here = by.function.module.symbols.get(head, ()) if head not in local.imported else ()
    if not far and (callee.type != "identifier" or any(each.imported for each in here) or not here):
        return None
    try:
        handed = interp.evaluate(frame_at(interp, by.function, None, Given(), node.start_byte), callee)
    except Raised:
        return None
    if not isinstance(handed, FunctionValue):
        return None
    taking = [p.name for p in parameters(handed.node) if p.kind in ("positional", "any")]
    name = at if isinstance(at, str) else dict(enumerate(taking)).get(at)
    return Acting(handed, name, False, by, node) if name is not None else None


def statements_that_may_run(interp: Interpreter, function: FunctionValue, own: str) -> tuple[Node, ...]:
    """The calls, and the assignments to what may be properties, of a function that can run another with
    the object in hand, by their text alone; read once."""
    known, key = function.module.worked_out, (f"in hand as {own}", function.node.start_byte)
    if key not in known:
        local = interp.local_bindings(function)
        calls = (call for call in local.calls if _has_in_hand(call, local.called(own)))
        known[key] = (*calls, *properties_set(own, local))
    found: tuple[Node, ...] = known[key]
    return found


def _has_in_hand(call: Node, own: tuple[str, ...]) -> bool:
    on_it = _asked_of(child(call, "function"), own) is not None
    return on_it or _place_among_arguments(call, own) is not None


def _asked_of(expression: Node, own: tuple[str, ...]) -> str | None:
    """The attribute of the object in hand that an expression asks for; None where it does not."""
    asked = asked_for(expression)
    return asked[1] if asked is not None and text(asked[0]) in own else None


def _place_among_arguments(call: Node, own: tuple[str, ...]) -> int | str | None:
    """The position or the keyword by which a call hands a variable over."""
    for number, each in enumerate(named(child(call, "arguments"))):
        if each.type == "keyword_argument" and text(child(each, "value")) in own:
            return text(child(each, "name"))
        if text(each) in own:
            return number
    return None


def properties_set(own: str, local: LocalBindings) -> Iterator[Node]:
    """Assignments of a value to one attribute of the object, which may be a property."""
    for name, nodes in local.assigned.items():
        if name.startswith(f"{own}.") and "." not in name.removeprefix(f"{own}."):
            for node in nodes:
                if node.type == "assignment" and child(node, "left").type == "attribute":
                    yield node


def reachable(
    interp: Interpreter, cls: ClassValue, method: FunctionValue, *, far: bool = False
) -> Iterator[Acting]:
    """A method, and what it runs with the object in hand, each once, callers first."""
    todo = [Acting(method, interp.local_bindings(method).first)]
    seen = {(method.module.path, method.node.start_byte)}
    while todo:
        acting = todo.pop(0)
        yield acting
        for call in interp.local_bindings(acting.function).calls:
            inner = acting_at(interp, cls, acting, call, far=far)
            key = (inner.function.module.path, inner.function.node.start_byte) if inner is not None else None
            if inner is not None and key is not None and key not in seen:
                seen.add(key)
                todo.append(inner)


def handed_over(interp: Interpreter, acting: Acting) -> tuple[dict[str, Node], bool]:
    """What the call hands over, by parameter; whether that is all of it (no ``*`` or ``**``)."""
    assert acting.call is not None
    call = acting.call
    arguments = named(child(call, "arguments")) if call.type == "call" else [child(call, "right")]
    splats = [a for a in arguments if a.type in ("list_splat", "dictionary_splat")]
    positional = [a for a in arguments if a.type != "keyword_argument" and a not in splats]
    taking = [p.name for p in parameters(acting.function.node) if p.kind in ("positional", "any")]
    taking = taking[1:] if acting.bound else taking
    handed: dict[str, Node] = {}
    if not any(a.type == "list_splat" for a in splats):
        handed.update(zip(taking, positional, strict=False))
    for argument in arguments:
        if argument.type == "keyword_argument":
            handed[text(child(argument, "name"))] = child(argument, "value")
    return handed, not splats


def supply_through(interp: Interpreter, acting: Acting, owner: Instance, supply: Supply) -> Supply:
    """What the parameters of such a function hold: what the question supplies, else what the call hands
    over, worked out in the function that calls."""

    def supplied(name: str, annotation: str) -> Value:
        known = supply(name, annotation)
        if known is not NotImplemented or acting.caller is None or acting.call is None:
            return known
        handed, whole = handed_over(interp, acting)
        if name in handed:
            before = acting.caller
            given = Given(supply_through(interp, before, owner, supply), {before.name: owner})
            frame = frame_at(interp, before.function, owner, given, acting.call.start_byte)
            return interp.evaluate(frame, handed[name])
        defaults = interp.local_bindings(acting.function).defaults
        if whole and name in defaults:
            return interp.module_default(acting.function, defaults[name])
        return known

    return supplied
