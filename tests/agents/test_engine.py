"""The engine's agent: opens its tree, waits for the checkpoint, puts every question, keeps answers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from investigator.agents.engine import EngineAgent, EngineDesk, shown_at
from investigator.agents.interface import AgentContext, AgentResult, Promised
from investigator.case import Case, EngineSpec, RepoSpec
from investigator.checkpoint import Checkpoint
from investigator.engines.registry import known
from investigator.engines.remembered import Memory, Records
from investigator.errors import NotFoundError, SourceError
from investigator.events import Event, EventKind
from investigator.model import Answer, Known, Role, Runner, SourceKind
from investigator.sources.interface import Tree
from investigator.sources.store import Store
from investigator.sources.text_tree import TextTree
from tests.support import builders
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import checkpoint
from tests.support.records import Shelf

QUESTIONS = known("vllm").questions


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


class Visit:
    """One run of the agent: what it brought, what it said, what it handed over."""

    def __init__(self, agent: EngineAgent, case: Checkpoint | SourceError, **environment: str) -> None:
        self.events: list[Event] = []
        self.engine: Promised[Tree]
        self.result = anyio.run(self._run, agent, case, environment)

    async def _run(
        self, agent: EngineAgent, case: Checkpoint | SourceError, environment: dict[str, str]
    ) -> AgentResult:
        promised: Promised[Checkpoint] = Promised("checkpoint")
        if isinstance(case, SourceError):
            promised.fail(case)
        else:
            promised.keep(case)
        self.engine = Promised("engine")
        asked = Case(
            engine=EngineSpec.parse("vllm==0.20.1"),
            draft=RepoSpec.parse("mini/draft"),
            environment=environment,
        )
        context = AgentContext(
            case=asked, checkpoint=promised, engine=self.engine, emit=self.events.append, name=agent.name
        )
        return await agent.run(context)

    def answer(self, contract: str, runner: Runner | None = Runner.V1) -> Answer:
        return next(a for a in self.result.answers if a.contract == contract and a.runner is runner)


def agent(tree: Tree, records: Records | None = None) -> EngineAgent:
    return EngineAgent("vllm", lambda spec: tree, records or Shelf())


def test_every_question_gets_its_answer_with_lines_of_the_tree() -> None:
    tree = mini.tree()
    visit = Visit(agent(tree), checkpoint())

    assert [(a.contract, a.runner) for a in visit.result.answers] == list(QUESTIONS)
    assert {(a.role, a.agent, a.source) for a in visit.result.answers} == {(Role.ENGINE, "vllm", "vllm")}
    assert visit.answer("target-layer-offset").outcome == Known([2, 4])
    for answer in visit.result.answers:
        for item in answer.evidence:
            there = tree.read(item.path).decode().split("\n")[item.line - 1 : item.end_line]
            assert item.quote.split("\n") == there[:3]
    assert visit.result.sources == (tree.source,)
    assert visit.result.trees == {"vllm": tree}


def test_the_tree_is_handed_on_and_the_runner_is_told() -> None:
    tree, made = mini.tree(choice="v2"), None
    made = agent(tree)
    visit = Visit(made, checkpoint())

    assert anyio.run(visit.engine.wait) is tree
    assert made.choice is not None
    assert made.choice.runner is Runner.V2


def test_the_deployments_variables_count() -> None:
    made = agent(mini.tree(choice="v1"))
    Visit(made, checkpoint(), VLLM_USE_V2_MODEL_RUNNER="1")

    assert made.choice is not None
    assert (made.choice.runner, made.choice.why) == (Runner.V2, "VLLM_USE_V2_MODEL_RUNNER=1 is set")


def test_what_is_not_known_is_told_as_not_checked() -> None:
    visit = Visit(agent(mini.tree(shift="by-the-clock")), checkpoint())

    told = {item.what: item.why for item in visit.result.not_checked}
    why = told["target-layer-offset on runner v1 in vllm"]
    assert why.startswith("which layers are asked for: ")


def test_a_checkpoint_that_could_not_be_read_leaves_the_tree_to_others() -> None:
    tree = mini.tree()
    visit = Visit(agent(tree), SourceError("the Hub cannot be reached", "is the network there?"))

    assert visit.result.answers == ()
    assert visit.result.sources == (tree.source,)
    assert visit.result.missing == (
        "no questions were put, since the checkpoint could not be read: the Hub cannot be reached"
    )


def test_a_tree_that_cannot_be_opened_is_the_agents_failure() -> None:
    def fail(spec: EngineSpec) -> Tree:
        raise NotFoundError(f"no {spec}", "")

    with pytest.raises(NotFoundError, match=r"no vllm==0\.20\.1"):
        Visit(EngineAgent("vllm", fail, Shelf()), checkpoint())


def test_the_log_names_each_question_and_whether_it_was_answered() -> None:
    visit = Visit(agent(mini.tree()), checkpoint())

    asked = [(e.details["contract"], e.details["runner"]) for e in visit.events if e.kind is EventKind.ASKED]
    answered = {
        (e.details["contract"], e.details["runner"]): e.details["known"]
        for e in visit.events
        if e.kind is EventKind.ANSWERED
    }
    assert asked == [(contract, runner.value if runner else None) for contract, runner in QUESTIONS]
    assert answered["target-layer-offset", "v1"] is True
    assert set(answered) == set(asked)


def test_a_full_search_is_told_of_once() -> None:
    """The miniature's runner under another name is found by what it does."""
    files = mini.texts()
    files["vllm/elsewhere/runner.py"] = files.pop(mini.RUNNER_FILE)
    visit = Visit(agent(mini.tree_of(files)), checkpoint())

    searched = [e.details["searched"] for e in visit.events if "searched" in e.details]
    assert ".set_aux_hidden_state_layers(" in searched
    assert len(searched) == len(set(searched))
    assert visit.answer("target-layer-offset").outcome == Known([2, 4])


