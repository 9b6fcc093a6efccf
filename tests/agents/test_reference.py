"""The reference agent: what its references are called, beside everything else in the report."""

from pathlib import Path

import anyio
import pytest

from investigator.agents.interface import AgentContext, AgentResult, Promised
from investigator.agents.reference import ReferenceAgent
from investigator.case import Case, EngineSpec, RepoSpec
from investigator.checkpoint import Checkpoint
from investigator.errors import UsageError
from investigator.sources.store import Store
from investigator.sources.text_tree import TextTree
from tests.support.builders import source
from tests.support.mini_reference import MODEL, PICKER
from tests.support.miniature_vllm import checkpoint


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def run(store: Store, trees: dict[str, TextTree]) -> AgentResult:
    case = Case(
        engine=EngineSpec.parse("vllm==0.20.1"), draft=RepoSpec.parse("some/drafter"), references=tuple(trees)
    )

    async def main() -> AgentResult:
        promised: Promised[Checkpoint] = Promised("checkpoint")
        promised.keep(checkpoint())
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
