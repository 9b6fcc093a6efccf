"""What a module's names stand for: definitions, imports, wildcards.

A module's top level is never run as a whole. A name is worked out from the statements that
bind it when it is first asked for, as Python would have worked it out at the place where the
last of them stands; statements of the module that change the object afterwards are run too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tree_sitter import Node

from investigator.code import assignment, classes, effects
from investigator.code.builtin_names import constant
from investigator.code.conditions import conditions_around
from investigator.code.frames import Frame
from investigator.code.functions import decorated
from investigator.code.heap import join_values, may_be_absent, without_absent
from investigator.code.module_changes import changes, declared_global
from investigator.code.program import Definition, Module
from investigator.code.syntax import enclosing, text
from investigator.code.syntax import field as child
from investigator.code.trace import Happening
from investigator.code.values import (
    ABSENT,
    ClassValue,
    External,
    FunctionValue,
    ModuleValue,
    OneOf,
    Raised,
    Scope,
    Unknown,
    Value,
    find_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

T = TypeVar("T")
_OF_EVERY_MODULE = ("__file__", "__doc__", "__path__", "__spec__", "__loader__", "__package__")


@dataclass
class Modules:
    """The module-level names that were worked out so far, in one interpretation.

    ``importing``: the places (path, byte) of the top-level statements being worked out now,
    innermost last: what Python has not reached there is not seen there.
    """

    scopes: dict[str, Scope] = field(default_factory=dict)
    defined: dict[tuple[str, str, int], Value] = field(default_factory=dict)
    resolving: set[tuple[str, str, int]] = field(default_factory=set)
    importing: list[tuple[str, int]] = field(default_factory=list)

    @contextmanager
    def working_out(self, key: tuple[str, str, int]) -> Iterator[None]:
        """While a definition is worked out: who needs it for that goes round in a circle."""
        self.resolving.add(key)
        try:
            yield
        finally:
            self.resolving.discard(key)

    def globals_of(self, module: Module) -> Scope:
        """The module's scope; it holds what functions have assigned through ``global``."""
        if module.path not in self.scopes:
            self.scopes[module.path] = Scope(module)
        return self.scopes[module.path]


def name_of(node: Node) -> str:
    """The name of a function or class statement."""
    return text(child(node, "name"))


# -- modules ---------------------------------------------------------------------------


def global_name(interp: Interpreter, module: Module, name: str) -> Value:
    """A module's top-level name, evaluated once; NotImplemented when it binds none."""
    scope = interp.globals_of(module)
    assigned = scope.variables.get(name, ABSENT)
    if not may_be_absent(assigned):
        return assigned
    value = _from_top_level(interp, scope, name)
    rest = without_absent(assigned)
    if rest is ABSENT or not isinstance(assigned, OneOf):
        return value
    return rest if value is NotImplemented else join_values(rest, value, assigned.reason)


def _from_top_level(interp: Interpreter, scope: Scope, name: str) -> Value:
    module = scope.module
    found = module.symbols.get(name)
    if not found:
        return _not_bound(interp, module, name)
    if name in interp.constants:
        return interp.constants[name]
    modules = interp.modules
    here = next((start for path, start in reversed(modules.importing) if path == module.path), None)
    seen = _seen_now(found, here)
    key = (module.path, name, seen[-1].node.start_byte)
    if key in modules.resolving:
        if key in modules.defined:
            return modules.defined[key]
        return Unknown(f"{name} is defined in terms of itself", module.place(seen[-1].node))
    if key not in modules.defined:
        with interp.timeless(), modules.working_out(key):
            value = modules.defined[key] = define(interp, scope, seen)
            if value is not NotImplemented and len(seen) == len(found):
                value = _changed_since(interp, scope, name, value, seen[-1])
        modules.defined[key] = value
    value = modules.defined[key]
    later = _change_below(module, name, here) if isinstance(value, (list, dict, set)) else None
    return value if later is None else Unknown(f"{name} as it is before it is changed", module.place(later))


def _seen_now(found: list[Definition], here: int | None) -> list[Definition]:
    """The definitions that Python has come to, while a statement of the same module runs."""
    if len(found) == 1 or here is None:
        return found
    return [each for each in found if each.node.end_byte <= here] or found


