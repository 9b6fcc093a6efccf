"""How far a run is, put together from its events; the live view and the plain lines draw it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from investigator.events import Event, EventKind
from investigator.model import Json


class Step(StrEnum):
    """Where one question, or one agent, stands."""

    WAITING = "waiting"
    IN_PROGRESS = "in progress"
    ANSWERED = "answered"
    UNKNOWN = "unknown"
    DONE = "done"
    FAILED = "failed"


@dataclass
class AgentProgress:
    """One agent as seen from its events. ``bytes`` and ``requests`` are sums."""

    name: str
    step: Step = Step.WAITING
    started: datetime | None = None
    finished: datetime | None = None
    doing: str = ""
    bytes: int = 0
    requests: int = 0
    questions: dict[str, Step] = field(default_factory=dict)

    def seconds(self, now: datetime) -> float:
        """Since it started, or how long it took."""
        return ((self.finished or now) - self.started).total_seconds() if self.started else 0.0

    def take(self, event: Event) -> None:
        """Let one event of this agent count."""
        details = event.details
        contract = details.get("contract")
        self.bytes += _whole(details.get("bytes"))
        self.requests += _whole(details.get("requests"))
        match event.kind:
            case EventKind.STARTED:
                self.step, self.started = Step.IN_PROGRESS, event.time
            case EventKind.ASKED if isinstance(contract, str):
                self.questions[contract] = Step.IN_PROGRESS
                self.doing = f"asking {contract}"
            case EventKind.ANSWERED if isinstance(contract, str):
                # One question may have an answer per runner: one that is not known shows.
                unknown = details.get("known") is False or self.questions.get(contract) is Step.UNKNOWN
                self.questions[contract] = Step.UNKNOWN if unknown else Step.ANSWERED
                self.doing = f"answered {contract}"
            case EventKind.FETCHED | EventKind.ASKED:
                self.doing = (
                    f"{event.kind.value} {details.get('what') or details.get('source') or ''}".rstrip()
                )
            case EventKind.FINISHED:
                self.step, self.finished, self.doing = Step.DONE, event.time, ""
            case EventKind.FAILED if "seconds" in details:
                self.step, self.finished = Step.FAILED, event.time
                self.doing = str(details.get("error", ""))
            case _:
                self.doing = str(details.get("error", self.doing))


class Progress:
    """All agents of a run, in the order in which they are named. Not thread-safe by itself."""

    def __init__(self, agents: Iterable[str]) -> None:
        self.agents = {name: AgentProgress(name) for name in agents}

    def take(self, event: Event) -> None:
        """Let one event count; events of nobody in particular change nothing here."""
        if event.agent is not None:
            self.agents.setdefault(event.agent, AgentProgress(event.agent)).take(event)


def line(event: Event) -> str:
    """An event as one plain line, without its time."""
    details = event.details
    what = details.get("contract") or details.get("what") or details.get("source")
    parts = [event.agent or "run", event.kind.value]
    parts += [str(what)] if what else []
    if size := _whole(details.get("bytes")):
        parts.append(human_bytes(size))
    if (seconds := details.get("seconds")) is not None:
        parts.append(f"in {seconds} s")
    if error := details.get("error"):
        parts.append(f"- {error}")
    return " ".join(parts)


def human_bytes(count: int) -> str:
    """``812 B``, ``1.4 MB``: decimal units, as networks count."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _whole(value: Json) -> int:
    return value if isinstance(value, int) else 0
