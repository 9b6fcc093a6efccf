"""Variables: reading, assigning and deleting names in the scopes of running functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code.builtin_names import constant, is_builtin
from investigator.code.frames import Frame
from investigator.code.heap import may_be_absent, without_absent
from investigator.code.program import Definition
from investigator.code.trace import Happening
from investigator.code.values import ABSENT, Raised, Scope, Unknown, Value, is_spread

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter


def lookup(interp: Interpreter, name: str, frame: Frame, node: Node) -> Value:
    """The value of a name. Raises Raised(NameError) when nothing binds it."""
    scope: Scope | None = frame.scope
    while scope is not None:
        home = scope.elsewhere.get(name)
        if home is not None:
            return _from_elsewhere(interp, name, home, frame, node)
        if name in scope.variables:
            return _present(interp, name, scope.variables[name], frame, node)
        if scope.on_demand is not None:
            value = scope.on_demand(name)
            if value is not NotImplemented:
                return value
        elif scope.body is not None and name in interp.bound_names(scope.module, scope.body):
            if (lost_track := _loose(frame.scope)) is not None:
                return lost_track
            raise _unbound(interp, name, frame, node)
        scope = scope.parent
    value = interp.global_name(frame.module, name)
    if value is not NotImplemented:
        return value
    if is_builtin(name):
        return constant(name)
    if any(not _is_followed(interp, found) for found in frame.module.symbols.get("*", ())):
        return Unknown(f"{name} may come from a wildcard import", frame.module.place(node))
    if (lost_track := _loose(frame.scope)) is not None:
        return lost_track
    raise interp.fail("NameError", f"name {name!r} is not defined", frame, node)


def _loose(scope: Scope | None) -> Value | None:
    """What a variable may be where paths met whose variables were bound in different orders, so
    that it is not known any more which there are."""
    while scope is not None:
        for name, value in scope.variables.items():
            if is_spread(name):
                return value
        scope = scope.parent
    return None


def _is_followed(interp: Interpreter, wildcard: Definition) -> bool:
    return wildcard.imported is not None and interp.program.module(wildcard.imported[0]) is not None


def _unbound(interp: Interpreter, name: str, frame: Frame, node: Node) -> Raised:
    return interp.fail("UnboundLocalError", f"variable {name!r} is not assigned yet", frame, node)


def _present(interp: Interpreter, name: str, value: Value, frame: Frame, node: Node) -> Value:
    """A variable's value, taken to be assigned where that was not decided."""
    if not may_be_absent(value):
        return value
    if value is ABSENT:
        raise _unbound(interp, name, frame, node)
    interp.doubts += 1
    interp.note(Happening.ASSUME, "no UnboundLocalError", name, frame, node)
    return without_absent(value)


def _from_elsewhere(interp: Interpreter, name: str, home: Scope, frame: Frame, node: Node) -> Value:
    if name in home.variables:
        return _present(interp, name, home.variables[name], frame, node)
    value = interp.global_name(home.module, name) if home.body is None else NotImplemented
    if value is NotImplemented:
        raise interp.fail("NameError", f"name {name!r} is not defined", frame, node)
    return value


def set_variable(interp: Interpreter, scope: Scope, name: str, value: Value) -> None:
    """``name = value`` in a scope, or in the one that the name was declared to belong to."""
    home = scope.elsewhere.get(name, scope)
    interp.journal.touch(home.variables, name)
    home.variables[name] = value


def delete_variable(interp: Interpreter, frame: Frame, node: Node, name: str) -> None:
    """``del name``."""
    home = frame.scope.elsewhere.get(name, frame.scope)
    _present(interp, name, home.variables.get(name, ABSENT), frame, node)
    interp.journal.touch(home.variables, name)
    home.variables.pop(name, None)


def declare(interp: Interpreter, scope: Scope, name: str, *, everywhere: bool) -> None:
    """``global name`` (``everywhere``) or ``nonlocal name``."""
    home = interp.globals_of(scope.module)
    outer = scope.parent
    while not everywhere and outer is not None:
        if name in outer.variables or (
            outer.body is not None and name in interp.bound_names(outer.module, outer.body)
        ):
            home = outer.elsewhere.get(name, outer)
            break
        outer = outer.parent
    scope.elsewhere[name] = home


def imported_callee(interp: Interpreter, frame: Frame, name: str) -> str | None:
    """The real name of a callee that this file imports from another file of the tree, where
    nothing but its arguments could make it worth entering; None for any other callee."""
    if interp.made_on_demand is not None or _bound_locally(interp, frame, name):
        return None
    found = frame.module.symbols.get(name)
    if found is None or len(found) != 1 or found[0].imported is None or found[0].conditional:
        return None
    dotted, real = found[0].imported
    if real is None or real.endswith(("Error", "Exception", "Warning")):
        return None
    wanted = (*interp.natives, *interp.follow)
    if name in wanted or real in wanted or interp.program.path_of(dotted) is None:
        return None
    return real


def _bound_locally(interp: Interpreter, frame: Frame, name: str) -> bool:
    scope: Scope | None = frame.scope
    while scope is not None:
        if name in scope.variables or name in scope.elsewhere:
            return True
        if scope.body is not None and name in interp.bound_names(scope.module, scope.body):
            return True
        on_demand = scope.on_demand is not None
        if on_demand and (frame.function is None or interp.local_bindings(frame.function).binds(name)):
            return True
        scope = scope.parent
    return False
