"""What happens during a run, as it happens: the lines of ``log.jsonl`` and of the live view."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from investigator.model import Json


class EventKind(StrEnum):
    """The events of ``log.jsonl``."""

    STARTED = "started"
    ASKED = "asked"
    FETCHED = "fetched"
    ANSWERED = "answered"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of the log. ``details``: source, bytes, requests, contract, seconds, error."""

    kind: EventKind
    agent: str | None
    details: Mapping[str, Json] = field(default_factory=dict)
    time: datetime = field(default_factory=lambda: datetime.now(UTC))


EventSink = Callable[[Event], None]
"""Takes events from any thread, never raises, never blocks for long."""


def ignore(event: Event) -> None:
    """The sink that drops everything."""