def _change_below(module: Module, name: str, here: int | None) -> Node | None:
    """What changes the object only after the statement that runs now."""
    if here is None:
        return None
    below = (each for each in changes(module, name) if not each.in_function and each.node.start_byte > here)
    return next((each.node for each in below), None)


def _not_bound(interp: Interpreter, module: Module, name: str) -> Value:
    if name == "__name__":
        return module.dotted
    if name in _OF_EVERY_MODULE:
        return Unknown(f"{name} of a module")
    key = (module.path, f"*{name}", 0)
    if name.startswith("__") or key in interp.modules.resolving:
        return NotImplemented
    with interp.modules.working_out(key):
        return _from_wildcards(interp, module, name)


def _from_wildcards(interp: Interpreter, module: Module, name: str) -> Value:
    for found in reversed(module.symbols.get("*", ())):
        source = interp.program.module(found.imported[0]) if found.imported is not None else None
        if source is None:
            continue
        listed = global_name(interp, source, "__all__")
        if isinstance(listed, (list, tuple)) and find_unknown(listed) is None:
            exported = name in listed
        else:
            exported = not name.startswith("_")
        if exported:
            value = global_name(interp, source, name)
            if value is not NotImplemented:
                return value
    return NotImplemented


def _changed_since(
    interp: Interpreter, scope: Scope, name: str, value: Value, last: Definition, until: Node | None = None
) -> Value:
    """The value after the module's other statements (those above one of them) that change it."""
    module = scope.module
    if name in declared_global(module) and not isinstance(value, (FunctionValue, ClassValue)):
        because = Unknown(f"functions of {module.path} assign the global {name}", module.place(last.node))
        return join_values(value, because, because)
    if not isinstance(value, (list, dict, set)):
        return value
    for change in changes(module, name):
        if until is not None and change.node.start_byte >= until.start_byte:
            break
        if change.in_function:
            place = module.place(change.node)
            interp.trace.add(Happening.PRESUME, name, place, (*interp.stack, place))
            continue
        if change.statement is None:
            because = Unknown(f"{name} is changed under a condition or in a loop", module.place(change.node))
            effects.loosen(interp, value, because)
            continue
        if last.node.start_byte > change.statement.start_byte:
            continue
        interp.modules.importing.append((module.path, change.statement.start_byte))
        try:
            interp.execute(Frame(scope), change.statement)
        finally:
            interp.modules.importing.pop()
    return value


# -- definitions -----------------------------------------------------------------------


def define(
    interp: Interpreter, scope: Scope, found: list[Definition], owner: ClassValue | None = None
) -> Value:
    """What several definitions of one name give it, in a module's or class's scope: the last
    that is reached; a join where that is not decided. NotImplemented when none is reached."""
    at_runtime = [each for each in found if not each.typing_only]
    if not at_runtime:
        return bind(interp, scope, found, found[-1], owner)
    value: Value = NotImplemented
    for each in reversed(at_runtime):
        holds = _is_reached(interp, scope, each)
        if holds is False:
            continue
        bound = bind(interp, scope, at_runtime, each, owner)
        because = Unknown(f"{each.name} is bound under a condition", scope.module.place(each.node))
        value = bound if value is NotImplemented else join_values(value, bound, because)
        if holds is True:
            break
    return value


def _is_reached(interp: Interpreter, scope: Scope, found: Definition) -> bool | None:
    if not found.conditional:
        return True
    result: bool | None = True
    for condition, wanted in conditions_around(found.node):
        if condition is None:
            result = None
            continue
        try:
            truth = _at(interp, scope, condition, lambda c: interp.truth(interp.evaluate(Frame(scope), c)))
        except Raised:
            truth = None
        if truth is None:
            result = None
        elif truth is not wanted:
            return False
    return result


def _at(interp: Interpreter, scope: Scope, node: Node, compute: Callable[[Node], T]) -> T:
    """Work something out as a top-level statement that stands at ``node`` sees it."""
    interp.modules.importing.append((scope.module.path, node.start_byte))
    try:
        return compute(node)
    finally:
        interp.modules.importing.pop()


def evaluate_at(interp: Interpreter, function: FunctionValue, node: Node) -> Value:
    """An expression of a function's head, as the function's statement sees it."""
    scope = function.scope
    if function.owner is not None:
        scope = classes.class_scope(interp, function.owner, "")
    return _at(interp, scope, node, lambda n: interp.evaluate(Frame(scope), n))


