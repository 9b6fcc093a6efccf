"""The run: agents side by side, each with its own deadline and its own failure."""

import json
import os
import signal
import threading
import time
from datetime import datetime
from io import StringIO
from typing import NoReturn

import pytest

from investigator.agents.interface import AgentContext, AgentResult
from investigator.errors import SourceError, UsageError
from investigator.events import Event, ignore
from investigator.log import EventLog
from investigator.model import AgentStatus, Answer, Known, NotChecked, Role, Source
from investigator.run import Gathered, Team, gather
from tests.support import builders
from tests.support.agents import CASE, FakeAgent, WaitingAgent


def fails(error: Exception) -> object:
    def act(context: AgentContext) -> NoReturn:
        raise error

    return act


def answers(context: AgentContext) -> AgentResult:
    answer = builders.answer(agent=context.name, source=context.name)
    return AgentResult(answers=(answer,), sources=(builders.source(context.name),))


def team(engine=None, hub=None, *others) -> Team:
    return Team(engine=engine or FakeAgent("vllm"), hub=hub or FakeAgent("hub"), others=others)


def statuses(gathered: Gathered) -> dict[str, str]:
    return {report.name: report.status.value for report in gathered.reports}


def test_four_slow_agents_take_as_long_as_the_slowest():
    log = StringIO()
    slow = team(
        FakeAgent("vllm", 0.9),
        FakeAgent("hub", 0.5),
        FakeAgent("pull_requests", 0.6),
        FakeAgent("reference", 0.7),
    )

    gather(CASE, slow, EventLog(log))

    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    times = [datetime.fromisoformat(line["time"]) for line in lines]
    wall = (max(times) - min(times)).total_seconds()
    spent = {line["agent"]: line["seconds"] for line in lines if line["event"] == "finished"}
    assert spent.keys() == {"vllm", "hub", "pull_requests", "reference"}
    assert sum(spent.values()) > 2.6
    assert wall <= 1.2 * max(spent.values()) + 0.3


def test_an_agent_that_fails_leaves_the_answers_of_the_others():
    failing = FakeAgent("reference", act=fails(SourceError("index unreachable", "use --offline")))

    gathered = gather(CASE, team(FakeAgent("vllm", act=answers), FakeAgent("hub", act=answers), failing))

    assert statuses(gathered) == {"vllm": "done", "hub": "done", "reference": "failed"}
    assert [answer.agent for answer in gathered.answers] == ["vllm", "hub"]
    assert gathered.reports[2].error == "index unreachable (use --offline)"
    assert [item.what for item in gathered.not_checked] == ["everything that the reference agent looks at"]


def test_who_waits_for_the_checkpoint_of_a_failed_hub_fails_with_its_reason():
    hub = FakeAgent("hub", act=fails(SourceError("the Hub is away")))

    gathered = gather(CASE, team(None, hub, WaitingAgent("reference")))

    assert statuses(gathered) == {"vllm": "done", "hub": "failed", "reference": "failed"}
    assert gathered.reports[2].error == "the Hub is away"
    assert gathered.checkpoint is None


def test_a_hub_that_forgets_to_hand_over_the_checkpoint_keeps_nobody_waiting():
    gathered = gather(CASE, team(None, FakeAgent("hub"), WaitingAgent("reference")))

    assert gathered.reports[2].error == "hub never handed it over"


def test_an_agent_that_is_late_is_given_up_alone():
    begun = time.monotonic()

    gathered = gather(CASE, team(FakeAgent("vllm", 1.5), FakeAgent("hub", act=answers)), deadline=0.2)

    assert time.monotonic() - begun < 1.2
    assert statuses(gathered) == {"vllm": "failed", "hub": "done"}
    assert "not finished after 0.2 s" in (gathered.reports[0].error or "")


def test_a_defect_is_named_as_one_and_traced_in_the_log():
    events: list[Event] = []

    gathered = gather(CASE, team(FakeAgent("vllm", act=fails(KeyError("x")))), events.append)

    assert "a defect in this program: KeyError: 'x'" in (gathered.reports[0].error or "")
    (failed,) = [event for event in events if event.kind == "failed"]
    assert "test_run.py" in str(failed.details["trace"])


def test_a_defect_among_an_agents_own_tasks_is_named_by_what_it_was():
    group = ExceptionGroup("tasks", [ExceptionGroup("more", [KeyError("x")]), ValueError("y")])

    gathered = gather(CASE, team(FakeAgent("vllm", act=fails(group))), ignore)

    assert "a defect in this program: KeyError: 'x'" in (gathered.reports[0].error or "")


def test_a_case_that_cannot_be_investigated_ends_the_whole_run_at_once():
    begun = time.monotonic()
    engine = FakeAgent("vllm", act=fails(UsageError("there is no release 0.20.9", "nearest: 0.20.1")))

    with pytest.raises(UsageError, match=r"no release 0\.20\.9"):
        gather(CASE, team(engine, FakeAgent("hub", 2.0)))

    assert time.monotonic() - begun < 1.5


def test_an_interrupt_keeps_what_had_come_back():
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()

    gathered = gather(CASE, team(FakeAgent("vllm", act=answers), FakeAgent("hub", 2.0)))

    assert gathered.interrupted
    assert statuses(gathered) == {"vllm": "done", "hub": "failed"}
    assert len(gathered.answers) == 1
    assert "interrupted" in (gathered.reports[1].error or "")


def test_an_agent_that_missed_something_is_partial():
    gathered = gather(
        CASE, team(FakeAgent("vllm", act=lambda _: AgentResult(missing="one file was too large")))
    )

    assert gathered.reports[0].status is AgentStatus.PARTIAL
    assert gathered.reports[0].error == "one file was too large"


def test_it_runs_in_a_thread_too_where_no_signal_can_be_caught():
    found: list[Gathered] = []
    thread = threading.Thread(target=lambda: found.append(gather(CASE, team(FakeAgent("vllm", act=answers)))))
    thread.start()
    thread.join(5)

    assert [isinstance(source, Source) for source in found[0].sources] == [True]


def test_one_job_at_a_time_is_one_read_at_a_time():
    begun = time.monotonic()

    gathered = gather(CASE, team(FakeAgent("vllm", 0.3), FakeAgent("hub", 0.3)), jobs=1)

    assert time.monotonic() - begun >= 0.6
    assert set(statuses(gathered).values()) == {"done"}


def test_the_drafters_own_code_and_a_reference_that_differ_are_told():
    def says(value: int, source: str, contract: str = "lookahead") -> Answer:
        return builders.answer(
            agent="hub" if source == "draft" else "reference",
            source=source,
            contract=contract,
            role=Role.REFERENCE,
            outcome=Known(value),
        )

    gathered = Gathered(
        reports=(),
        results={
            "hub": AgentResult(answers=(says(2, "draft"), says(1, "draft", "cache-drop"))),
            "reference": AgentResult(
                answers=(says(1, "dflash"), says(1, "ddtree"), says(1, "dflash", "cache-drop"))
            ),
        },
    )

    assert gathered.not_checked == (
        NotChecked(
            what="lookahead: draft and dflash differ",
            why="they train differently here; the verdict rests on draft",
        ),
    )


def test_a_host_program_has_its_signal_handlers_back_afterwards():
    def mine(number: int, frame: object) -> None: ...

    before = {number: signal.signal(number, mine) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        gather(CASE, team())
        kept = [signal.getsignal(number) for number in before]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert kept == [mine, mine]
