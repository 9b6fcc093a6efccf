"""What the run gives an agent, and what it expects back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import anyio

from investigator.case import Case
from investigator.checkpoint import Checkpoint
from investigator.errors import InvestigateError
from investigator.events import Event, EventKind
from investigator.model import Answer, Json, NotChecked, PullRequest, Source
from investigator.sources.interface import Tree

T = TypeVar("T")


class Promised(Generic[T]):
    """A value that one agent hands to the others, once: it arrives, or it fails."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._done = anyio.Event()
        self._value: T | None = None
        self._error: InvestigateError | None = None

    def keep(self, value: T) -> None:
        """Hand the value over; only the first call counts."""
        if not self._done.is_set():
            self._value = value
            self._done.set()

    def fail(self, error: InvestigateError) -> None:
        """Say that the value will not come; only the first call counts."""
        if not self._done.is_set():
            self._error = error
            self._done.set()

    async def wait(self) -> T:
        """The value. Raises the error that its agent failed with."""
        await self._done.wait()
        if self._error is not None:
            raise self._error
        assert self._value is not None, self._name
        return self._value


@dataclass(frozen=True, kw_only=True)
class AgentContext:
    """One agent's view of the run.

    ``checkpoint`` is kept by the ``hub`` agent, ``engine`` (the tree under investigation) by
    the engine's agent. ``emit`` logs an event under this agent's name.
    """

    case: Case
    checkpoint: Promised[Checkpoint]
    engine: Promised[Tree]
    emit: Callable[[Event], None]
    name: str

    def event(self, kind: EventKind, **details: Json) -> None:
        """Log one event of this agent."""
        self.emit(Event(kind=kind, agent=self.name, details=details))


@dataclass(frozen=True, kw_only=True)
class AgentResult:
    """What one agent found. ``missing`` is one line when part of it could not be had."""

    answers: tuple[Answer, ...] = ()
    sources: tuple[Source, ...] = ()
    trees: dict[str, Tree] = field(default_factory=dict)
    """Source id -> tree, for every source that evidence points into: quotes are re-read from it."""
    pull_requests: tuple[PullRequest, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    missing: str | None = None


class Agent(Protocol):
    """One investigator. ``run`` raises InvestigateError when it found nothing at all."""

    @property
    def name(self) -> str:
        """Its name in logs, reports and answers."""
        ...

    async def run(self, context: AgentContext) -> AgentResult:
        """Fetch, ask, answer."""
        ...
