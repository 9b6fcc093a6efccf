"""What an expression can be.

Python's own ``None``, numbers, strings, lists, tuples, dicts, sets, ranges and slices stand
for themselves. Everything else is one of the classes here. A value that cannot be decided
is :class:`Unknown`, with the reason and the place; it flows on and never turns into a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from investigator.code.syntax import Place

if TYPE_CHECKING:
    from investigator.code.program import Module

Value = Any
"""Any Python constant or container, or an instance of one of the classes below."""


@dataclass(frozen=True, eq=False)
class Unknown:
    """Not decided. ``not_followed`` names a callee that was left alone and may decide it.

    ``spread``: stands in a list, set or dict for any number of elements, none included.
    ``truth``: its truth, where that is known although the value is not (``x or y``).
    ``hides``: objects that it may be (``heap.roots``); changing what it stands for may change any of them.
    """

    reason: str
    place: Place | None = None
    not_followed: str | None = None
    spread: bool = False
    truth: bool | None = None
    hides: tuple[Value, ...] = ()

    def __str__(self) -> str:
        return f"{self.reason} ({self.place})" if self.place else self.reason

    def __repr__(self) -> str:
        return f"<not decided: {self}>"


ABSENT = Unknown("may not be set")
"""What an attribute that surely does not exist gives; stands among the options of a variable,
attribute or key that may not be there."""


@dataclass(frozen=True, eq=False)
class OneOf:
    """One of these values, depending on a condition that could not be decided."""

    options: tuple[Value, ...]
    place: Place | None
    because: Unknown | None = None

    @property
    def reason(self) -> Unknown:
        """Why it is not known which."""
        return self.because or Unknown("depends on a condition that was not decided", self.place)

    def __repr__(self) -> str:
        return f"<one of {len(self.options)} values>"


@dataclass(eq=False)
class Scope:
    """The variables of one function call, or of a module; ``parent`` is the enclosing one."""

    module: Module
    variables: dict[str, Value] = field(default_factory=dict)
    parent: Scope | None = None
    on_demand: Callable[[str], Value] | None = None
    """Evaluates a variable that has not been assigned yet (see ``lazy``)."""
    given: object | None = None
    """What a question supplies to a scope whose variables come on demand (``lazy.Given``)."""
    elsewhere: dict[str, Scope] = field(default_factory=dict)
    """The scopes of the names that were declared ``global`` or ``nonlocal``."""
    body: Node | None = None
    """The function whose variables these are."""
    is_comprehension: bool = False


@dataclass(frozen=True, eq=False)
class FunctionValue:
    """A ``def`` or ``lambda`` with the scope it closes over, and the class it stands in.

    ``defaults``: its parameters' defaults, for a function made while another ran; those of
    a module's and of its classes' functions are worked out when they are first needed.
    """

    name: str
    node: Node
    scope: Scope
    owner: ClassValue | None = None
    decorators: tuple[str, ...] = ()
    defaults: dict[str, Value] | None = None

    @property
    def module(self) -> Module:
        """The module whose text this function is."""
        return self.scope.module

    @property
    def qualified_name(self) -> str:
        """``Class.method`` or ``function``."""
        return f"{self.owner.name}.{self.name}" if self.owner else self.name

    def __repr__(self) -> str:
        return f"<function {self.qualified_name}>"


@dataclass(eq=False)
class ClassValue:
    """A class statement. Its bases are resolved when they are first asked for; so is which of
    ``classes.HOOKS`` it has.

    ``namespace``: what its body binds, as far as it was asked for. ``assigned``: what the
    program set on it afterwards.
    """

    name: str
    node: Node
    scope: Scope
    decorators: tuple[str, ...] = ()
    mro: tuple[Value, ...] | None = None
    hooks: frozenset[str] | None = None
    namespace: dict[str, Value] = field(default_factory=dict)
    assigned: dict[str, Value] = field(default_factory=dict)

    @property
    def module(self) -> Module:
        """The module whose text this class is."""
        return self.scope.module

    def __repr__(self) -> str:
        return f"<class {self.name}>"


@dataclass(eq=False)
class Instance:
    """An object of a class in the tree, or of none (``cls`` None: made by a question).

    ``complete``: an attribute that is not there does not exist. Otherwise it is unknown.
    ``defaults``: its real class, which is not in the tree, may hold a default for an attribute that
    is not there: what is asked for outright is unknown, since released code that asks so runs.
    ``never``: tells of a class of the tree that the object's real class, which is not known, is surely
    not below it; None where nothing of the kind is known.
    ``made_by``: evaluates an attribute on demand (see ``lazy``); None where there is none.
    ``label``: set on objects whose attribute reads are traced, e.g. ``draft config``.
    ``advice``: how the rest of an object that is known only in part can be had.
    """

    cls: ClassValue | None
    attributes: dict[str, Value] = field(default_factory=dict)
    complete: bool = True
    label: str | None = None
    made_by: Callable[[str], Value] | None = None
    place: Place | None = None
    defaults: bool = False
    advice: str | None = None
    never: Callable[[ClassValue], bool] | None = None

    def __repr__(self) -> str:
        return f"<{self.label or (self.cls.name if self.cls else 'object')}>"


class StrMember(str):
    """A member of an enumeration of strings: a string that knows its class and name."""

    cls: ClassValue
    member: str


class IntMember(int):
    """A member of an enumeration of integers: an integer that knows its class and name."""

    cls: ClassValue
    member: str


class TracedDict(dict[Any, Any]):
    """A dict whose key reads are traced under its label: a config of the checkpoint."""

    label: str = ""


class TracedList(list[Any]):
    """A list that came from the checkpoint: a callee that is handed it is followed."""

    label: str = ""


@dataclass(frozen=True, eq=False)
class Stream:
    """An iterator: ``at(n)`` gives its ``n``-th item, ``END``, or ``ASTRAY``; each is taken once.

    ``position`` holds how many were taken; -1 when it has run out. ``around``: of a generator that
    ``contextlib.contextmanager`` made a context, runs its body around the block of a ``with``.
    ``astray``: notes what may be changed where items are taken and it is not known how many.
    """

    at: Callable[[int], Value]
    position: list[Value] = field(default_factory=lambda: [0])
    around: Callable[..., Any] | None = None
    astray: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return "<iterator>"


END = object()
"""What a stream gives when it has run out."""
ASTRAY = object()
"""What a stream gives when it cannot tell any more where it stands."""


@dataclass(frozen=True, eq=False)
class View:
    """``dict.keys()``, ``.values()`` or ``.items()``: follows the dict's changes."""

    source: dict[Any, Any]
    kind: str

    def __repr__(self) -> str:
        return f"<{self.kind} of a dict>"


