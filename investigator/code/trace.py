"""What happened on the way to a value: the raw material of evidence.

Every event carries the stack of places that led to it, outermost call first, so that a
question can point at the line *it* cares about (the model's forward loop, not the helper
that appends to a list).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from investigator.code.syntax import Place
from investigator.code.values import Value


class Happening(StrEnum):
    """The kinds of event."""

    READ = "read"
    """A key of a traced config was read; ``name`` is ``label.key``, ``value`` what came out."""
    CALL = "call"
    """A function or class of the tree was entered; ``value`` is its bound arguments."""
    SKIP = "skip"
    """A callee was not followed; ``value`` is its positional and keyword arguments."""
    RETURN = "return"
    """A function returned ``value``."""
    BRANCH = "branch"
    """A condition was decided; ``value`` is the side taken."""
    FORK = "fork"
    """A condition was not decided, both sides were followed."""
    ASSUME = "assume"
    """A path that raises under an undecided condition was left out."""
    PRESUME = "presume"
    """A module-level container was taken to be as its module's top level leaves it, although
    functions of the module can change it; ``value`` is the place of one that does."""
    STORE = "store"
    """An attribute was set; ``name`` is ``Class.attribute``, ``value`` (instance, value)."""
    BIND = "bind"
    """An assignment was found to decide a variable or attribute worked out on demand; ``name``
    as written (``self.x``), ``value`` what it gives."""
    APPEND = "append"
    """A value was appended to a list."""


@dataclass(frozen=True)
class Event:
    """One happening at ``stack[-1]``."""

    kind: Happening
    name: str
    value: Value
    stack: tuple[Place, ...]

    @property
    def place(self) -> Place:
        """Where it happened."""
        return self.stack[-1]


@dataclass
class Trace:
    """The events of one interpretation, in order. Grows while it runs; read it afterwards."""

    events: list[Event] = field(default_factory=list)
    limit: int = 200_000

    def add(self, kind: Happening, name: str, value: Value, stack: tuple[Place, ...]) -> None:
        """Note one event; past the limit events are dropped."""
        if stack and len(self.events) < self.limit:
            self.events.append(Event(kind, name, value, stack))

    def of(self, kind: Happening, name: str | None = None) -> Iterator[Event]:
        """The events of a kind, and of a name where one is given."""
        return (e for e in self.events if e.kind is kind and (name is None or e.name == name))

    def last(self, kind: Happening, where: Callable[[Event], bool]) -> Event | None:
        """The last event of a kind that satisfies a condition."""
        return next((e for e in reversed(self.events) if e.kind is kind and where(e)), None)
