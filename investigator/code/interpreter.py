"""The machine: names, attributes, calls, frames, budgets.

``Interpreter`` follows values through one :class:`~investigator.code.program.Program`.
It is total: every call ends in a value, in ``Raised`` (the program raised) or in
``BudgetSpent``; what it cannot decide is ``Unknown``.

Which calls are entered: those in the caller's own file, those that are handed something
the question is about (a labelled object, a traced container, a symbol), and those named in
``follow``. Any other call yields ``Unknown(not_followed=NAME)``; a question whose answer
comes out as such an unknown is asked again with that name in ``follow``
(:func:`investigator.code.follow.deepen`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from investigator.code import classes, lazy, native
from investigator.code.branching import Deferred
from investigator.code.heap import Journal, join_values
from investigator.code.local_bindings import LocalBindings, local_bindings
from investigator.code.program import Definition, Module, Program
from investigator.code.syntax import Place, decorators, descendants, named, text
from investigator.code.syntax import field as child
from investigator.code.trace import Happening, Trace
from investigator.code.values import (
    ABSENT,
    BoundMethod,
    BudgetSpent,
    Builtin,
    ClassValue,
    ExceptionValue,
    External,
    FunctionValue,
    Instance,
    ModuleValue,
    NativeMethod,
    OneOf,
    Partial,
    Raised,
    Scope,
    Super,
    Symbol,
    TracedDict,
    TracedList,
    Unknown,
    Value,
)

Native = Callable[["Interpreter", tuple[Value, ...], dict[str, Value]], Value]
"""A callee whose meaning a question supplies: gets positional and keyword arguments."""


@dataclass(frozen=True)
class Budget:
    """How far one question may go."""

    steps: int = 400_000
    depth: int = 40
    iterations: int = 10_000


@dataclass
class Frame:
    """One running function, or the evaluation of a module's or class's top level."""

    scope: Scope
    function: FunctionValue | None = None
    receiver: Value = None
    deferred: list[Deferred] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)
    """What a generator has yielded so far; a generator is run to its end when it is called."""

    @property
    def module(self) -> Module:
        """The file whose text is being interpreted."""
        return self.scope.module

    @property
    def on_demand(self) -> bool:
        """Whether its variables are worked out backwards (see ``lazy``): objects made here
        are worked out on demand as well."""
        return self.scope.on_demand is not None and self.function is not None


class Interpreter:
    """Follows values. One per question: what one question changes, another must not see."""

    def __init__(
        self,
        program: Program,
        *,
        follow: Iterable[str] = (),
        natives: Mapping[str, Native] | None = None,
        constants: Mapping[str, Value] | None = None,
        environment: Mapping[str, str] | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.program = program
        self.follow = frozenset(follow)
        self.natives = {**native.EXTERNALS, **(natives or {})}
        self.constants = dict(constants or {})
        """Module-level names whose value a question takes for granted (``HAS_TRITON``)."""
        self.environment = dict(environment or {})
        self.budget = budget or Budget()
        self.made_on_demand: Callable[[ClassValue], bool] | None = None
        """Classes whose objects are worked out attribute by attribute (``lazy.instance``)
        wherever they are made, instead of by running their ``__init__``."""
        self.trace = Trace()
        self.journal = Journal()
        self.stack: list[Place] = []
        self.steps = 0
        self._globals: dict[str, Scope] = {}
        self._resolving: set[tuple[int, str]] = set()
        self._classes: dict[tuple[str, int], ClassValue] = {}

    # -- places, notes, budgets ------------------------------------------------------

    def step(self, frame: Frame, node: Node) -> None:
        """Count one step; raises BudgetSpent past the limit."""
        self.steps += 1
        if self.steps > self.budget.steps:
            raise BudgetSpent(f"more than {self.budget.steps:,} steps", frame.module.place(node))

    def note(self, kind: Happening, name: str, value: Value, frame: Frame, node: Node) -> None:
        """Add an event at a node."""
        self.trace.add(kind, name, value, (*self.stack, frame.module.place(node)))

    def fail(self, name: str, message: str, frame: Frame, node: Node) -> Raised:
        """The exception that the interpreted program raises here."""
        return Raised(ExceptionValue(name, message), (*self.stack, frame.module.place(node)))

    @staticmethod
    def local_bindings(function: FunctionValue) -> LocalBindings:
        """How a function's own text binds names; read once."""
        known, key = function.module.worked_out, ("bindings", function.node.start_byte)
        if key not in known:
            known[key] = local_bindings(function.node, function.module.package)
        found: LocalBindings = known[key]
        return found

    @staticmethod
    def assigned_attributes(cls: ClassValue) -> frozenset[str]:
        """The attributes that any method in the class's body assigns; read once."""
        known, key = cls.module.worked_out, ("attributes", cls.node.start_byte)
        if key not in known:
            known[key] = frozenset(
                text(child(left, "attribute"))
                for node in descendants(cls.node, "assignment", "augmented_assignment")
                for left in [child(node, "left"), *named(child(node, "left"))]
                if left.type == "attribute"
            )
        found: frozenset[str] = known[key]
        return found

    # -- names -----------------------------------------------------------------------

    def globals_of(self, module: Module) -> Scope:
        """The module's scope; its names are evaluated when they are first asked for."""
        if module.path not in self._globals:
            self._globals[module.path] = Scope(module)
        return self._globals[module.path]

    def lookup(self, name: str, frame: Frame, node: Node) -> Value:
        """The value of a name. Raises Raised(NameError) when nothing binds it."""
        scope: Scope | None = frame.scope
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            if scope.on_demand is not None:
                value = scope.on_demand(name)
                if value is not NotImplemented:
                    return value
            scope = scope.parent
        value = self.global_name(frame.module, name)
        if value is not NotImplemented:
            return value
        if native.is_builtin(name):
            return Builtin(name)
        if "*" in frame.module.symbols:
            return Unknown(f"{name} may come from a wildcard import", frame.module.place(node))
        raise self.fail("NameError", f"name {name!r} is not defined", frame, node)

    def global_name(self, module: Module, name: str) -> Value:
        """A module's top-level name, evaluated once; NotImplemented when it binds none."""
        scope = self.globals_of(module)
        if name in scope.variables:
            return scope.variables[name]
        found = module.symbols.get(name)
        if not found:
            return NotImplemented
        if name in self.constants:
            return self.constants[name]
        key = (id(scope), name)
        if key in self._resolving:
            return Unknown(f"{name} is defined in terms of itself")
        self._resolving.add(key)
        try:
            value = self._define(scope, found)
        finally:
            self._resolving.discard(key)
        scope.variables[name] = value
        return value

    def _define(self, scope: Scope, found: list[Definition]) -> Value:
        at_runtime = [d for d in found if not d.typing_only] or found
        last = at_runtime[-1]
        if not last.conditional or len(at_runtime) == 1:
            return self.bind(scope, last)
        unconditional = [d for d in at_runtime if not d.conditional]
        options = [*unconditional[-1:], *(d for d in at_runtime if d.conditional)]
        value = self.bind(scope, options[0])
        because = Unknown(f"{last.name} is bound under a condition", scope.module.place(last.node))
        for option in options[1:]:
            value = join_values(value, self.bind(scope, option), because)
        return value

    def bind(self, scope: Scope, found: Definition) -> Value:
        """The value that one definition gives its name."""
        node = found.node
        if found.imported is not None:
            return self.import_value(*found.imported)
        if node.type == "function_definition":
            return FunctionValue(found.name, node, scope, None, tuple(decorators(node)))
        if node.type == "class_definition":
            return self.class_value(node, scope)
        right = node.child_by_field_name("right")
        if right is None:
            return Unknown(f"{found.name} is declared and not assigned", scope.module.place(node))
        frame = Frame(scope)
        from investigator.code.expressions import evaluate

        value = evaluate(self, frame, right)
        left = child(node, "left")
        if left.type == "identifier":
            return value
        from investigator.code.expressions import unpack

        names = [text(part) for part in named(left)]
        parts = unpack(self, frame, node, value, len(names))
        return parts[names.index(found.name)]

    def class_value(self, node: Node, scope: Scope) -> ClassValue:
        """The class of a class statement; the same statement always gives the same class."""
        key = (scope.module.path, node.start_byte)
        if key not in self._classes or scope.parent is not None:
            self._classes[key] = ClassValue(text(child(node, "name")), node, scope, tuple(decorators(node)))
        return self._classes[key]

    def import_value(self, dotted: str, name: str | None) -> Value:
        """What ``from dotted import name`` (or ``import dotted``) binds."""
        module = self.program.module(dotted)
        if name is None:
            return ModuleValue(module) if module is not None else External(dotted)
        if module is not None:
            value = self.global_name(module, name)
            if value is not NotImplemented:
                return value
        inner = self.program.module(f"{dotted}.{name}")
        if inner is not None:
            return ModuleValue(inner)
        if module is not None:
            return self.module_attribute(module, name)
        if self.program.is_package(dotted):
            return Unknown(f"{dotted} has no module {name}")
        return External(f"{dotted}.{name}")

    def module_attribute(self, module: Module, name: str) -> Value:
        """``module.name``: a top-level name, a submodule, or what ``__getattr__`` makes of it."""
        value = self.global_name(module, name)
        if value is not NotImplemented and not self._typing_only(module, name):
            return value
        getter = self.global_name(module, "__getattr__")
        if isinstance(getter, FunctionValue):
            return self.enter(getter, (name,), {})
        if value is not NotImplemented:
            return value
        inner = self.program.module(f"{module.dotted}.{name}")
        if inner is not None:
            return ModuleValue(inner)
        wildcard = module.symbols.get("*", [])
        for found in wildcard:
            if found.imported is not None:
                value = self.import_value(found.imported[0], name)
                if not isinstance(value, (External, Unknown)):
                    return value
        return Unknown(f"{module.dotted} has no name {name}")

    @staticmethod
    def _typing_only(module: Module, name: str) -> bool:
        return all(found.typing_only for found in module.symbols.get(name, ()))

    # -- calls -----------------------------------------------------------------------

    def call(
        self, frame: Frame, node: Node, callee: Value, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        """``callee(*args, **kwargs)`` as written at ``node``."""
        if isinstance(callee, Unknown):
            return callee
        if isinstance(callee, OneOf):
            return callee.because or Unknown("one of several callees", callee.place)
        if isinstance(callee, Symbol):
            value = callee.call(args, kwargs)
            return self._undecided(frame, node, "call of a symbol") if value is NotImplemented else value
        if isinstance(callee, Partial):
            merged = {**callee.keywords, **kwargs}
            return self.call(frame, node, callee.function, (*callee.arguments, *args), merged)
        if isinstance(callee, BoundMethod):
            return self._call_function(frame, node, callee.function, (callee.receiver, *args), kwargs)
        if isinstance(callee, FunctionValue):
            return self._call_function(frame, node, callee, args, kwargs)
        if isinstance(callee, ClassValue):
            return self._call_class(frame, node, callee, args, kwargs)
        if isinstance(callee, Builtin):
            return native.call_builtin(self, frame, node, callee.name, args, kwargs)
        if isinstance(callee, NativeMethod):
            return native.call_method(self, frame, node, callee, args, kwargs)
        if isinstance(callee, External):
            handler = self.natives.get(callee.dotted)
            if handler is not None:
                return self._native(frame, node, handler, args, kwargs)
            self.note(Happening.SKIP, callee.dotted, (args, kwargs), frame, node)
            return Unknown(f"{callee.dotted} is outside the tree", frame.module.place(node))
        if isinstance(callee, Instance):
            method = classes.class_attribute(self, callee.cls, "__call__") if callee.cls else NotImplemented
            if method is NotImplemented and callee.cls and classes.has_external_base(self, callee.cls):
                # torch.nn.Module.__call__ runs forward; every model of these engines is one.
                method = classes.class_attribute(self, callee.cls, "forward")
            if isinstance(method, FunctionValue):
                return self._call_function(frame, node, method, (callee, *args), kwargs)
        return self._undecided(frame, node, f"call of {callee!r}")

    def _native(
        self, frame: Frame, node: Node, handler: Native, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        self.stack.append(frame.module.place(node))
        try:
            return handler(self, args, kwargs)
        finally:
            self.stack.pop()

    def _undecided(self, frame: Frame, node: Node, what: str) -> Unknown:
        return Unknown(f"{what} is not followed", frame.module.place(node))

    def _call_function(
        self,
        frame: Frame,
        node: Node,
        function: FunctionValue,
        args: tuple[Value, ...],
        kwargs: dict[str, Value],
    ) -> Value:
        handler = self.natives.get(function.qualified_name) or self.natives.get(function.name)
        if handler is not None:
            return self._native(frame, node, handler, args, kwargs)
        if any("overload" in d for d in function.decorators):
            return self._undecided(frame, node, f"overload {function.name}")
        if not self._enters(frame, function.name, function.qualified_name, function.module, args, kwargs):
            self.note(Happening.SKIP, function.qualified_name, (args, kwargs), frame, node)
            return Unknown(
                f"{function.qualified_name} was not followed",
                frame.module.place(node),
                not_followed=function.qualified_name,
            )
        self.stack.append(frame.module.place(node))
        try:
            return self.enter(function, args, kwargs)
        finally:
            self.stack.pop()

    def _call_class(
        self, frame: Frame, node: Node, cls: ClassValue, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        handler = self.natives.get(cls.name)
        if handler is not None:
            return self._native(frame, node, handler, args, kwargs)
        place = frame.module.place(node)
        if classes.is_exception(self, cls):
            return ExceptionValue(cls.name, " ".join(a for a in args if isinstance(a, str)))
        if self.made_on_demand is not None and self.made_on_demand(cls):
            return lazy.instance(self, cls, lazy.bound(self, cls, args, kwargs))
        if not self._enters(frame, cls.name, cls.name, cls.module, args, kwargs):
            self.note(Happening.SKIP, cls.name, (args, kwargs), frame, node)
            return Instance(cls, {}, complete=False, place=place)
        if frame.on_demand and classes.has_external_base(self, cls):
            return lazy.instance(self, cls, lazy.bound(self, cls, args, kwargs))
        self.stack.append(place)
        try:
            return self.construct(cls, args, kwargs, place)
        finally:
            self.stack.pop()

    def imported_callee(self, frame: Frame, name: str) -> str | None:
        """The real name of a callee that this file imports from another file of the tree, where
        nothing but its arguments could make it worth entering; None for any other callee."""
        if self.made_on_demand is not None or self._bound_locally(frame, name):
            return None
        found = frame.module.symbols.get(name)
        if found is None or len(found) != 1 or found[0].imported is None or found[0].conditional:
            return None
        dotted, real = found[0].imported
        if real is None or real.endswith(("Error", "Exception", "Warning")):
            return None
        if self._wanted(name) or self._wanted(real) or self.program.path_of(dotted) is None:
            return None
        return real

    def _wanted(self, name: str) -> bool:
        return name in self.natives or name in self.follow

    def _bound_locally(self, frame: Frame, name: str) -> bool:
        scope: Scope | None = frame.scope
        while scope is not None and scope is not self._globals.get(frame.module.path):
            if name in scope.variables:
                return True
            on_demand = scope.on_demand is not None
            if on_demand and (frame.function is None or self.local_bindings(frame.function).binds(name)):
                return True
            scope = scope.parent
        return False

    @staticmethod
    def may_enter(args: Sequence[Value], kwargs: Mapping[str, Value]) -> bool:
        """Whether some argument is what the question is about."""
        return any(concerns(value) for value in (*args, *kwargs.values()))

    def leave_alone(
        self, frame: Frame, node: Node, name: str, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        """What a callee gives that is not even looked up: an object of a class (by the
        convention that classes are capitalised), else something unknown."""
        place = frame.module.place(node)
        self.note(Happening.SKIP, name, (args, kwargs), frame, node)
        if name[:1].isupper():
            return Instance(None, {}, complete=False, place=place)
        return Unknown(f"{name} was not followed", place, not_followed=name)

    def construct(
        self, cls: ClassValue, args: tuple[Value, ...], kwargs: dict[str, Value], place: Place | None
    ) -> Value:
        """Make an instance and run its ``__init__`` (or fill its dataclass fields)."""
        made = Instance(cls, {}, complete=not classes.has_external_base(self, cls), place=place)
        initialiser = classes.class_attribute(self, cls, "__init__")
        if isinstance(initialiser, FunctionValue):
            self.enter(initialiser, (made, *args), kwargs)
        elif classes.is_dataclass(self, cls):
            classes.fill_fields(self, made, args, kwargs)
        else:
            made.complete = False
        return made

    def _enters(
        self,
        frame: Frame,
        name: str,
        qualified: str,
        module: Module,
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
    ) -> bool:
        if module.path == frame.module.path or name in self.follow or qualified in self.follow:
            return True
        return self.may_enter(args, kwargs)

    def enter(self, function: FunctionValue, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """Run a function of the tree. Raises Raised or BudgetSpent."""
        from investigator.code.statements import run_function

        if len(self.stack) > self.budget.depth:
            place = self.stack[-1]
            return Unknown(f"calls nest deeper than {self.budget.depth}", place)
        return run_function(self, function, args, kwargs)

    # -- attributes ------------------------------------------------------------------

    def attribute(self, frame: Frame, node: Node, owner: Value, name: str) -> Value:
        """``owner.name``. Raises Raised(AttributeError) where it surely does not exist."""
        value = self.attribute_or_missing(frame, node, owner, name)
        if value is NotImplemented:
            raise self.fail("AttributeError", f"{owner!r} has no attribute {name!r}", frame, node)
        return value

    def attribute_or_missing(self, frame: Frame, node: Node, owner: Value, name: str) -> Value:
        """``owner.name``; NotImplemented where it surely does not exist."""
        if isinstance(owner, Unknown):
            return owner
        if isinstance(owner, OneOf):
            return self.over(owner, lambda option: self.attribute(frame, node, option, name))
        if isinstance(owner, Symbol):
            kept = owner.kept()
            value = kept[name] if kept is not None and name in kept else owner.attribute(name)
            if value is ABSENT:
                return NotImplemented
            return self._undecided(frame, node, f".{name}") if value is NotImplemented else value
        if isinstance(owner, ModuleValue):
            return self.module_attribute(owner.module, name)
        if isinstance(owner, External):
            return External(f"{owner.dotted}.{name}")
        if isinstance(owner, Instance):
            return self._instance_attribute(frame, node, owner, name)
        if isinstance(owner, ClassValue):
            return classes.attribute_of_class(self, owner, name)
        if isinstance(owner, Super):
            return classes.super_attribute(self, owner, name)
        return native.attribute(owner, name, frame.module.place(node))

    def _instance_attribute(self, frame: Frame, node: Node, owner: Instance, name: str) -> Value:
        value = self._find_on_instance(frame, node, owner, name)
        if owner.label is not None:
            self.note(Happening.READ, f"{owner.label}.{name}", value, frame, node)
        return value

    def _find_on_instance(self, frame: Frame, node: Node, owner: Instance, name: str) -> Value:
        if name in owner.attributes:
            return owner.attributes[name]
        if name == "__class__" and owner.cls is not None:
            return owner.cls
        if owner.cls is not None:
            value = classes.class_attribute(self, owner.cls, name)
            if value is not NotImplemented:
                return classes.bind_attribute(self, frame, node, owner, value)
        if owner.made_by is not None:
            value = owner.made_by(name)
            if value is ABSENT:
                return NotImplemented
            if value is not NotImplemented:
                owner.attributes[name] = value
                return value
        if owner.complete:
            return NotImplemented
        return Unknown(f"{owner!r} may have an attribute {name}", frame.module.place(node))

    def set_attribute(self, frame: Frame, node: Node, owner: Value, name: str, value: Value) -> None:
        """``owner.name = value``. Assignments to undecided owners are dropped."""
        kept = owner.kept() if isinstance(owner, Symbol) else None
        if kept is not None:
            self.journal.touch(kept)
            kept[name] = value
            self.note(Happening.STORE, f"{type(owner).__name__}.{name}", (owner, value), frame, node)
        if not isinstance(owner, Instance):
            return
        if owner.cls is not None:
            setter = classes.property_setter(self, owner.cls, name)
            if setter is not None:
                self.enter(setter, (owner, value), {})
                return
        self.journal.touch(owner.attributes)
        owner.attributes[name] = value
        owner_name = owner.label or (owner.cls.name if owner.cls else "object")
        self.note(Happening.STORE, f"{owner_name}.{name}", (owner, value), frame, node)

    # -- undecided values ------------------------------------------------------------

    def over(self, choice: OneOf, compute: Callable[[Value], Value]) -> Value:
        """Apply to each option and join."""
        because = choice.because or Unknown("depends on an undecided condition", choice.place)
        results = [compute(option) for option in choice.options]
        value = results[0]
        for other in results[1:]:
            value = join_values(value, other, because)
        return value

    def truth(self, value: Value) -> bool | None:
        """``bool(value)``; None when undecided."""
        if isinstance(value, Unknown):
            return None
        if isinstance(value, OneOf):
            sides = {self.truth(option) for option in value.options}
            return sides.pop() if len(sides) == 1 else None
        if isinstance(value, Symbol):
            return value.truth()
        if isinstance(value, External):
            return None
        if isinstance(value, Instance):
            return classes.truth_of_instance(self, value)
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            if any(not (isinstance(item, Unknown) and item.spread) for item in value):
                return True
            return None if value else False
        return bool(value)


def concerns(value: Value) -> bool:
    """Whether a callee that is handed this value may matter to the question."""
    if isinstance(value, (TracedDict, TracedList, Symbol)):
        return True
    if isinstance(value, Instance):
        return value.label is not None
    if isinstance(value, (list, tuple)) and len(value) <= 64:
        return any(isinstance(item, Symbol) for item in value)
    return isinstance(value, BoundMethod) and concerns(value.receiver)