@dataclass(frozen=True, eq=False)
class BoundMethod:
    """A function with its first argument."""

    receiver: Value
    function: FunctionValue

    def __repr__(self) -> str:
        return f"<method {self.function.qualified_name}>"


@dataclass(frozen=True, eq=False)
class NativeMethod:
    """A method of a Python builtin value: ``list.append``, ``dict.get``, ``str.join``."""

    receiver: Value
    name: str

    def __repr__(self) -> str:
        return f"<method {self.name}>"


@dataclass(frozen=True)
class External:
    """A name from outside the tree, ``torch.nn.ModuleList``."""

    dotted: str

    def __repr__(self) -> str:
        return f"<{self.dotted}>"


@dataclass(frozen=True)
class Builtin:
    """One of Python's builtins, by name."""

    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(frozen=True, eq=False)
class ModuleValue:
    """A module of the tree."""

    module: Module

    def __repr__(self) -> str:
        return f"<module {self.module.path}>"


@dataclass(frozen=True, eq=False)
class Super:
    """``super()`` inside a method: attribute lookup starts after ``owner``."""

    owner: ClassValue
    receiver: Value

    def __repr__(self) -> str:
        return f"<super of {self.owner.name}>"


@dataclass(frozen=True, eq=False)
class Partial:
    """``functools.partial``."""

    function: Value
    arguments: tuple[Value, ...]
    keywords: dict[str, Value]

    def __repr__(self) -> str:
        return f"<partial of {self.function!r}>"


