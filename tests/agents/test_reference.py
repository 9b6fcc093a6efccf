"""The reference agent: what its references are called, beside everything else in the report."""

from importlib.resources import files
from pathlib import Path

import anyio
import pytest

from investigator.agents.interface import AgentContext, AgentResult, Promised
from investigator.agents.reference import ReferenceAgent
from investigator.case import Case, EngineSpec, RepoSpec
from investigator.checkpoint import Checkpoint
from investigator.checkpoints import read_checkpoint
from investigator.errors import SourceError, UsageError
from investigator.model import Known, NotChecked, Origin, Role
from investigator.references.reading import QUESTIONS
from investigator.references.recorded import RecordedReference, read_recorded
from investigator.sources.store import Store
from investigator.sources.text_tree import TextTree
from tests.support.builders import source
from tests.support.eagle import eagle3_head, gpt_oss
from tests.support.mini_reference import MODEL, PICKER
from tests.support.miniature_vllm import checkpoint


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def run(store: Store, trees: dict[str, TextTree], case_of: Checkpoint | None = None) -> AgentResult:
    case = Case(
        engine=EngineSpec.parse("vllm==0.20.1"), draft=RepoSpec.parse("some/drafter"), references=tuple(trees)
    )

    async def main() -> AgentResult:
        promised: Promised[Checkpoint] = Promised("checkpoint")
        promised.keep(case_of or checkpoint())
        context = AgentContext(
            case=case,
            checkpoint=promised,
            engine=Promised("engine"),
            emit=lambda event: None,
            name="reference",
        )
        return await ReferenceAgent(lambda name: trees[name], lambda _: None, store).run(context)

    return anyio.run(main)


def tree(id: str, name: str, path: str) -> TextTree:
    return TextTree(source(id, name=name), {path: PICKER.encode(), "model.py": MODEL.encode()})


@pytest.mark.parametrize("called", ["draft", "target", "vllm", "sglang", "pr-40727"])
def test_a_reference_called_like_another_source_gets_a_name_of_its_own(store: Store, called: str) -> None:
    result = run(store, {"git:x": tree(called, "git:x", "a.py")})

    assert [one.id for one in result.sources] == [f"{called}-2"]
    assert {answer.source for answer in result.answers} == {f"{called}-2"}
    assert {e.source for answer in result.answers for e in answer.evidence} == {f"{called}-2"}


def test_two_clones_in_folders_of_the_same_name_stay_two_sources(store: Store) -> None:
    result = run(
        store,
        {
            "git:/a/repo": tree("repo", "git:/a/repo", "first.py"),
            "git:/b/repo": tree("repo", "git:/b/repo", "second.py"),
        },
    )

    assert [(one.id, one.name) for one in result.sources] == [
        ("repo", "git:/a/repo"),
        ("repo-2", "git:/b/repo"),
    ]
    offsets = [a for a in result.answers if a.contract == "target-layer-offset"]
    assert [(a.source, a.evidence[-1].path) for a in offsets] == [
        ("repo", "first.py"),
        ("repo-2", "second.py"),
    ]
    for answer in offsets:  # each quote is found again in the tree of its own source
        for evidence in answer.evidence:
            lines = result.trees[evidence.source].read(evidence.path).decode().splitlines()
            assert lines[evidence.line - 1] == evidence.quote.splitlines()[0]


def test_without_any_reference_the_first_error_is_told(store: Store) -> None:
    def fail(name: str) -> TextTree:
        raise UsageError(f"no {name}", "")

    agent = ReferenceAgent(fail, lambda _: None, store)
    case = Case(
        engine=EngineSpec.parse("vllm==0.20.1"),
        draft=RepoSpec.parse("some/drafter"),
        references=("one==1", "two==2"),
    )
    context = AgentContext(
        case=case,
        checkpoint=Promised("checkpoint"),
        engine=Promised("engine"),
        emit=lambda event: None,
        name="reference",
    )
    with pytest.raises(UsageError, match="no one==1"):
        anyio.run(agent.run, context)


# -- what the references say, and where they differ ---------------------------------------

CAUSAL_NOWHERE = MODEL.replace('self.is_causal = kind == "sliding_attention"', "self.is_causal = False")


def reference(id: str, model: str = MODEL, features: str = PICKER) -> TextTree:
    return TextTree(
        source(id, name=id), {"drafter/features.py": features.encode(), "drafter/model.py": model.encode()}
    )


