"""The machine: calls, attributes, frames, budgets.

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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tree_sitter import Node

from investigator.code import (
    attributes,
    builtin_functions,
    builtin_methods,
    classes,
    construction,
    dataclass_fields,
    effects,
    enums,
    expressions,
    externals,
    functions,
    generators,
    lazy,
    names,
    statements,
    variables,
)
from investigator.code.branching import Deferred, Signal, either, over
from investigator.code.exceptions import message_of
from investigator.code.frames import Frame
from investigator.code.heap import may_be_absent, settled
from investigator.code.journal import Journal
from investigator.code.kept_results import KeptResults
from investigator.code.local_bindings import LocalBindings, assigned_attributes, bound_names, local_bindings
from investigator.code.program import Definition, Module, Program
from investigator.code.syntax import Place
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
    NativeMethod,
    OneOf,
    Partial,
    Raised,
    Scope,
    Symbol,
    TracedDict,
    TracedList,
    Unknown,
    Value,
    find_unknown,
    is_spread,
    single,
)

__all__ = ["Budget", "Frame", "Interpreter", "Native", "concerns"]

Native = Callable[["Interpreter", tuple[Value, ...], dict[str, Value]], Value]
"""A callee whose meaning a question supplies: gets positional and keyword arguments."""

ELEMENTS_PER_STEP = 100
"""Elements whose copying or comparing costs as much as one step."""
_HOST_ERRORS = (ArithmeticError, TypeError, ValueError, LookupError, AttributeError, StopIteration)
_NOT_CALLABLE = (int, float, str, list, tuple, dict, set, frozenset, range, slice, type(None))


@dataclass(frozen=True)
class Budget:
    """How far one question may go: evaluations and statements in all, calls within calls,
    rounds of one loop."""

    steps: int = 100_000
    depth: int = 24
    iterations: int = 10_000


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
        self.natives: dict[str, Native] = dict(natives or {})
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
        self.charged = 0
        self.depth = 0
        self.deferred: list[Deferred] = []
        """Paths that left early and have not met the present one yet (see ``branching``)."""
        self.marks = [0]
        """Where in ``deferred`` the paths of each span around begin, innermost last."""
        self.catching = 0
        """How many ``try`` statements around could catch what is raised now."""
        self.doubts = 0
        """How many operations so far may have raised, being done on something unknown."""
        self.handling: list[Raised] = []
        self.modules = names.Modules()
        self._classes: dict[tuple[str, int], ClassValue] = {}
        self._defaults: dict[tuple[str, int], Value] = {}
        self._wrapped: dict[int, tuple[FunctionValue, Value]] = {}
        self.kept_results = KeptResults()

    # -- evaluation ------------------------------------------------------------------

    def evaluate(self, frame: Frame, node: Node) -> Value:
        """The value of an expression. Raises Raised or BudgetSpent."""
        self.step(frame, node)
        try:
            value = expressions.evaluate(self, frame, node)
        except RecursionError:
            raise BudgetSpent("expressions and calls nest too deeply", frame.module.place(node)) from None
        except SyntaxError as error:
            value = Unknown(str(error), frame.module.place(node))
        if isinstance(value, Unknown):
            self.doubts += node.type != "yield"  # what a generator is sent is taken to be None
            return single(value)
        return value

    def run_block(self, frame: Frame, block: Node) -> Signal:
        """Run statements until one leaves the block. Raises Raised or BudgetSpent."""
        return statements.run_block(self, frame, block)

    def execute(self, frame: Frame, node: Node) -> Signal:
        """Run one statement. Raises Raised or BudgetSpent."""
        self.step(frame, node)
        try:
            return statements.run(self, frame, node)
        except RecursionError:
            raise BudgetSpent("statements and calls nest too deeply", frame.module.place(node)) from None
        except SyntaxError as error:
            raise BudgetSpent(str(error), frame.module.place(node)) from None

    @contextmanager
    def timeless(self) -> Iterator[None]:
        """Work something out that holds on every side of an undecided condition: a module's
        or class's own names, which Python works out before any function runs."""
        catching, doubts = self.catching, self.doubts
        self.catching = 0
        try:
            with self.journal.aside():
                yield
        finally:
            self.catching, self.doubts = catching, doubts

    # -- places, notes, budgets ------------------------------------------------------

    def step(self, frame: Frame, node: Node) -> None:
        """Count one step; raises BudgetSpent past the limit."""
        self.steps += 1
        if self.steps + (self.journal.copied + self.charged) // ELEMENTS_PER_STEP > self.budget.steps:
            raise BudgetSpent(f"more than {self.budget.steps:,} steps", frame.module.place(node))

    def charge(self, frame: Frame, node: Node, elements: int) -> None:
        """Count work on many elements, which is not done step by step."""
        self.charged += elements
        if elements > ELEMENTS_PER_STEP:
            self.step(frame, node)

    @contextmanager
    def host_errors(self, frame: Frame, node: Node) -> Iterator[None]:
        """Python's own errors of an operation on plain values are the interpreted program's."""
        try:
            yield
        except _HOST_ERRORS as error:
            raise self.fail(type(error).__name__, str(error), frame, node, error.args) from None

    def note(self, kind: Happening, name: str, value: Value, frame: Frame, node: Node) -> None:
        """Add an event at a node."""
        self.trace.add(kind, name, value, (*self.stack, frame.module.place(node)))

    def fail(
        self, name: str, message: str, frame: Frame, node: Node, args: tuple[Value, ...] | None = None
    ) -> Raised:
        """The exception that the interpreted program raises here. ``args``: what Python gives it,
        where that is known to the letter; ``message`` is for people."""
        place = frame.module.place(node)
        given = (Unknown(f"how Python words a {name}", place),) if args is None else args
        return Raised(ExceptionValue(name, message, None, given), (*self.stack, place))

    def missing_key(self, key: Value, frame: Frame, node: Node) -> Raised:
        """The KeyError of a key that is not there."""
        return self.fail("KeyError", repr(key), frame, node, (key,))

    # -- what the text says, read once -----------------------------------------------

    @staticmethod
    def local_bindings(function: FunctionValue) -> LocalBindings:
        """How a function's own text binds names; read once."""
        known, key = function.module.worked_out, ("bindings", function.node.start_byte)
        if key not in known:
            known[key] = local_bindings(function.node, function.module.package)
        found: LocalBindings = known[key]
        return found

    @staticmethod
    def is_generator(function: FunctionValue) -> bool:
        """Whether calling the function makes a generator; read once."""
        known, key = function.module.worked_out, ("yields", function.node.start_byte)
        if key not in known:
            body = function.node.child_by_field_name("body")
            known[key] = body is not None and generators.may_yield(body)
        return bool(known[key])

    def module_default(self, function: FunctionValue, node: Node) -> Value:
        """A default of a function of a module or class, made once for all calls."""
        key = (function.module.path, node.start_byte)
        if key not in self._defaults:
            with self.timeless():
                self._defaults[key] = names.evaluate_at(self, function, node)
        return self._defaults[key]

    @staticmethod
    def bound_names(module: Module, function: Node) -> frozenset[str]:
        """The names that are a function's own variables; read once."""
        known, key = module.worked_out, ("bound names", function.start_byte)
        if key not in known:
            known[key] = bound_names(function)
        found: frozenset[str] = known[key]
        return found

    @staticmethod
    def assigned_attributes(cls: ClassValue) -> frozenset[str]:
        """The attributes that any method in the class's body assigns; read once."""
        known, key = cls.module.worked_out, ("attributes", cls.node.start_byte)
        if key not in known:
            known[key] = assigned_attributes(cls.node)
        found: frozenset[str] = known[key]
        return found

    # -- names -----------------------------------------------------------------------

    def globals_of(self, module: Module) -> Scope:
        """The module's scope; its names are evaluated when they are first asked for."""
        return self.modules.globals_of(module)

    def lookup(self, name: str, frame: Frame, node: Node) -> Value:
        """The value of a name. Raises Raised(NameError) when nothing binds it."""
        return variables.lookup(self, name, frame, node)

    def global_name(self, module: Module, name: str) -> Value:
        """A module's top-level name, evaluated once; NotImplemented when it binds none."""
        return names.global_name(self, module, name)

    def define(self, scope: Scope, found: list[Definition], owner: ClassValue | None = None) -> Value:
        """What several definitions of one name give it; NotImplemented when none is reached."""
        return names.define(self, scope, found, owner)

    def import_value(self, dotted: str, name: str | None) -> Value:
        """What ``from dotted import name`` (or ``import dotted``) binds."""
        return names.import_value(self, dotted, name)

    def module_attribute(self, module: Module, name: str) -> Value:
        """``module.name``: a top-level name, a submodule, or what ``__getattr__`` makes of it."""
        return names.module_attribute(self, module, name)

    def class_value(self, node: Node, scope: Scope, decorators: tuple[str, ...]) -> ClassValue:
        """The class of a class statement; a module's statement always gives the same class."""
        key = (scope.module.path, node.start_byte)
        if key not in self._classes or scope is not self.globals_of(scope.module):
            self._classes[key] = ClassValue(names.name_of(node), node, scope, decorators)
        return self._classes[key]

    # -- calls -----------------------------------------------------------------------

    def call(
        self, frame: Frame, node: Node, callee: Value, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        """``callee(*args, **kwargs)`` as written at ``node``."""
        if isinstance(callee, BoundMethod):
            return self._call_function(frame, node, callee.function, (callee.receiver, *args), kwargs)
        if isinstance(callee, FunctionValue):
            return self._call_function(frame, node, callee, args, kwargs)
        if isinstance(callee, ClassValue):
            return self._call_class(frame, node, callee, args, kwargs)
        if isinstance(callee, Builtin):
            return builtin_functions.call(self, frame, node, callee.name, args, kwargs)
        if isinstance(callee, NativeMethod):
            return builtin_methods.call(self, frame, node, callee, args, kwargs)
        if isinstance(callee, External):
            handler = self.natives.get(callee.dotted)
            if handler is not None:
                return self._native(frame, node, handler, args, kwargs)
            known = externals.FUNCTIONS.get(callee.dotted)
            if known is not None:
                return known(self, frame, node, args, kwargs)
            self.note(Happening.SKIP, callee.dotted, (args, kwargs), frame, node)
            return Unknown(f"{callee.dotted} is outside the tree", frame.module.place(node))
        if isinstance(callee, Unknown):
            return effects.through_unknown(self, frame, node, callee, (*args, *kwargs.values()))
        if isinstance(callee, OneOf):
            return over(
                self, frame, node, callee, lambda option: self.call(frame, node, option, args, kwargs)
            )
        if isinstance(callee, Symbol):
            value = callee.call(args, kwargs)
            return self._undecided(frame, node, "call of a symbol") if value is NotImplemented else value
        if isinstance(callee, Partial):
            merged = {**callee.keywords, **kwargs}
            return self.call(frame, node, callee.function, (*callee.arguments, *args), merged)
        if isinstance(callee, Instance) and callee.cls is not None:
            method = classes.class_attribute(self, callee.cls, "__call__")
            if method is NotImplemented and classes.has_external_base(self, callee.cls):
                # torch.nn.Module.__call__ runs forward; every model of these engines is one.
                method = classes.class_attribute(self, callee.cls, "forward")
            if isinstance(method, FunctionValue):
                return self._call_function(frame, node, method, (callee, *args), kwargs)
        if isinstance(callee, _NOT_CALLABLE):
            raise self.fail("TypeError", f"{type(callee).__name__} object is not callable", frame, node)
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
        if classes.is_marked(function, "overload", "singledispatch", "singledispatchmethod"):
            unknown = self._undecided(frame, node, f"{function.name}, one of several functions,")
            effects.left_alone(self, unknown, (*args, *kwargs.values()))
            return unknown
        if not self._enters(frame, function.name, function.qualified_name, function.module, args, kwargs):
            return self._left_alone(frame, node, function.qualified_name, args, kwargs)
        wrapper = self._wrapper(function) if function.decorators and function.defaults is None else function
        if wrapper is not function:
            return self.call(frame, node, wrapper, args, kwargs)
        if classes.is_marked(function, "cache", "lru_cache"):
            return self.kept_results.call(self, frame, node, function, args, kwargs)
        return self.invoke(frame, node, function, args, kwargs)

    def invoke(
        self,
        frame: Frame,
        node: Node,
        function: FunctionValue,
        args: tuple[Value, ...],
        kwargs: dict[str, Value],
    ) -> Value:
        """Enter a function, with the place of the call on the stack."""
        self.stack.append(frame.module.place(node))
        try:
            return self.enter(function, args, kwargs)
        finally:
            self.stack.pop()

    def _wrapper(self, function: FunctionValue) -> Value:
        """What the function's decorators make of it; itself where they are not of its file."""
        key = id(function)
        if key not in self._wrapped:
            self._wrapped[key] = (function, function)
            plain = replace(function, decorators=())
            with self.timeless():
                made = functions.decorated(self, function.scope, function.node, plain)
            self._wrapped[key] = (function, function if made is plain else made)
        return self._wrapped[key][1]

    def _call_class(
        self, frame: Frame, node: Node, cls: ClassValue, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        handler = self.natives.get(cls.name)
        if handler is not None:
            return self._native(frame, node, handler, args, kwargs)
        place = frame.module.place(node)
        if classes.own_metaclass(self, cls):
            unknown = self._undecided(frame, node, f"{cls.name}(), which its metaclass answers,")
            effects.left_alone(self, unknown, (*args, *kwargs.values()))
            return unknown
        if classes.is_exception(self, cls):
            return ExceptionValue(cls.name, message_of(args), cls, args)
        if enums.is_enum(self, cls) and len(args) == 1:
            return enums.by_value(self, frame, node, cls, args[0])
        if self.made_on_demand is not None and self.made_on_demand(cls):
            return lazy.instance(self, cls, lazy.bound(self, cls, args, kwargs))
        enters = self._enters(frame, cls.name, cls.name, cls.module, args, kwargs)
        if not enters and not dataclass_fields.only_fills(self, cls):
            self._left_alone(frame, node, cls.name, args, kwargs)
            return Instance(cls, self.journal.born({}), complete=False, place=place)
        if frame.on_demand and classes.has_external_base(self, cls):
            return lazy.instance(self, cls, lazy.bound(self, cls, args, kwargs))
        self.stack.append(place)
        try:
            return self.construct(cls, args, kwargs, place)
        finally:
            self.stack.pop()

    def construct(
        self, cls: ClassValue, args: tuple[Value, ...], kwargs: dict[str, Value], place: Place | None
    ) -> Value:
        """Make an instance and run its ``__init__`` (or fill its dataclass fields)."""
        return construction.construct(self, cls, args, kwargs, place)

    def leave_alone(
        self, frame: Frame, node: Node, name: str, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        """What a callee gives that is not even looked up: an object of a class (by the
        convention that classes are capitalised), else something unknown."""
        unknown = self._left_alone(frame, node, name, args, kwargs)
        if name[:1].isupper():
            return Instance(None, self.journal.born({}), complete=False, place=unknown.place)
        return unknown

    def _left_alone(
        self, frame: Frame, node: Node, name: str, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Unknown:
        """A callee of the tree that is not entered may have changed what it was handed."""
        self.note(Happening.SKIP, name, (args, kwargs), frame, node)
        unknown = Unknown(f"{name} was not followed", frame.module.place(node), not_followed=name)
        effects.left_alone(self, unknown, (*args, *kwargs.values()))
        return unknown

    @staticmethod
    def may_enter(args: Sequence[Value], kwargs: Mapping[str, Value]) -> bool:
        """Whether some argument is what the question is about."""
        return any(concerns(value) for value in (*args, *kwargs.values()))

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
        if self.depth >= self.budget.depth:
            place = self.stack[-1] if self.stack else function.module.place(function.node)
            unknown = Unknown(f"calls nest deeper than {self.budget.depth}", place)
            effects.left_alone(self, unknown, (*args, *kwargs.values()))
            return unknown
        self.depth += 1
        try:
            value = functions.run_function(self, function, args, kwargs)
        finally:
            self.depth -= 1
        return value if self.depth or self.stack else settled(value)

    # -- attributes ------------------------------------------------------------------

    def attribute(self, frame: Frame, node: Node, owner: Value, name: str) -> Value:
        """``owner.name``. Raises Raised(AttributeError) where it surely does not exist."""
        return attributes.attribute(self, frame, node, owner, name)

    def attribute_or_missing(self, frame: Frame, node: Node, owner: Value, name: str) -> Value:
        """``owner.name``; NotImplemented where it surely does not exist; ABSENT among its
        options where it may not."""
        return attributes.attribute_or_missing(self, frame, node, owner, name)

    def plain_attribute(self, frame: Frame, node: Node, owner: Instance, name: str) -> Value:
        """``object.__getattribute__(owner, name)``; NotImplemented where it surely does not exist."""
        return attributes.plain_attribute(self, frame, node, owner, name)

    def set_plainly(self, frame: Frame, node: Node, owner: Instance, name: str, value: Value) -> None:
        """``object.__setattr__(owner, name, value)``."""
        attributes.set_plainly(self, frame, node, owner, name, value)

    def set_attribute(self, frame: Frame, node: Node, owner: Value, name: str, value: Value) -> None:
        """``owner.name = value``."""
        attributes.set_attribute(self, frame, node, owner, name, value)

    # -- undecided values ------------------------------------------------------------

    def over(self, frame: Frame, node: Node, choice: OneOf, compute: Callable[[Value], Value]) -> Value:
        """Apply to each option and join."""
        return over(self, frame, node, choice, compute)

    def either(
        self, frame: Frame, node: Node, sides: Sequence[Callable[[], Value]], because: Unknown
    ) -> Value:
        """The join of what an undecided expression may give; sides that raise are left out."""
        return either(self, frame, node, sides, because)

    def why(self, value: Value, frame: Frame, node: Node) -> Unknown:
        """The reason that a value, or its truth, is not known."""
        return find_unknown(value) or Unknown("truth not known", frame.module.place(node))

    def truth(self, value: Value) -> bool | None:
        """``bool(value)``; None when undecided."""
        if isinstance(value, Unknown):
            return value.truth
        if isinstance(value, OneOf):
            sides = {self.truth(option) for option in value.options if option is not ABSENT}
            return sides.pop() if len(sides) == 1 else None
        if isinstance(value, Symbol):
            return value.truth()
        if isinstance(value, External):
            return None
        if isinstance(value, Instance):
            return classes.truth_of_instance(self, value)
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            if isinstance(value, dict) and value:
                return (
                    True if any(not may_be_absent(v) and not is_spread(k) for k, v in value.items()) else None
                )
            if any(not is_spread(item) for item in value):
                return True
            return None if value else False
        return builtin_functions.truth(value)


def concerns(value: Value) -> bool:
    """Whether a callee that is handed this value may matter to the question."""
    if isinstance(value, (TracedDict, TracedList, Symbol)):
        return True
    if isinstance(value, Instance):
        return value.label is not None
    if isinstance(value, (list, tuple)) and len(value) <= 64:
        return any(isinstance(i, Symbol) or (isinstance(i, Instance) and i.label is not None) for i in value)
    return isinstance(value, BoundMethod) and concerns(value.receiver)
