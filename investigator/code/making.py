"""Objects whose attributes are worked out on demand from the ``__init__`` methods (see ``lazy``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tree_sitter import Node

from investigator.code import classes
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
from investigator.code.local_bindings import registered_attribute
from investigator.code.syntax import field as child
from investigator.code.syntax import named, text
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
    """One ``__init__`` along the resolution order, and the call of the level above that runs it."""

    initialiser: FunctionValue
    given: Given
    time: Time


@dataclass(eq=False)
class _Making:
    """The making of one object. ``asking``: from where its own attributes are being looked at."""

    interp: Interpreter
    cls: ClassValue
    made: Instance
    supply: Supply
    levels: dict[int, _Level] = field(default_factory=dict)
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
        finally:
            self.pending.discard(key)
        if weighed.value is NotImplemented:
            return _absent_or_open(self.interp, self.cls, name)
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
            self.levels[number] = _Level(function, self._given(number, supply, time), time)
        return self.levels[number]

    def _given(self, number: int, supply: Supply, time: Time, at: Node | None = None) -> Given:
        """``at``: the call in the ``__init__`` from which all that is asked is looked at."""

        @contextmanager
        def looking_from(node: Node) -> Iterator[None]:
            self.asking.append((*time, (number, (at or node).start_byte)))
            try:
                yield
            finally:
                self.asking.pop()

        return Given(supply, looking_from=looking_from)

    # -- from level to level -----------------------------------------------------------

    def _calls_up(self, number: int, level: _Level) -> list[tuple[Node, int]]:
        """The calls of an ``__init__`` that run another of the object's, and which."""
        local = self.interp.local_bindings(level.initialiser)
        found = []
        for call in local.calls:
            callee = "".join(text(child(call, "function")).split())
            if not callee.endswith(".__init__"):
                continue
            if callee.startswith("super("):
                found.append((call, number + 1))
                continue
            owner = callee.removesuffix(".__init__")
            for other, function in enumerate(self._initialisers()):
                if other != number and function.owner is not None and function.owner.name == owner:
                    found.append((call, other))
        return found

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
        """What a call in an ``__init__`` hands to a method; ``bound``: the object itself is not written."""
        interp = self.interp
        handed: dict[str, Node] = {}
        arguments = named(child(call, "arguments"))
        splats = [a for a in arguments if a.type in ("list_splat", "dictionary_splat")]
        positional = [
            a for a in arguments if a.type not in ("keyword_argument", "list_splat", "dictionary_splat")
        ]
        taking = [p.name for p in parameters(function.node) if p.kind in ("positional", "any")]
        taking = taking[1:] if bound else taking
        if not any(a.type == "list_splat" for a in splats):
            handed.update(zip(taking, positional, strict=False))
        for argument in arguments:
            if argument.type == "keyword_argument":
                handed[text(child(argument, "name"))] = child(argument, "value")
        defaults = interp.local_bindings(function).defaults

        def supply(name: str, annotation: str) -> Value:
            known = level.given.supply(name, annotation)
            if name in handed:
                frame = frame_at(interp, level.initialiser, self.made, level.given, call.start_byte)
                with level.given.looking_from(call):
                    value = interp.evaluate(frame, handed[name])
                return known if find_unknown(value, 0) is not None and known is not NotImplemented else value
            if not splats and name in defaults:
                return interp.module_default(function, defaults[name])
            return known

        return supply

    # -- looking -----------------------------------------------------------------------

    def _look(self, number: int, name: str, time: Time) -> Weighed:
        """What an ``__init__``, and those it runs, leave in an attribute at a time."""
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
        interp, function = self.interp, level.initialiser
        local = interp.local_bindings(function)
        target = f"{local.first}.{name}"
        up = {call.start_byte: other for call, other in self._calls_up(number, level)}
        nodes = sorted(
            [*local.events.get(target, ()), *self._may_set(level, name, up)], key=lambda node: node.start_byte
        )
        if limit is not None:
            nodes = [node for node in nodes if node.start_byte < limit]
        end = function.node.end_byte if limit is None else limit
        frame = frame_at(interp, function, self.made, level.given, end)

        def value_of(there: Frame, node: Node) -> Weighed:
            if node.type != "call":
                return binding(interp, frame, there, node, target, limit)
            if node.start_byte in up:
                return self._look(up[node.start_byte], name, ())
            return self._set_by(number, level, node, name)

        leaving = local.returns if limit is None else ()
        weighed = weigh(interp, frame, nodes, value_of, leaving, limit)
        if weighed.value is NotImplemented:
            return weighed
        value = changed_since(interp, frame, target, weighed.value, weighed.since, end)
        return Weighed(value, weighed.certain, weighed.since)

    def _set_by(self, number: int, level: _Level, call: Node, name: str) -> Weighed:
        """What a call in an ``__init__`` leaves in the attribute: followed where it is of a method that
        assigns this one attribute and, of the object, nothing else."""
        interp, called = self.interp, text(child(call, "function"))
        unknown = Weighed(Unknown(f"{called} may set {name}", level.initialiser.module.place(call)))
        method = classes.class_attribute(interp, self.cls, called.rpartition(".")[2])
        if not isinstance(method, FunctionValue) or method.decorators:
            return unknown
        local = interp.local_bindings(method)
        target = f"{local.first}.{name}"
        own = {each for each in local.events if each.startswith(f"{local.first}.")}
        if own != {target} or any(_on(each, local.first) for each in local.calls):
            return unknown
        supply = self._supply_of_call(level, call, method, bound=True)
        given = self._given(number, supply, level.time, at=call)
        frame = frame_at(interp, method, self.made, given, method.node.end_byte)

        def value_of(there: Frame, node: Node) -> Weighed:
            return binding(interp, frame, there, node, target, None)

        weighed = weigh(interp, frame, local.events[target], value_of, local.returns)
        if weighed.value is NotImplemented:
            return weighed
        end = method.node.end_byte
        value = changed_since(interp, frame, target, weighed.value, weighed.since, end)
        return Weighed(value, weighed.certain, call.start_byte)

    def _may_set(self, level: _Level, name: str, up: dict[int, int]) -> Iterator[Node]:
        """The calls of an ``__init__`` that may set the attribute: of other ``__init__`` methods, of
        methods that assign it, of ``setattr`` on the object."""
        local = self.interp.local_bindings(level.initialiser)
        for call in local.calls:
            function = child(call, "function")
            if call.start_byte in up:
                yield call
            elif function.type == "attribute" and text(child(function, "object")) == local.first:
                method = classes.class_attribute(self.interp, self.cls, text(child(function, "attribute")))
                sets = isinstance(method, FunctionValue) and self._sets(method, name, set())
                if sets or registered_attribute(call) == name:
                    yield call
            elif _sets_any(call, local.first):
                yield call

    def _sets(self, method: FunctionValue, name: str, seen: set[str]) -> bool:
        """Whether a method, or one that it calls on the same object, assigns the attribute."""
        if method.qualified_name in seen:
            return False
        seen.add(method.qualified_name)
        local = self.interp.local_bindings(method)
        if f"{local.first}.{name}" in local.events:
            return True
        for call in local.calls:
            function = child(call, "function")
            if function.type == "attribute" and text(child(function, "object")) == local.first:
                inner = classes.class_attribute(self.interp, self.cls, text(child(function, "attribute")))
                if isinstance(inner, FunctionValue) and self._sets(inner, name, seen):
                    return True
        return False


def _on(call: Node, first: str) -> bool:
    """Whether a call may set attributes of the object: of a method of its own, or handed the object."""
    function = text(child(call, "function"))
    given = (text(argument) for argument in named(child(call, "arguments")))
    return function.startswith(f"{first}.") or function in _SETTING_ANY or first in given


def _sets_any(call: Node, first: str) -> bool:
    """Whether a call may set attributes that it does not name: ``setattr(self, ...)``."""
    function = text(child(call, "function"))
    if function.startswith(f"{first}.__dict__."):
        return True
    return function in _SETTING_ANY and text(child(call, "arguments")).startswith(f"({first}")


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