def test_a_second_run_reads_no_code(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Visit(agent(mini.tree(), store), checkpoint())

    def never(*arguments: object) -> None:
        raise AssertionError("a question was asked again")

    monkeypatch.setattr("investigator.agents.engine.Program", never)
    second = Visit(agent(mini.tree(), store), checkpoint())

    assert second.result.answers == first.result.answers


@pytest.mark.parametrize("kept", [True, False])
def test_the_questions_likely_files_are_brought_near_once_and_only_when_asked(
    store: Store, kept: bool
) -> None:
    class Far(TextTree):
        fetched = 0

        def prefetch(self, paths: object) -> None:
            self.fetched += 1

    def desk() -> tuple[EngineDesk, Far]:
        tree = Far(mini.tree().source, {path: text.encode() for path, text in mini.texts().items()})
        return EngineDesk(known("vllm"), Memory(store, checkpoint(), {}), tree), tree

    if kept:
        list(desk()[0].every())
    made, tree = desk()
    before = tree.fetched

    list(made.every())

    assert (tree.fetched > before) is not kept


def test_an_engine_of_another_name_is_refused() -> None:
    from investigator.errors import UsageError

    opens: Callable[[EngineSpec], Tree] = lambda spec: mini.tree()  # noqa: E731
    with pytest.raises(UsageError, match="no engine named tgi is known"):
        EngineAgent("tgi", opens, Shelf())


@pytest.mark.parametrize(
    ("revision", "tag"),
    [
        ("0.20.1", "v0.20.1"),
        ("0.20.1.post1", "v0.20.1.post1"),
        ("0.20.1+cu129", "v0.20.1"),
        ("0.20.1+house.3", None),
        ("0.20.2.dev35+gabcdef0", None),
    ],
)
def test_a_releases_lines_are_shown_at_its_tag(revision: str, tag: str | None) -> None:
    wheel = builders.source(revision=revision, permalink=None)
    link = shown_at(wheel, "https://code.example/{path}@v{version}#L{line}").permalink
    assert link == (f"https://code.example/{{path}}@{tag}#L{{line}}" if tag else None)


def test_a_folder_has_no_tag() -> None:
    folder = builders.source(kind=SourceKind.FOLDER, permalink=None)
    assert shown_at(folder, "https://code.example/{path}").permalink is None


def test_a_contract_that_the_engine_is_not_asked_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made = agent(mini.tree())
    fewer = tuple(question for question in QUESTIONS if question[0] != "rope")
    monkeypatch.setattr(made, "_engine", replace(known("vllm"), questions=fewer))

    told = {item.what: item.why for item in Visit(made, checkpoint()).result.not_checked}
    assert told["rope"] == "vllm was not asked: nothing here reads that part of it"


def test_a_variable_that_the_engine_does_not_have_is_told() -> None:
    """Its own list of variables decides; another program's variable is none of its business."""
    given = {"VLLM_USE_V2_MODEL_RUNNER": "0", "VLLM_USE_MAGIC": "1", "CUDA_VISIBLE_DEVICES": "0"}
    visit = Visit(agent(mini.tree(choice="v1")), checkpoint(), **given)

    told = {item.what: item.why for item in visit.result.not_checked}
    assert told["what VLLM_USE_MAGIC does"] == (
        "vllm/envs.py, which lists the variables of vllm, does not have it"
    )
    assert not {"what VLLM_USE_V2_MODEL_RUNNER does", "what CUDA_VISIBLE_DEVICES does"} & set(told)
