"""The agents of one run, side by side: each with its own deadline and its own failure."""

import signal
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus

from investigator.agents.interface import Agent, AgentContext, AgentResult, Promised
from investigator.case import Case
from investigator.checkpoint import Checkpoint
from investigator.errors import IncompleteError, InvestigateError, UsageError
from investigator.events import EventKind, EventSink, ignore
from investigator.model import (
    AgentReport,
    AgentStatus,
    Answer,
    Known,
    NotChecked,
    PullRequest,
    Role,
    Source,
)
from investigator.sources.interface import Tree

DEADLINE = 600.0
"""Seconds that one agent may take unless the user says otherwise."""

JOBS = 8
"""Blocking reads at once, unless the user says otherwise."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, kw_only=True)
class Team:
    """Who is sent out. ``hub`` brings the checkpoint and ``engine`` the engine's tree."""

    engine: Agent
    hub: Agent
    others: tuple[Agent, ...] = ()

    @property
    def agents(self) -> tuple[Agent, ...]:
        """All of them, in the order in which reports name them."""
        return (self.engine, self.hub, *self.others)


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """What came back. ``results`` holds an entry for each agent that did not fail."""

    reports: tuple[AgentReport, ...]
    results: Mapping[str, AgentResult] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None
    engine: Tree | None = None
    interrupted: bool = False

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Every answer, agent by agent."""
        return tuple(answer for result in self.results.values() for answer in result.answers)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every source once, by its id."""
        named = {source.id: source for result in self.results.values() for source in result.sources}
        return tuple(named.values())

    @property
    def trees(self) -> dict[str, Tree]:
        """Where each quote can be read again: source id -> tree."""
        return {name: tree for result in self.results.values() for name, tree in result.trees.items()}

    @property
    def pull_requests(self) -> tuple[PullRequest, ...]:
        """Every pull request that was looked at."""
        return tuple(item for result in self.results.values() for item in result.pull_requests)

    @property
    def not_checked(self) -> tuple[NotChecked, ...]:
        """What the agents say they left out, and what a failed agent leaves out with it."""
        failed = tuple(
            NotChecked(
                what=f"everything that the {report.name} agent looks at", why=report.error or "it failed"
            )
            for report in self.reports
            if report.status is AgentStatus.FAILED
        )
        left_out = tuple(item for result in self.results.values() for item in result.not_checked)
        return failed + left_out + tuple(_against_each_other(self.answers))


def _against_each_other(answers: Sequence[Answer]) -> Iterator[NotChecked]:
    """Where the drafter's own code and the references differ, which no single agent can see."""
    said: dict[str, Answer] = {}
    told: set[str] = set()
    for answer in answers:
        if answer.role is not Role.REFERENCE or not isinstance(answer.outcome, Known):
            continue
        first = said.setdefault(answer.contract, answer)
        differ = first.agent != answer.agent and first.outcome != answer.outcome
        if differ and answer.contract not in told:
            told.add(answer.contract)
            yield NotChecked(
                what=f"{answer.contract}: {first.source} and {answer.source} differ",
                why=f"they train differently here; the verdict rests on {first.source}",
            )


def gather(
    case: Case, team: Team, sink: EventSink = ignore, *, deadline: float = DEADLINE, jobs: int = JOBS
) -> Gathered:
    """Send the agents out together and wait for them; blocking.

    ``deadline`` is in seconds, for each agent; ``jobs`` is how many of their blocking reads may
    run at once, all together. An agent that fails, or is late, leaves the
    others alone. An interrupt (SIGINT, SIGTERM) ends the waiting: what had come back by then
    is returned, with ``interrupted`` set. Raises UsageError when an agent finds that the case
    itself cannot be investigated (no such release, a config that is not one).
    """
    with _handlers_kept():
        return anyio.run(_gather, case, team, sink, deadline, jobs)


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Whoever handled the signals before does so again afterwards: asyncio leaves the defaults."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # None: it was not set from Python, and cannot be
                signal.signal(number, handler)