class Symbol:
    """A value whose behaviour a question defines: a hidden state, a decoder layer.

    Each method may return ``NotImplemented``: the interpreter then answers ``Unknown``.
    """

    def attribute(self, name: str) -> Value:
        """``symbol.name``; ABSENT when it surely has no such attribute."""
        return NotImplemented

    def kept(self) -> dict[str, Value] | None:
        """Where attributes that the program sets on it are kept; None: they are dropped."""
        return None

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """``symbol(...)``."""
        return NotImplemented

    def binary(self, operator: str, other: Value, *, reflected: bool) -> Value:
        """``symbol + other`` (or ``other + symbol`` when reflected)."""
        return NotImplemented

    def unpack(self, count: int) -> Value:
        """``a, b = symbol``: a tuple of ``count`` values."""
        return NotImplemented

    def item(self, key: Value) -> Value:
        """``symbol[key]``."""
        return NotImplemented

    def truth(self) -> bool | None:
        """``bool(symbol)``; None when undecided."""
        return None

    def instance_of(self, cls: ClassValue) -> bool | None:
        """``isinstance(symbol, cls)`` for a class of the tree; None when undecided."""
        return False


@dataclass(frozen=True)
class ExceptionValue:
    """An exception object: its class name, its message as far as known, its arguments.

    ``cls``: its class, when that stands in the tree.
    """

    name: str
    message: str
    cls: ClassValue | None = field(default=None, compare=False)
    args: tuple[Value, ...] = field(default=(), compare=False)


class Raised(Exception):
    """The interpreted program raised. ``stack`` runs from the outermost call inwards."""

    def __init__(self, error: ExceptionValue, stack: tuple[Place, ...]) -> None:
        super().__init__(f"{error.name}: {error.message}")
        self.error = error
        self.stack = stack


class Doubted(Raised):
    """An operation on something unknown may have raised, nobody knows what."""


class BudgetSpent(Exception):
    """The interpretation took more steps or calls than it may."""

    def __init__(self, reason: str, place: Place | None) -> None:
        super().__init__(reason)
        self.place = place


def is_unknown(value: Value) -> bool:
    """Whether the value itself is undecided (elements of a container are not looked at)."""
    return isinstance(value, (Unknown, OneOf))


def single(value: Value) -> Value:
    """One element of those that a spread stands for; any other value itself."""
    if isinstance(value, Unknown) and value.spread:
        return Unknown(value.reason, value.place, value.not_followed, hides=value.hides)
    return value


def derived(unknown: Unknown) -> Unknown:
    """What something made of an unknown is: its truth is not the unknown's own."""
    if unknown.truth is None:
        return unknown
    return Unknown(unknown.reason, unknown.place, unknown.not_followed, unknown.spread, None, unknown.hides)


def is_spread(value: Value) -> bool:
    """Whether the value stands for any number of elements."""
    return isinstance(value, Unknown) and value.spread


def find_unknown(value: Value, depth: int = 6) -> Unknown | None:
    """The first undecided thing in a value, containers searched; None when all is decided.

    Of a choice, the reason that names a callee which was not followed is preferred.
    """
    if isinstance(value, Unknown):
        return derived(value)
    if isinstance(value, OneOf):
        return derived(_why_choice(value))
    if depth == 0:
        return None
    elements: list[Value] = []
    if isinstance(value, View):
        value = value.source
    if isinstance(value, ExceptionValue):
        value = value.args
    if isinstance(value, dict):
        elements = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        elements = list(value)
    for element in elements:
        if (found := find_unknown(element, depth - 1)) is not None:
            return found
    return None


def _why_choice(value: OneOf) -> Unknown:
    reason = value.reason
    if reason.not_followed is None:
        for option in value.options:
            if isinstance(option, Unknown) and option.not_followed is not None:
                return option
    return reason