def test_each_question_goes_to_each_reference(store: Store) -> None:
    result = run(store, {"dflash==0.1.0": reference("dflash"), "github:o/ddtree": reference("ddtree")})

    offsets = {a.source: a.outcome for a in result.answers if a.contract == "target-layer-offset"}
    assert offsets == {"dflash": Known([2, 4]), "ddtree": Known([2, 4])}
    assert {a.role for a in result.answers} == {Role.REFERENCE}
    assert {a.contract for a in result.answers} == set(QUESTIONS)
    assert (result.missing, result.not_checked) == (None, ())


def test_where_two_references_differ_it_is_told_once_for_each_contract(store: Store) -> None:
    result = run(
        store, {"dflash==0.1.0": reference("dflash"), "github:o/ddtree": reference("ddtree", CAUSAL_NOWHERE)}
    )

    assert result.not_checked == (
        NotChecked(
            what="in-block-causality: the references differ",
            why="dflash and ddtree train differently here; the verdict rests on dflash",
        ),
    )


def test_a_reference_that_does_not_know_differs_from_none(store: Store) -> None:
    result = run(
        store, {"dflash==0.1.0": reference("dflash"), "github:o/ddtree": reference("ddtree", features="")}
    )

    assert result.not_checked == ()


def visit(store: Store, trees: dict[str, TextTree], recorded: RecordedReference | None) -> AgentResult:
    """References, some of which cannot be reached; what is recorded of DDTree, if anything."""

    def open_reference(name: str) -> TextTree:
        if name not in trees:
            raise SourceError(f"{name} cannot be reached", "is the network there?")
        return trees[name]

    async def main() -> AgentResult:
        promised: Promised[Checkpoint] = Promised("checkpoint")
        promised.keep(checkpoint())
        context = AgentContext(
            case=Case(
                engine=EngineSpec.parse("vllm==0.20.1"),
                draft=RepoSpec.parse("some/drafter"),
                references=("dflash==0.1.0", "github:liranringel/ddtree"),
            ),
            checkpoint=promised,
            engine=Promised("engine"),
            emit=lambda event: None,
            name="reference",
        )
        agent = ReferenceAgent(
            open_reference, lambda name: recorded if name.startswith("github:") else None, store
        )
        return await agent.run(context)

    return anyio.run(main)


def ddtree() -> RecordedReference:
    record = files("investigator.fixtures") / "references" / "liranringel__ddtree.json"
    return read_recorded(record.read_bytes(), "ddtree.json")


def test_a_reference_out_of_reach_is_answered_for_by_what_is_recorded(store: Store) -> None:
    result = visit(store, {"dflash==0.1.0": reference("dflash")}, ddtree())

    assert [(s.id, s.origin) for s in result.sources] == [
        ("dflash", Origin.LIVE),
        ("ddtree", Origin.SNAPSHOT),
    ]
    offsets = {a.source: a.outcome for a in result.answers if a.contract == "target-layer-offset"}
    assert offsets == {"dflash": Known([2, 4]), "ddtree": Known([2, 4])}
    assert result.missing is None


def test_one_out_of_reach_with_nothing_recorded_leaves_the_other_alone(store: Store) -> None:
    result = visit(store, {"dflash==0.1.0": reference("dflash")}, None)

    assert {a.source for a in result.answers} == {"dflash"}
    assert result.missing == "github:liranringel/ddtree: github:liranringel/ddtree cannot be reached"
    [left_out] = result.not_checked
    assert left_out.what == "reference github:liranringel/ddtree"
    assert "is the network there?" in left_out.why


def test_a_second_run_follows_no_code(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = {"dflash==0.1.0": reference("dflash")}
    first = run(store, trees)

    def never(*arguments: object) -> None:
        raise AssertionError("a question was asked again")

    monkeypatch.setattr("investigator.agents.reference.Program", never)

    assert run(store, trees).answers == first.answers


def test_a_method_without_training_code_is_promised_by_its_config_alone(store: Store) -> None:
    head = read_checkpoint(eagle3_head(ids=[2]), gpt_oss())
    result = run(store, {"git:x": tree("x", "git:x", "a.py")}, head)

    assert result.answers == ()
    assert [(item.what, item.why) for item in result.not_checked] == [
        (
            "reference git:x",
            "none of the references is training code of eagle3: its config is the promise",
        )
    ]
