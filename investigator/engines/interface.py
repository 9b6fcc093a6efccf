"""What an engine provides: answers to the contracts' questions, runner by runner."""

from dataclasses import dataclass
from typing import Protocol

from investigator.code.syntax import Place
from investigator.model import Outcome, Runner


@dataclass(frozen=True)
class Step:
    """One station on the way of a value: where, and what these lines do in the argument."""

    place: Place
    role: str
    recorded_from: str = ""
    """``path:line`` that a record was made of, where the place is one of the record."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """An engine's answer to one question. ``steps`` in the order in which the value travels."""

    outcome: Outcome
    steps: tuple[Step, ...] = ()
    assumptions: tuple[str, ...] = ()
    note: str = ""
    live: bool | None = None
    """Whether the case's default settings run into this path; None when that is not asked."""


@dataclass(frozen=True, kw_only=True)
class RunnerChoice:
    """Which runner a case uses when nobody sets anything, and why."""

    runner: Runner | None
    why: str
    steps: tuple[Step, ...] = ()


class Engine(Protocol):
    """One engine at one revision, with one checkpoint on it."""

    def default_runner(self) -> RunnerChoice:
        """Which runner this case would use."""
        ...

    def ask(self, contract: str, runner: Runner | None) -> Told:
        """Put one contract's question. Never raises on strange code: that is ``NotKnown``."""
        ...
