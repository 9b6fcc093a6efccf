"""Objects whose attributes are worked out on demand from the ``__init__`` methods (see ``lazy``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes
from investigator.code.acting import Acting, acting_at, handed_over, statements_that_may_run
from investigator.code.backwards import (
    Given,
    Supply,
    Weighed,
    binding,
    changed_since,
    frame_at,
    weigh,
)
from investigator.code.frames import Frame
from investigator.code.functions import Parameter, parameters
from investigator.code.heap import join_values
from investigator.code.local_bindings import LocalBindings, registered_attribute
from investigator.code.syntax import field as child
from investigator.code.syntax import text
from investigator.code.values import (
    ABSENT,
    Builtin,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    Unknown,
    Value,
    find_unknown,
)

if TYPE_CHECKING:
    from investigator.code.interpreter import Interpreter

MODULE_ATTRIBUTES = frozenset(
    """training forward parameters named_parameters buffers named_buffers children named_children
modules named_modules add_module register_module register_parameter register_buffer get_submodule
get_parameter get_buffer apply cuda cpu type float double half bfloat16 to to_empty state_dict
load_state_dict train eval requires_grad_ zero_grad share_memory extra_repr compile
set_submodule""".split()  # noqa: SIM905
)
"""The public names of ``torch.nn.Module`` (torch 2.11, ``torch/nn/modules/module.py``)."""
_KNOWN_BASES = ("torch.nn.Module", "torch.nn.modules.module.Module")
_SETTING_ANY = ("setattr", "vars", "delattr")

Time = tuple[tuple[int, int], ...]
"""How far the making has come: (level, byte) for each ``__init__`` that is running, outermost
first; empty: it is done."""


def instance(interp: Interpreter, cls: ClassValue, supply: Supply, label: str | None = None) -> Instance:
    """An instance of ``cls`` whose attributes are worked out from the ``__init__`` methods
    along its resolution order, one by one, when they are asked for."""
    made = Instance(cls, {}, complete=False, label=label)
    made.made_by = _Making(interp, cls, made, supply).attribute
    return made


def bound(interp: Interpreter, cls: ClassValue, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Supply:
    """What ``cls(*args, **kwargs)`` supplies to the parameters of its ``__init__``."""
    initialiser = classes.class_attribute(interp, cls, "__init__")
    given = dict(kwargs)
    defaults: dict[str, Node] = {}
    if isinstance(initialiser, FunctionValue):
        given.update(_by_position(parameters(initialiser.node)[1:], args))
        defaults = interp.local_bindings(initialiser).defaults

    def supply(name: str, annotation: str) -> Value:
        if name not in given and name in defaults:
            given[name] = interp.module_default(initialiser, defaults[name])
        return given.get(name, NotImplemented)

    return supply


def _by_position(taking: list[Parameter], args: tuple[Value, ...]) -> dict[str, Value]:
    """Positional arguments by the names of the parameters that take them."""
    positional = [p.name for p in taking if p.kind in ("positional", "any")]
    given = dict(zip(positional, args, strict=False))
    rest = next((p.name for p in taking if p.kind == "*"), None)
    if rest is not None:
        given[rest] = tuple(args[len(positional) :])
    return given


@dataclass(eq=False)
class _Level:
    """A function at work on the object while it is made: one ``__init__`` along the resolution order, or a
    function that one of them calls on the object or hands it to.

    ``name``: what the object is called in it. ``given``, ``time``: what the call that runs it hands over,
    and where that call stands. ``within``: the functions that are running, this one last.
    """

    function: FunctionValue
    name: str
    given: Given
    time: Time
    within: tuple[FunctionValue, ...]


_Running = dict[int, tuple[Node, Acting]]
"""Statements that run a function with the object in hand, and that function, by their first byte."""


@dataclass(frozen=True)
class _Ways:
    """How a function at work on the object may set attributes otherwise than by their names, whatever the
    attribute is.

    ``up``: calls of other ``__init__`` methods, and which. ``any_name``: calls that do not say what
    they set, ``setattr(self, ...)``. ``by_name``: calls that register a name.
    """

    up: tuple[tuple[Node, int], ...]
    any_name: tuple[Node, ...]
    by_name: dict[str, tuple[Node, ...]]
    running: _Running


@dataclass(eq=False)
class _Making:
    """The making of one object. ``asking``: from where its own attributes are being looked at."""

    interp: Interpreter
    cls: ClassValue
    made: Instance
    supply: Supply
    levels: dict[int, _Level] = field(default_factory=dict)
    called: dict[tuple[int, int], int] = field(default_factory=dict)
    far: bool = False
    ways: dict[tuple[int, bool], _Ways] = field(default_factory=dict)
    acting: dict[tuple[str, int, str, bool], _Running] = field(default_factory=dict)
    asking: list[Time] = field(default_factory=list)
    pending: set[tuple[str, Time]] = field(default_factory=set)
    known: dict[str, Value] = field(default_factory=dict)

    def attribute(self, name: str) -> Value:
        """``made.name``; ABSENT when it surely does not exist, NotImplemented when it may."""
        time = self.asking[-1] if self.asking else ()
        if not time and name in self.known:
            return self.known[name]
        key = (name, time)
        if key in self.pending:
            return Unknown(f"{name} is worked out from itself")
        self.pending.add(key)
        try:
            weighed = self._look(0, name, time)
            if weighed.value is NotImplemented and not self.far:
                self.far = True  # functions of other files are read only where these tell nothing
                weighed = self._look(0, name, time)
                self.far = False
        finally:
            self.pending.discard(key)
        if weighed.value is NotImplemented:
            set_later = self._set_elsewhere(name)
            return NotImplemented if set_later else _absent_or_open(self.interp, self.cls, name)
        missing = Unknown(f"{name} may not be assigned", self.made.place)
        value = weighed.or_else(missing, missing)
        if not time:
            self.known[name] = value
        return value

    def _initialisers(self) -> list[FunctionValue]:
        found = []
        for base in classes.mro(self.interp, self.cls):
            own = (
                classes.own_attribute(self.interp, base, "__init__")
                if isinstance(base, ClassValue)
                else NotImplemented
            )
            if isinstance(own, FunctionValue):
                found.append(own)
        return found

    def _level(self, number: int) -> _Level | None:
        if number not in self.levels:
            initialisers = self._initialisers()
            if number >= len(initialisers):
                return None
            function = initialisers[number]
            supply = self.supply
            time: Time = ()
            if number > 0:
                supply, time = self._handed_up(number, function)
            given = self._given(number, supply, time)
            name = self.interp.local_bindings(function).first
            self.levels[number] = _Level(function, name, given, time, (function,))
        return self.levels[number]

    def _given(self, number: int, supply: Supply, time: Time) -> Given:
        @contextmanager
        def looking_from(node: Node) -> Iterator[None]:
            self.asking.append((*time, (number, node.start_byte)))
            try:
                yield
            finally:
                self.asking.pop()

        return Given(supply, looking_from=looking_from)

    # -- from level to level -----------------------------------------------------------

    def _calls_up(self, number: int, level: _Level) -> list[tuple[Node, int]]:
        """The calls of an ``__init__`` that run another of the object's, and which."""
        local = self.interp.local_bindings(level.function)
        found = []
        for call in local.calls:
            callee = "".join(text(child(call, "function")).split())
            if not callee.endswith(".__init__"):
                continue
            if callee.startswith("super("):
                found.append((call, self._next(level.function)))
                continue
            owner = callee.removesuffix(".__init__")
            for other, function in enumerate(self._initialisers()):
                if other != number and function.owner is not None and function.owner.name == owner:
                    found.append((call, other))
        return found

    def _next(self, function: FunctionValue) -> int:
        """Which ``__init__`` ``super()`` means in a function: the first behind the function's own class."""
        order = classes.mro(self.interp, self.cls)
        behind = order[order.index(function.owner) + 1 :] if function.owner in order else []
        owners = [each.owner for each in self._initialisers()]
        return next((i for i, owner in enumerate(owners) if owner in behind), len(owners))

    def _handed_up(self, number: int, function: FunctionValue) -> tuple[Supply, Time]:
        """What an ``__init__`` is handed by the one that calls it: by position and by name; what
        the call does not decide is looked up in what the question supplies."""
        for below in range(number - 1, -1, -1):
            level = self._level(below)
            assert level is not None
            call = next((c for c, target in self._calls_up(below, level) if target == number), None)
            if call is not None:
                time = (*level.time, (below, call.start_byte))
                bound_call = text(child(call, "function")).startswith("super")
                return self._supply_of_call(level, call, function, bound=bound_call), time
        return self.supply, ()

    def _supply_of_call(self, level: _Level, call: Node, function: FunctionValue, *, bound: bool) -> Supply:
        """What a call hands to a function, or an assignment to a property's setter; ``bound``: the object
        itself is not written."""
        interp = self.interp
        handed, whole = handed_over(interp, Acting(function, level.name, bound, call=call))
        defaults = interp.local_bindings(function).defaults

        def supply(name: str, annotation: str) -> Value:
            known = level.given.supply(name, annotation)
            if name in handed:
                frame = frame_at(interp, level.function, self.made, level.given, call.start_byte)
                with level.given.looking_from(call):
                    value = interp.evaluate(frame, handed[name])
                return known if find_unknown(value, 0) is not None and known is not NotImplemented else value
            if whole and name in defaults:
                return interp.module_default(function, defaults[name])
            return known

        return supply

    # -- looking -----------------------------------------------------------------------

    def _look(self, number: int, name: str, time: Time) -> Weighed:
        """What a function, and those it runs, leave in an attribute at a time."""
        level = self._level(number)
        if level is None:
            return Weighed()
        limit = next((byte for other, byte in time if other == number), None)
        running = next((i for i, (other, _) in enumerate(time) if other == number), None)
        inner = Weighed()
        if running is not None and running + 1 < len(time):
            inner = self._look(time[running + 1][0], name, time)
            if inner.certain:
                return inner
        found = self._among_statements(number, level, name, limit)
        if inner.value is NotImplemented:
            return found
        if found.value is NotImplemented:
            return inner
        because = Unknown(f"{name} is set under an undecided condition")
        return Weighed(join_values(inner.value, found.value, because), found.certain)

    def _among_statements(self, number: int, level: _Level, name: str, limit: int | None) -> Weighed:
        interp, function = self.interp, level.function
        local = interp.local_bindings(function)
        target = f"{level.name}.{name}"
        ways = self._ways(number, level)
        up = {call.start_byte: other for call, other in ways.up}
        through = {node.start_byte: node for node in self._may_set(level, name, ways)}
        nodes = [node for node in local.events.get(target, ()) if node.start_byte not in through]
        maybe = {node.start_byte: node for node in _set_on_what_may_be_it(local, level.name, name)}
        nodes = sorted([*nodes, *maybe.values(), *through.values()], key=lambda node: node.start_byte)
        if limit is not None:
            nodes = [node for node in nodes if node.start_byte < limit]
        end = function.node.end_byte if limit is None else limit
        frame = frame_at(interp, function, self.made, level.given, end)

        def value_of(there: Frame, node: Node) -> Weighed:
            if node.start_byte in up:
                return self._look(up[node.start_byte], name, ())
            if node.start_byte in through:
                return self._set_by(number, level, node, name)
            if node.start_byte in maybe:
                return Weighed(Unknown(f"what may be set on the same object as {target}"))
            return binding(interp, frame, there, node, target, limit)

        leaving = local.returns if limit is None else ()
        weighed = weigh(interp, frame, nodes, value_of, leaving, limit)
        if weighed.value is NotImplemented:
            return weighed
        value = changed_since(interp, frame, target, weighed.value, weighed.since, end)
        return Weighed(value, weighed.certain, weighed.since)

    # -- functions that are handed the object --------------------------------------------

    def _set_by(self, number: int, level: _Level, node: Node, name: str) -> Weighed:
        """What a statement that runs a function with the object in hand leaves in the attribute."""
        _, acting = self._running(level.function, level.name).get(node.start_byte, (node, None))
        what = text(child(node, "function" if node.type == "call" else "left"))
        unknown = Weighed(Unknown(f"{what} may set {name}", level.function.module.place(node)))
        if acting is None or _is_changed(acting.function) or acting.function in level.within:
            return unknown
        key = (number, node.start_byte)
        if key not in self.called:
            self.called[key] = _CALLED + len(self.called)
            supply = self._supply_of_call(level, node, acting.function, bound=acting.bound)
            time = (*level.time, key)
            given = replace(self._given(self.called[key], supply, time), names={acting.name: self.made})
            within = (*level.within, acting.function)
            self.levels[self.called[key]] = _Level(acting.function, acting.name, given, time, within)
        found = self._look(self.called[key], name, ())
        return Weighed(found.value, found.certain, node.start_byte)

    def _ways(self, number: int, level: _Level) -> _Ways:
        key = (number, self.far)
        if key not in self.ways:
            calls = self.interp.local_bindings(level.function).calls
            by_name: dict[str, tuple[Node, ...]] = {}
            for call in calls:
                registered = registered_attribute(call)
                if registered is not None:
                    by_name[registered] = (*by_name.get(registered, ()), call)
            own = self.interp.local_bindings(level.function).called(level.name)
            any_name = tuple(call for call in calls if any(_sets_any(call, name) for name in own))
            up = tuple(self._calls_up(number, level))
            self.ways[key] = _Ways(up, any_name, by_name, self._running(level.function, level.name))
        return self.ways[key]

    def _may_set(self, level: _Level, name: str, ways: _Ways) -> Iterator[Node]:
        """The statements of a function that may set the attribute otherwise than by its name: calls of
        other ``__init__`` methods, of functions with the object in hand, of ``setattr`` on it; assignments
        to properties."""
        yield from (call for call, _ in ways.up)
        yield from ways.any_name
        yield from ways.by_name.get(name, ())
        for node, acting in ways.running.values():
            if self._sets(acting, name, set()):
                yield node

    def _sets(self, acting: Acting, name: str, seen: set[str]) -> bool:
        """Whether a function, or one that it hands the object on to, assigns the attribute."""
        function = acting.function
        if function.qualified_name in seen:
            return False
        seen.add(function.qualified_name)
        if f"{acting.name}.{name}" in self.interp.local_bindings(function).events:
            return True
        further = self._running(function, acting.name).values()
        return any(self._sets(inner, name, seen) for _, inner in further)

    def _running(self, function: FunctionValue, own: str) -> _Running:
        """The calls, and the assignments to properties, that run another function with the object in hand."""
        key = (function.module.path, function.node.start_byte, own, self.far)
        if key not in self.acting:
            by, far = Acting(function, own), self.far
            found: _Running = {}
            for node in statements_that_may_run(self.interp, function, own):
                acting = acting_at(self.interp, self.cls, by, node, far=far)
                if acting is not None:
                    found[node.start_byte] = (node, acting)
            self.acting[key] = found
        return self.acting[key]

    def _set_elsewhere(self, name: str) -> bool:
        """Whether a method hands the object to a function that assigns the attribute."""
        for base in classes.mro(self.interp, self.cls):
            for found in classes.own_definitions(base).values() if isinstance(base, ClassValue) else ():
                if found.node.type == "function_definition" and isinstance(base, ClassValue):
                    method = FunctionValue(found.name, found.node, base.scope, base, found.decorators)
                    local = self.interp.local_bindings(method)
                    for node, acting in self._running(method, local.first).values():
                        handing = node.type == "call" and child(node, "function").type == "identifier"
                        if handing and self._sets(acting, name, set()):
                            return True
        return False