def _so_far(
    interp: Interpreter, scope: Scope, earlier: list[Definition], node: Node, owner: ClassValue | None
) -> Value:
    """What a name stands for above a statement that adds to it."""
    if owner is not None:
        return define(interp, scope, earlier, owner)
    name, last, modules = earlier[-1].name, earlier[-1], interp.modules
    key = (scope.module.path, name, last.node.start_byte)
    with modules.working_out(key):
        value = modules.defined[key] = define(interp, scope, earlier)
        return value if value is NotImplemented else _changed_since(interp, scope, name, value, last, node)


def bind(
    interp: Interpreter,
    scope: Scope,
    all_found: list[Definition],
    found: Definition,
    owner: ClassValue | None,
) -> Value:
    """The value that one definition gives its name."""
    node = found.node
    place = scope.module.place(node)
    if found.imported is not None:
        return import_value(interp, *found.imported)
    if node.type == "function_definition":
        home = owner.scope if owner is not None else scope
        return FunctionValue(found.name, node, home, owner, found.decorators)
    if node.type == "class_definition":
        home = owner.scope if owner is not None else scope
        return decorated(interp, home, node, interp.class_value(node, home, found.decorators))
    if scope.module.file.unreadable(node):
        return Unknown(f"{found.name} is bound by text that could not be parsed", place)
    right = node.child_by_field_name("right")
    if node.type not in ("assignment", "augmented_assignment"):
        return Unknown(f"{found.name} is bound by a loop or a context", place)
    if right is None:
        return NotImplemented if owner is not None else Unknown(f"{found.name} is declared only", place)
    if enclosing(node, "for_statement", "while_statement", "function_definition", "class_definition") not in (
        None,
        owner.node if owner is not None else None,
    ):
        return Unknown(f"{found.name} is bound in a loop", place)
    frame = Frame(scope)
    if node.type == "augmented_assignment":
        earlier = all_found[: all_found.index(found)]
        before = (
            _so_far(interp, scope, earlier, node, owner)
            if earlier
            else Unknown(f"{found.name} so far", place)
        )
        return _at(interp, scope, node, lambda n: assignment.augmented(interp, frame, n, before))
    while right.type == "assignment":
        right = child(right, "right")
    value = _at(interp, scope, right, lambda r: interp.evaluate(frame, r))
    return assignment.part(interp, frame, child(node, "left"), found.name, value)


# -- imports ---------------------------------------------------------------------------


def import_value(interp: Interpreter, dotted: str, name: str | None) -> Value:
    """What ``from dotted import name`` (or ``import dotted``) binds."""
    if name in interp.constants:
        return interp.constants[name]
    module = interp.program.module(dotted)
    if name is None:
        if module is None:
            interp.doubts += 1
        return ModuleValue(module) if module is not None else External(dotted)
    if module is not None:
        value = global_name(interp, module, name)
        if value is not NotImplemented:
            return value
    inner = interp.program.module(f"{dotted}.{name}")
    if inner is not None:
        return ModuleValue(inner)
    if module is not None:
        return module_attribute(interp, module, name)
    interp.doubts += 1
    if interp.program.is_package(dotted):
        return Unknown(f"{dotted} has no module {name}")
    return constant(name) if dotted == "builtins" else External(f"{dotted}.{name}")


def module_attribute(interp: Interpreter, module: Module, name: str) -> Value:
    """``module.name``: a top-level name, a submodule, or what ``__getattr__`` makes of it."""
    value = global_name(interp, module, name)
    if value is not NotImplemented and not _typing_only(module, name):
        return value
    getter = global_name(interp, module, "__getattr__")
    if isinstance(getter, FunctionValue):
        return interp.enter(getter, (name,), {})
    if value is not NotImplemented:
        return value
    inner = interp.program.module(f"{module.dotted}.{name}")
    if inner is not None:
        return ModuleValue(inner)
    return Unknown(f"{module.dotted} has no name {name}")


def _typing_only(module: Module, name: str) -> bool:
    found = module.symbols.get(name, ())
    return bool(found) and all(each.typing_only for each in found)