async def _gather(case: Case, team: Team, sink: EventSink, deadline: float, jobs: int) -> Gathered:
    anyio.to_thread.current_default_thread_limiter().total_tokens = jobs
    checkpoint: Promised[Checkpoint] = Promised("checkpoint")
    engine: Promised[Tree] = Promised("engine")

    owed_by: dict[str, Promised[Any]] = {team.hub.name: checkpoint, team.engine.name: engine}

    def visit(agent: Agent) -> "_Visit":
        context = AgentContext(case=case, checkpoint=checkpoint, engine=engine, emit=sink, name=agent.name)
        return _Visit(agent, context, owed_by.get(agent.name))

    visits = [visit(agent) for agent in team.agents]
    interrupted = anyio.Event()
    async with anyio.create_task_group() as watch:
        with anyio.CancelScope() as scope:
            if threading.current_thread() is threading.main_thread():
                await watch.start(_cancel_on_signal, scope, interrupted)
            async with anyio.create_task_group() as agents:
                for each in visits:
                    agents.start_soon(each.run, deadline, scope, name=each.agent.name)
        watch.cancel_scope.cancel()

    for each in visits:
        if isinstance(each.error, UsageError):
            raise each.error
    return Gathered(
        reports=tuple(each.report() for each in visits),
        results={each.agent.name: each.result for each in visits if each.result is not None},
        checkpoint=await _if_kept(checkpoint),
        engine=await _if_kept(engine),
        interrupted=interrupted.is_set(),
    )


class _Visit:
    """One agent at work, and what became of it."""

    def __init__(self, agent: Agent, context: AgentContext, owed: Promised[Any] | None) -> None:
        self.agent = agent
        self.context = context
        self.owed = owed
        self.result: AgentResult | None = None
        self.error: InvestigateError | None = IncompleteError("interrupted before it had finished")
        self.started = self.finished = datetime.now(UTC)

    async def run(self, deadline: float, case_scope: anyio.CancelScope) -> None:
        """Let the agent work; nothing but a cancellation comes out of here."""
        self.started = datetime.now(UTC)
        self.context.event(EventKind.STARTED)
        trace: str | None = None
        try:
            with anyio.move_on_after(deadline) as limit:
                self.result = await self.agent.run(self.context)
                self.error = None
            if limit.cancelled_caught:
                self.error = IncompleteError(
                    f"not finished after {deadline:g} s", "give each agent longer with --deadline SECONDS"
                )
        except InvestigateError as error:
            self.error = error
        except Exception as error:
            trace = traceback.format_exc()
            while isinstance(error, ExceptionGroup):  # of tasks of its own: the first says what it was
                error = error.exceptions[0]
            self.error = IncompleteError(
                f"a defect in this program: {type(error).__name__}: {error}",
                "log.jsonl has the trace; please report it",
            )
        finally:
            self._end(trace)
        if isinstance(self.error, UsageError):
            case_scope.cancel()

    def _end(self, trace: str | None) -> None:
        self.finished = datetime.now(UTC)
        seconds = round((self.finished - self.started).total_seconds(), 4)
        if self.owed is not None:
            self.owed.fail(self.error or IncompleteError(f"{self.agent.name} never handed it over"))
        if self.error is None:
            self.context.event(EventKind.FINISHED, seconds=seconds)
        elif trace is None:
            self.context.event(EventKind.FAILED, seconds=seconds, error=_one_line(self.error))
        else:
            self.context.event(EventKind.FAILED, seconds=seconds, error=_one_line(self.error), trace=trace)

    def report(self) -> AgentReport:
        """The line about this agent in every report."""
        missing = None if self.result is None else self.result.missing
        status = AgentStatus.FAILED if self.error else AgentStatus.PARTIAL if missing else AgentStatus.DONE
        error = _one_line(self.error) if self.error else missing
        return AgentReport(
            name=self.agent.name, status=status, started=self.started, finished=self.finished, error=error
        )


def _one_line(error: InvestigateError) -> str:
    text = f"{error} ({error.advice})" if error.advice else str(error)
    return " ".join(text.split())


async def _if_kept(promised: Promised[Any]) -> Any:
    with suppress(InvestigateError):
        return await promised.wait()
    return None


async def _cancel_on_signal(
    scope: anyio.CancelScope,
    interrupted: anyio.Event,
    *,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    with anyio.open_signal_receiver(*_SIGNALS) as signals:
        task_status.started()
        async for _ in signals:
            interrupted.set()
            scope.cancel()
            return  # a second signal ends the process the usual way