_CALLED = 1000
"""Levels from this number on are of functions that were called with the object in hand."""


def _is_changed(function: FunctionValue) -> bool:
    """Whether a decorator may have made something else of a function."""
    return any(not mark.endswith(".setter") for mark in function.decorators)


def _sets_any(call: Node, first: str) -> bool:
    """Whether a call may set attributes that it does not name: ``setattr(self, ...)``."""
    function = text(child(call, "function"))
    if function.startswith(f"{first}.__dict__."):
        return True
    return function in _SETTING_ANY and text(child(call, "arguments")).startswith(f"({first}")


def _set_on_what_may_be_it(local: LocalBindings, own: str, name: str) -> Iterator[Node]:
    """The statements of a function that set the attribute of a variable that may be the object."""
    seen = {*local.called(own)}
    todo = list(seen)
    while todo:
        for other in local.aliases.get(todo.pop(), ()):
            if other not in seen and "." not in other:
                seen.add(other)
                todo.append(other)
                yield from local.events.get(f"{other}.{name}", ())


def _absent_or_open(interp: Interpreter, cls: ClassValue, name: str) -> Value:
    """ABSENT when no method of the class assigns the attribute and no base can have it."""
    for base in classes.mro(interp, cls):
        if isinstance(base, ClassValue):
            if name in interp.assigned_attributes(base):
                return NotImplemented
        elif isinstance(base, External):
            if base.dotted in _KNOWN_BASES:
                if name in MODULE_ATTRIBUTES or name.startswith("__"):
                    return NotImplemented
            elif not base.dotted.startswith(("typing", "abc.")):
                return NotImplemented
        elif not isinstance(base, Builtin):
            return NotImplemented
    return ABSENT
