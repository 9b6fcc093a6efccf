"""Releases of a miniature engine on a loopback index, asked one after another."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from investigator.agents.interface import AgentContext, AgentResult
from investigator.case import DEFAULT_REFERENCES, Case, EngineSpec, RepoSpec
from investigator.code.program import Module
from investigator.contracts.registry import BY_ID
from investigator.engines.deployment import Deployment
from investigator.errors import IncompleteError, SourceError, UsageError
from investigator.events import Event, EventKind
from investigator.history import ReleaseRow, Timeline
from investigator.model import Answer, Known, Role, Runner, Verdict
from investigator.run import Team
from investigator.sources.open import Workspace, open_release
from investigator.sources.package_index import Release
from investigator.sources.pip_settings import PipSettings
from investigator.sources.store import Store
from investigator.sources.transport import NetworkPolicy, Transport
from investigator.timeline import Background, background, chosen, read
from tests.support import mini_vllm as mini
from tests.support.agents import FakeAgent
from tests.support.mini_index import MiniIndex
from tests.support.miniature_vllm import checkpoint
from tests.support.wheels import build_wheel

OFFSET, DROP = "target-layer-offset", "cache-drop"
CASE = Case(
    engine=EngineSpec.parse("vllm==0.20.0"), draft=RepoSpec.parse("mini/draft"), references=DEFAULT_REFERENCES
)


def release(version: str, **shapes: str) -> tuple[str, bytes]:
    """A wheel of a miniature vLLM."""
    files = {path: text.encode() for path, text in mini.texts(**shapes).items()}
    return version, build_wheel("vllm", version, files)


HISTORY = (
    release("0.20.0", shift="none", drop="eagle"),
    release("0.21.0", shift="inline", drop="eagle"),
    release("0.22.0", shift="inline", drop="own"),
    # The shift got lost in a rewrite, and nothing else changed.
    release("0.23.0", shift="none", drop="own"),
)


@pytest.fixture
def index(httpserver: HTTPServer) -> MiniIndex:
    made = MiniIndex(httpserver)
    for version, data in HISTORY:
        made.add(version=version, data=data)
    return made


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def opened(index: MiniIndex, tmp_path: Path, events: list[Event]) -> Iterator[Callable[..., Workspace]]:
    """A workspace over one store, as each run of the command opens its own."""
    policy = NetworkPolicy(connect_timeout=5, read_timeout=5)
    transports: list[Transport] = []

    def make() -> Workspace:
        transports.append(Transport(policy, events=events.append))
        store = Store.open(tmp_path / "cache")
        return Workspace(store=store, transport=transports[-1], pip=PipSettings(index_url=index.url))

    yield make
    for transport in transports:
        transport.close()


def given() -> Background:
    """What the pair and its reference say: ids 1 and 3 are states 2 and 4, and nothing is dropped."""
    case = checkpoint()
    answers = [
        Answer(
            contract=contract,
            role=Role.CHECKPOINT,
            agent="hub",
            source="draft",
            outcome=BY_ID[contract].ask_checkpoint(case)[0],  # type: ignore[misc]
        )
        for contract in (OFFSET, DROP)
    ]
    for contract, value in ((OFFSET, Known([2, 4])), (DROP, Known([]))):
        answers.append(
            Answer(contract=contract, role=Role.REFERENCE, agent="reference", source="dflash", outcome=value)
        )
    return Background(case, tuple(answers))


def asked(
    workspace: Workspace,
    jobs: int = 2,
    progress: Callable[[ReleaseRow], None] = print,
    deployment: Deployment | None = None,
) -> Timeline:
    return read(
        "vllm",
        chosen(workspace.index.releases("vllm"), None, None),
        lambda version: open_release("vllm", version, workspace),
        given(),
        workspace.store,
        draft="mini/draft",
        deployment=deployment,
        jobs=jobs,
        progress=progress,
    )


def verdicts(timeline: Timeline, contract: str, runner: Runner | None) -> list[Verdict]:
    return [
        cell.verdict
        for row in timeline.rows
        for cell in row.cells
        if cell.contract == contract and cell.runner is runner
    ]


def test_first_bad_fixed_and_regressed(opened: Callable[..., Workspace]) -> None:
    timeline = asked(opened())

    broken, honoured = Verdict.BROKEN, Verdict.HONOURED
    assert [row.version for row in timeline.rows] == ["0.20.0", "0.21.0", "0.22.0", "0.23.0"]
    assert verdicts(timeline, OFFSET, Runner.V1) == [broken, honoured, honoured, broken]
    assert verdicts(timeline, DROP, None) == [broken, broken, honoured, honoured]
    told = {(s.contract, s.runner): s.sentence for s in timeline.stories}
    assert told[OFFSET, Runner.V1] == "first bad 0.20.0, fixed in 0.21.0, regressed in 0.23.0"
    assert told[DROP, None] == "first bad 0.20.0, fixed in 0.22.0"
    assert {row.runner for row in timeline.rows} == {Runner.V1}


def test_every_release_is_asked_about_what_the_deployment_sets(opened: Callable[..., Workspace]) -> None:
    settings = {"VLLM_USE_V2_MODEL_RUNNER": "1"}

    timeline = asked(opened(), deployment=settings)

    assert {row.runner for row in timeline.rows} == {Runner.V2}
    assert (timeline.deployment, timeline.method) == (settings, "dflash")


def test_cells_carry_the_engines_lines_alone(opened: Callable[..., Workspace]) -> None:
    timeline = asked(opened())

    [cell] = [c for c in timeline.rows[0].cells if c.contract == OFFSET and c.runner is Runner.V1]
    assert cell.evidence
    assert {item.source for item in cell.evidence} == {"vllm"}


def test_an_unchanged_file_is_fetched_once_and_a_second_run_fetches_nothing(
    opened: Callable[..., Workspace], index: MiniIndex, events: list[Event]
) -> None:
    first = asked(opened(), jobs=1)
    fetched = [e.details for e in events if e.kind is EventKind.FETCHED and e.details.get("requests")]
    by_release = {
        version: sum(int(str(d["bytes"])) for d in fetched if d["what"] == f"vllm=={version}")
        for version, _ in HISTORY
    }
    # The wheel is small, so its tail is most of it; what the tail holds is not asked for again.
    assert by_release["0.20.0"] >= max(by_release["0.22.0"], by_release["0.23.0"])
    before = len(index.requests)

    second = asked(opened(), jobs=1)

    assert len(index.requests) == before
    assert second == first


def test_releases_are_asked_side_by_side_and_told_of_as_they_come(opened: Callable[..., Workspace]) -> None:
    seen: list[str] = []

    timeline = asked(opened(), jobs=4, progress=lambda row: seen.append(row.version))

    assert sorted(seen) == [row.version for row in timeline.rows]
    assert timeline == asked(opened(), jobs=1)


def test_the_syntax_trees_of_a_release_are_let_go_before_the_next_is_read(
    opened: Callable[..., Workspace],
) -> None:
    """They are most of what a timeline takes, and many releases have to fit."""

    def held(_: ReleaseRow | None = None) -> None:
        alive.append(sum(type(thing) is Module for thing in gc.get_objects()))

    alive: list[int] = []
    gc.collect()
    held()
    gc.disable()
    try:
        asked(opened(), jobs=1, progress=held)
    finally:
        gc.enable()

    assert len(alive) > 2
    assert set(alive) == {alive[0]}


def test_a_release_that_cannot_be_read_says_why_and_hides_no_other(
    opened: Callable[..., Workspace], index: MiniIndex
) -> None:
    index.add(version="0.24.0", data=b"no wheel at all")
    index.add(version="0.25.0", data=release("0.25.0")[1], yanked="a wrong pin")

    timeline = asked(opened())

    damaged, withdrawn = timeline.rows[-2:]
    assert (damaged.version, damaged.cells) == ("0.24.0", ())
    assert damaged.unread is not None
    assert "vllm==0.24.0" in damaged.unread
    assert (withdrawn.yanked, withdrawn.unread) == ("a wrong pin", None)
    assert verdicts(timeline, OFFSET, Runner.V1)[-1] is Verdict.HONOURED


# -- which releases ---------------------------------------------------------------------


def releases(*versions: str) -> list[Release]:
    return [Release(version=v, wheels=(), uploaded=None, yanked=None) for v in versions]


KNOWN = releases("0.19.1", "0.20.0", "0.20.1rc1", "0.20.1", "0.21.0")


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (None, None, ["0.19.1", "0.20.0", "0.20.1", "0.21.0"]),
        ("0.20.0", None, ["0.20.0", "0.20.1", "0.21.0"]),
        ("0.20", "0.20.1", ["0.20.0", "0.20.1"]),
        (None, "0.20.0", ["0.19.1", "0.20.0"]),
        ("0.20.5", "9", ["0.21.0"]),
    ],
)
def test_final_releases_between_two_versions(
    first: str | None, last: str | None, expected: list[str]
) -> None:
    assert [r.version for r in chosen(KNOWN, first, last)] == expected


@pytest.mark.parametrize(
    ("known", "first", "last", "message", "advice"),
    [
        (
            KNOWN,
            "0.30.0",
            None,
            "no release lies between 0.30.0 and the last",
            "the index has 0.19.1 to 0.21.0",
        ),
        (KNOWN, "0.21.0", "0.20.0", "0.21.0 comes after 0.20.0", "give the earlier release with --from"),
        (KNOWN, "0.22.0", "0.23.0", "no release lies between 0.22.0 and 0.23.0", "the index has 0.19.1"),
        ([], None, None, "no release lies between the first and the last", ""),
        (KNOWN, "newest", None, "'newest' is not a version", "write it like 0.20.1"),
        (KNOWN, None, "v..1", "'v..1' is not a version", "write it like 0.20.1"),
    ],
)
def test_a_range_without_releases_is_told_of(
    known: list[Release], first: str | None, last: str | None, message: str, advice: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        chosen(known, first, last)
    assert caught.value.advice.startswith(advice)


# -- what is gathered once --------------------------------------------------------------


def brings_checkpoint(context: AgentContext) -> AgentResult:
    context.checkpoint.keep(checkpoint())
    return AgentResult(answers=given().answers[:1])


def test_the_engine_is_left_alone_while_the_background_is_gathered() -> None:
    def never(context: AgentContext) -> AgentResult:
        raise AssertionError("the engine's agent was sent out")

    team = Team(engine=FakeAgent("vllm", act=never), hub=FakeAgent("hub", act=brings_checkpoint))

    found = background(CASE, team)

    assert found.checkpoint == checkpoint()
    assert found.answers == given().answers[:1]


def test_without_a_checkpoint_there_is_no_timeline() -> None:
    def fails(context: AgentContext) -> AgentResult:
        raise SourceError("the Hub cannot be reached", "is the network there?")

    team = Team(engine=FakeAgent("vllm"), hub=FakeAgent("hub", act=fails))

    with pytest.raises(IncompleteError, match="the Hub cannot be reached"):
        background(CASE, team)
