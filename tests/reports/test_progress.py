"""How far a run is, from its events: the figures, the plan, the plain lines, the live view."""

from datetime import timedelta
from io import StringIO

import pytest
from rich.console import Console

from investigator.events import Event, EventKind
from investigator.reports.live import LiveView, PlainLines, show_progress
from investigator.reports.progress import Progress, Step, human_bytes, line
from tests.support.builders import NOON

K = EventKind


def event(kind, agent="hub", after=0.0, **details):
    return Event(kind=kind, agent=agent, details=details, time=NOON + timedelta(seconds=after))


RUN = (
    event(K.STARTED),
    event(K.ASKED, source="draft", what="z-lab/A"),
    event(K.FETCHED, source="draft", what="z-lab/A", bytes=1200, requests=2),
    event(K.ASKED, contract="rope"),
    event(K.ANSWERED, contract="rope", known=True),
    event(K.ASKED, contract="lookahead"),
    event(K.ANSWERED, contract="lookahead", known=False),
    event(K.ANSWERED, contract="lookahead", known=True),
    event(K.ASKED, contract="mask-token"),
)


def after(*events):
    progress = Progress(["vllm", "hub"])
    for each in events:
        progress.take(each)
    return progress.agents


def test_figures_add_up():
    hub = after(*RUN, event(K.FETCHED, bytes=800, requests=1))["hub"]

    assert (hub.bytes, hub.requests) == (2000, 3)
    assert hub.seconds(NOON + timedelta(seconds=2)) == 2.0


def test_each_question_is_where_it_is():
    agents = after(*RUN)

    assert agents["vllm"].step is Step.WAITING
    assert agents["hub"].questions == {
        "rope": Step.ANSWERED,
        "lookahead": Step.UNKNOWN,
        "mask-token": Step.IN_PROGRESS,
    }


def test_an_agent_that_ended_keeps_its_time():
    done = after(*RUN, event(K.FINISHED, after=1.5, seconds=1.5))["hub"]
    failed = after(*RUN, event(K.FAILED, after=1.0, seconds=1.0, error="away"))["hub"]

    assert (done.step, done.seconds(NOON + timedelta(seconds=99))) == (Step.DONE, 1.5)
    assert (failed.step, failed.doing) == (Step.FAILED, "away")


def test_a_fault_that_ends_nothing_does_not_fail_the_agent():
    hub = after(*RUN, event(K.FAILED, error="one try failed"))["hub"]

    assert (hub.step, hub.doing) == (Step.IN_PROGRESS, "one try failed")


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1400, "1 kB"), (1_440_000, "1.4 MB")]
)
def test_bytes_for_people(count, text):
    assert human_bytes(count) == text


def test_an_event_as_a_line():
    fetched = event(K.FETCHED, what="z-lab/A", bytes=1200)
    assert line(fetched) == "hub fetched z-lab/A 1 kB"
    assert line(event(K.FAILED, agent=None, seconds=0.2, error="away")) == "run failed in 0.2 s - away"


def test_plain_lines_speak_of_beginnings_and_ends_only_unless_verbose():
    def said(verbose):
        stream = StringIO()
        lines = PlainLines(Console(file=stream, width=40), verbose=verbose)
        for each in (*RUN, event(K.FAILED, error="[red]x[/]\x1b[2J", seconds=1)):
            lines(each)
        return stream.getvalue().splitlines()

    assert said(verbose=False) == [
        "12:00:00 hub started",
        "12:00:00 hub failed in 1 s - [red]x[/]‹U+001B›[2J",
    ]
    assert len(said(verbose=True)) == 10


@pytest.mark.parametrize("width", [60, 140])
def test_the_live_view_shows_agents_and_plan(width):
    view = LiveView(["vllm", "hub"], {"rope": ["hub"], "lookahead": ["vllm", "hub"]})
    for each in RUN:
        view.take(each)
    stream = StringIO()

    Console(file=stream, width=width, height=40).print(view)

    text = stream.getvalue()
    for part in ("vllm", "hub", "asking mask-token", "1 kB", "2 req", "rope", "lookahead"):
        assert part in text
    (row,) = [row for row in text.splitlines() if row.strip().startswith("lookahead")]
    assert row.split() == ["lookahead", "○", "?"]
    (row,) = [row for row in text.splitlines() if row.strip().startswith("rope")]
    assert row.split() == ["rope", "●"]


def test_without_room_the_plan_is_a_line():
    view = LiveView(["vllm", "hub"], {"rope": ["hub"], "lookahead": ["vllm", "hub"]})
    for each in RUN:
        view.take(each)
    stream = StringIO()

    Console(file=stream, width=40, height=40).print(view)

    assert "2 of 3 questions answered" in stream.getvalue()
    assert "lookahead" not in stream.getvalue()


def test_what_is_done_together_is_told_when_the_agents_are_back():
    view = LiveView(["hub"], {})
    stream = StringIO()
    console = Console(file=stream, width=100)

    console.print(view)
    assert "patches" not in stream.getvalue()
    view.take(event(K.FINISHED, agent=None, what="agents", seconds=1.0))
    console.print(view)
    assert "making and proving patches" in stream.getvalue()


def test_a_terminal_gets_the_live_view_and_is_left_clean():
    stream = StringIO()
    console = Console(file=stream, width=100, height=40, force_terminal=True)

    with show_progress(console, ["vllm", "hub"], {"rope": ["hub"]}) as sink:
        for each in RUN:
            sink(each)

    assert "asking mask-token" in stream.getvalue()
    assert "\x1b[2K" in stream.getvalue()
