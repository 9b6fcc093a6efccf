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

    ``spread``: stands in a list or dict for any number of elements, none included.
    """

    reason: str
    place: Place | None = None
    not_followed: str | None = None
    spread: bool = False

    def __str__(self) -> str:
        return f"{self.reason} ({self.place})" if self.place else self.reason


@dataclass(frozen=True, eq=False)
class OneOf:
    """One of these values, depending on a condition that could not be decided."""

    options: tuple[Value, ...]
    place: Place | None
    because: Unknown | None = None


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


@dataclass(frozen=True, eq=False)
class FunctionValue:
    """A ``def`` or ``lambda`` with the scope it closes over, and the class it stands in."""

    name: str
    node: Node
    scope: Scope
    owner: ClassValue | None = None
    decorators: tuple[str, ...] = ()

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
    """A class statement. Its bases are resolved when they are first asked for."""

    name: str
    node: Node
    scope: Scope
    decorators: tuple[str, ...] = ()
    mro: tuple[Value, ...] | None = None
    namespace: dict[str, Value] = field(default_factory=dict)

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
    ``made_by``: evaluates an attribute on demand (see ``lazy``); None where there is none.
    ``label``: set on objects whose attribute reads are traced, e.g. ``draft config``.
    """

    cls: ClassValue | None
    attributes: dict[str, Value] = field(default_factory=dict)
    complete: bool = True
    label: str | None = None
    made_by: Callable[[str], Value] | None = None
    place: Place | None = None

    def __repr__(self) -> str:
        return f"<{self.label or (self.cls.name if self.cls else 'object')}>"


class TracedDict(dict[Any, Any]):
    """A dict whose key reads are traced under its label: a config of the checkpoint."""

    label: str = ""


class TracedList(list[Any]):
    """A list that came from the checkpoint: a callee that is handed it is followed."""

    label: str = ""


@dataclass(frozen=True, eq=False)
class BoundMethod:
    """A function with its first argument."""

    receiver: Value
    function: FunctionValue


@dataclass(frozen=True, eq=False)
class NativeMethod:
    """A method of a Python builtin value: ``list.append``, ``dict.get``, ``str.join``."""

    receiver: Value
    name: str


@dataclass(frozen=True)
class External:
    """A name from outside the tree, ``torch.nn.ModuleList``."""

    dotted: str


@dataclass(frozen=True)
class Builtin:
    """One of Python's builtins, by name."""

    name: str


@dataclass(frozen=True, eq=False)
class ModuleValue:
    """A module of the tree."""

    module: Module


@dataclass(frozen=True, eq=False)
class Super:
    """``super()`` inside a method: attribute lookup starts after ``owner``."""

    owner: ClassValue
    receiver: Value


@dataclass(frozen=True, eq=False)
class Partial:
    """``functools.partial``."""

    function: Value
    arguments: tuple[Value, ...]
    keywords: dict[str, Value]


ABSENT = object()
"""What an object gives for an attribute that surely does not exist."""


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


@dataclass(frozen=True)
class ExceptionValue:
    """An exception object: its class name and its message, as far as known."""

    name: str
    message: str


class Raised(Exception):
    """The interpreted program raised. ``stack`` runs from the outermost call inwards."""

    def __init__(self, error: ExceptionValue, stack: tuple[Place, ...]) -> None:
        super().__init__(f"{error.name}: {error.message}")
        self.error = error
        self.stack = stack


class BudgetSpent(Exception):
    """The interpretation took more steps or calls than it may."""

    def __init__(self, reason: str, place: Place | None) -> None:
        super().__init__(reason)
        self.place = place


def is_unknown(value: Value) -> bool:
    """Whether the value itself is undecided (elements of a container are not looked at)."""
    return isinstance(value, (Unknown, OneOf))


def find_unknown(value: Value, depth: int = 6) -> Unknown | None:
    """The first undecided thing in a value, containers searched; None when all is decided."""
    if isinstance(value, Unknown):
        return value
    if isinstance(value, OneOf):
        return value.because or Unknown("depends on a condition that was not decided", value.place)
    if depth == 0:
        return None
    elements: list[Value] = []
    if isinstance(value, dict):
        elements = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        elements = list(value)
    for element in elements:
        if (found := find_unknown(element, depth - 1)) is not None:
            return found
    return None
