"""What a run shows while it works: four agents side by side on a terminal, plain lines elsewhere."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from investigator.events import Event, EventKind, EventSink
from investigator.reports.escape import visible
from investigator.reports.progress import AgentProgress, Progress, Step, human_bytes, line

SIDE_BY_SIDE = 96
"""From this many columns on the agents stand beside each other, below that in rows."""
NARROW = 56
"""Below this many columns the plan is one line."""

STYLES = {
    Step.WAITING: ("○", "dim"),
    Step.IN_PROGRESS: ("◐", "cyan"),
    Step.ANSWERED: ("●", "green"),
    Step.UNKNOWN: ("?", "yellow"),
    Step.DONE: ("✓", "green"),
    Step.FAILED: ("✗", "red"),
}


@contextmanager
def show_progress(
    console: Console, agents: Sequence[str], plan: Mapping[str, Sequence[str]], *, verbose: bool = False
) -> Iterator[EventSink]:
    """An event sink that keeps the user informed on ``console`` until the block ends.

    ``plan``: each question, and the agents that it goes to.
    """
    if not console.is_terminal or verbose:
        yield PlainLines(console, verbose=verbose)
        return
    view = LiveView(agents, plan)
    with Live(view, console=console, refresh_per_second=8, transient=True):
        yield view.take


class PlainLines:
    """One line for each event that a reader of a log wants: all of them when ``verbose``."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose

    def __call__(self, event: Event) -> None:
        """Print the event; safe from any thread."""
        spoken = (EventKind.STARTED, EventKind.FINISHED, EventKind.FAILED)
        if event.agent is None and not self._verbose:
            return
        if self._verbose or event.kind in spoken:
            said = Text(visible(f"{event.time:%H:%M:%S} {line(event)}"))
            self._console.print(said, soft_wrap=True)


class LiveView:
    """The agents and, where there is room, the plan: which question is where."""

    def __init__(self, agents: Sequence[str], plan: Mapping[str, Sequence[str]]) -> None:
        self._progress = Progress(agents)
        self._plan = dict(plan)
        self._lock = threading.Lock()
        self._together = ""

    def take(self, event: Event) -> None:
        """Let an event count; safe from any thread."""
        with self._lock:
            self._progress.take(event)
            if event.agent is None and event.kind is EventKind.FINISHED:
                self._together = "comparing the answers, making and proving patches"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        now = datetime.now(UTC)
        with self._lock:
            agents = list(self._progress.agents.values())
            yield _agents(agents, now, options.max_width)
            if self._plan and options.max_width < NARROW:
                yield _answered(agents, self._plan)
            elif self._plan and options.size.height >= len(self._plan) + 10:
                yield _plan(agents, self._plan)
            if self._together:
                yield Text(f"◐ {self._together}", style="cyan")


def _agents(agents: Sequence[AgentProgress], now: datetime, width: int) -> RenderableType:
    if width < SIDE_BY_SIDE:
        rows = Table.grid(padding=(0, 1))
        for agent in agents:
            rows.add_row(_mark(agent.step), agent.name, _figures(agent, now), _doing(agent))
        return rows
    grid = Table.grid(expand=True)
    for _ in agents:
        grid.add_column(ratio=1)
    grid.add_row(
        *(
            Panel(
                Group(_figures(agent, now), _doing(agent)),
                title=_mark(agent.step) + Text(f" {agent.name}"),
                title_align="left",
                border_style=STYLES[agent.step][1],
                height=4,
            )
            for agent in agents
        )
    )
    return grid


def _figures(agent: AgentProgress, now: datetime) -> Text:
    parts = [f"{agent.seconds(now):.1f} s"]
    parts += [human_bytes(agent.bytes)] if agent.bytes else []
    parts += [f"{agent.requests} req"] if agent.requests else []
    return Text(", ".join(parts), no_wrap=True, overflow="ellipsis")


def _doing(agent: AgentProgress) -> Text:
    style = "red" if agent.step is Step.FAILED else "dim"
    return Text(visible(agent.doing), style=style, no_wrap=True, overflow="ellipsis")


def _answered(agents: Sequence[AgentProgress], plan: Mapping[str, Sequence[str]]) -> Text:
    """The plan in one line, where its table has no room: how many questions are answered."""
    asked = [(agent, question) for agent in agents for question in plan if agent.name in plan[question]]
    done = sum(_step(agent, question) in (Step.ANSWERED, Step.UNKNOWN) for agent, question in asked)
    return Text(f"{done} of {len(asked)} questions answered")


def _plan(agents: Sequence[AgentProgress], plan: Mapping[str, Sequence[str]]) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="dim")
    table.add_column("question")
    for agent in agents:
        table.add_column(agent.name, justify="center")
    for question, asked in plan.items():
        marks = (_mark(_step(agent, question)) if agent.name in asked else Text("") for agent in agents)
        table.add_row(question, *marks)
    return table


def _step(agent: AgentProgress, question: str) -> Step:
    """An agent that has ended without an answer will bring none."""
    ended = agent.step in (Step.DONE, Step.FAILED)
    return agent.questions.get(question, Step.UNKNOWN if ended else Step.WAITING)


def _mark(step: Step) -> Text:
    sign, style = STYLES[step]
    return Text(sign, style=style)
