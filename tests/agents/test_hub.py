"""The hub agent: the checkpoint it hands over, the answers it gives, the lines it quotes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from investigator.agents.hub import AskCheckpoint, HubAgent, quote_keys
from investigator.agents.interface import AgentContext, AgentResult, Promised
from investigator.case import Case, EngineSpec, RepoSpec
from investigator.checkpoint import Checkpoint
from investigator.errors import OfflineError, UsageError
from investigator.events import Event, EventKind
from investigator.evidence_check import check_evidence
from investigator.model import Known, Origin, Outcome, Role
from investigator.sources.hub import HubSource

DRAFT = "z-lab/Qwen3.6-27B-DFlash"


@dataclass(frozen=True)
class Question:
    id: str
    ask_checkpoint: AskCheckpoint | None


def ids(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    return Known(list(checkpoint.target_layer_ids or ())), ("dflash_config.target_layer_ids",)


OFFSET = Question("target-layer-offset", ids)
NOTHING = Question("lookahead", None)


@dataclass
class Run:
    """What came of one run of the agent."""

    result: AgentResult
    checkpoint: Checkpoint
    events: list[Event]


def run(
    draft: str,
    target: str | None = None,
    questions: Sequence[Question] = (OFFSET, NOTHING),
    method: str | None = None,
    block_size: int | None = None,
) -> Run:
    events: list[Event] = []

    async def main() -> tuple[AgentResult, Checkpoint]:
        case = Case(
            engine=EngineSpec.parse("vllm==0.20.1"),
            draft=RepoSpec.parse(draft),
            target=RepoSpec.parse(target) if target else None,
            method=method,
            block_size=block_size,
        )
        context = AgentContext(
            case=case,
            checkpoint=Promised("checkpoint"),
            engine=Promised("engine"),
            emit=events.append,
            name="hub",
        )
        result = await HubAgent(HubSource(offline=True), questions).run(context)
        return result, await context.checkpoint.wait()

    result, checkpoint = anyio.run(main)
    return Run(result, checkpoint, events)


def local(folder: Path, **changes: object) -> str:
    """A small drafter in a folder, as ``--draft`` names it."""
    config = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": 8,
        "dflash_config": {"mask_token_id": 9, "target_layer_ids": [1, 4]},
        "num_hidden_layers": 2,
        "num_target_layers": 8,
    }
    (folder / "config.json").write_text(json.dumps(config | changes, indent=2))
    return f"path:{folder}"


def test_the_default_case_comes_with_its_target_and_quotes_that_hold() -> None:
    found = run(DRAFT)

    assert found.checkpoint.target_layer_ids == (1, 16, 31, 46, 61)
    assert found.checkpoint.target is not None
    assert found.checkpoint.target.repo == "Qwen/Qwen3.6-27B"
    (answer,) = found.result.answers
    assert (answer.contract, answer.role, answer.source) == ("target-layer-offset", Role.CHECKPOINT, "draft")
    assert answer.outcome == Known([1, 16, 31, 46, 61])
    (quote,) = answer.evidence
    assert quote.quote == '    "target_layer_ids": [1, 16, 31, 46, 61]'
    assert check_evidence(answer.evidence, found.result.trees) == 1


def test_both_sources_are_snapshots_and_say_so() -> None:
    found = run(DRAFT)

    assert {source.id: source.origin for source in found.result.sources} == {
        "draft": Origin.SNAPSHOT,
        "target": Origin.SNAPSHOT,
    }
    assert all(source.note and "snapshot of 2026-10" in source.note for source in found.result.sources)


def test_what_was_not_looked_at_is_listed() -> None:
    missing = {item.what: item.why for item in run(DRAFT).result.not_checked}

    assert "this run is offline" in missing[f"the Hub itself, for {DRAFT} and Qwen/Qwen3.6-27B"]
    assert missing["the drafter's modeling file dflash.py"].endswith("the repository ships no dflash.py")
    assert "keys that the snapshot of Qwen/Qwen3.6-27B lacks" in missing
    assert "the shapes of the drafter's weights" in missing


def test_a_target_that_cannot_be_had_leaves_the_drafter_answered(tmp_path: Path) -> None:
    found = run(local(tmp_path), target="nobody/nothing")

    assert found.checkpoint.target is None
    assert len(found.result.answers) == 1
    assert found.result.missing is not None
    assert "nobody/nothing" in found.result.missing


def test_a_drafter_that_names_no_target_says_how_to(tmp_path: Path) -> None:
    found = run(local(tmp_path))

    why = {item.what: item.why for item in found.result.not_checked}["the target's config"]
    assert "--target" in why
    assert found.result.missing == why  # told on the terminal too


def test_a_pair_that_does_not_belong_together_is_told(tmp_path: Path) -> None:
    found = run(local(tmp_path), target="Qwen/Qwen3-8B")

    why = {item.what: item.why for item in found.result.not_checked}
    assert why["whether drafter and target belong together"] == (
        "the drafter was trained for 8 layers, Qwen/Qwen3-8B has 36"
    )


def test_a_rewrite_of_a_key_stands_in_the_note_of_its_answer(tmp_path: Path) -> None:
    def window(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
        return Known(None), ("sliding_window",)

    found = run(local(tmp_path, sliding_window=512), questions=[Question("layer-types", window)])

    (answer,) = found.result.answers
    assert (
        "sliding_window 512 becomes null: use_sliding_window is missing and defaults to false" in answer.note
    )


def test_a_value_over_many_lines_is_quoted_three_lines_long(tmp_path: Path) -> None:
    found = run(local(tmp_path))

    (quote,) = found.result.answers[0].evidence
    assert (quote.end_line - quote.line, quote.quote.count("\n")) == (2, 2)
    assert quote.quote.startswith('    "target_layer_ids": [\n      1,')


def test_a_config_on_one_line_is_quoted_from_a_copy_with_short_lines(tmp_path: Path) -> None:
    draft = local(tmp_path, padding="x" * 400)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config))

    found = run(draft)

    (quote,) = found.result.answers[0].evidence
    assert (quote.path, quote.quote) == ("config.reformatted.json", '    "target_layer_ids": [1, 4]')
    assert check_evidence([quote], found.result.trees) == 1


def test_a_key_that_was_filled_in_has_no_line(tmp_path: Path) -> None:
    fetched = {"draft": HubSource().fetch(RepoSpec.parse(local(tmp_path)), "draft")}

    assert quote_keys(["layer_types", "target:num_hidden_layers"], fetched) == []
    assert [item.line for item in quote_keys(["mask_token_id"], fetched)] == [8]


MODELING = """\
import torch


def pick_features(hidden_states, layer_ids):
    shift = 1
    picked = []
    for layer in layer_ids:
        picked.append(hidden_states[layer + shift])
    return torch.cat(picked, dim=-1)
"""


def test_the_drafters_own_code_is_one_more_reference_and_is_never_run(tmp_path: Path) -> None:
    draft = local(tmp_path, auto_map={"AutoModel": "dflash.DFlashDraftModel"})
    (tmp_path / "dflash.py").write_text(MODELING + "\nraise SystemExit('it was run')\n")

    found = run(draft)

    checkpoint, reference = found.result.answers
    assert (reference.role, reference.agent, reference.source) == (Role.REFERENCE, "hub", "draft")
    assert checkpoint.outcome == Known([1, 4])
    assert reference.outcome == Known([2, 5])
    assert [(item.path, item.line) for item in reference.evidence] == [("dflash.py", 8)]
    assert check_evidence(reference.evidence, found.result.trees) == 1


def test_code_that_the_config_does_not_name_is_not_asked(tmp_path: Path) -> None:
    draft = local(tmp_path)
    (tmp_path / "dflash.py").write_text(MODELING)

    assert len(run(draft).result.answers) == 1


def test_code_that_decides_nothing_answers_nothing(tmp_path: Path) -> None:
    draft = local(tmp_path, auto_map={"AutoModel": "other--repo--dflash.DFlashDraftModel"})
    (tmp_path / "dflash.py").write_text("x = (\n")

    assert len(run(draft).result.answers) == 1


def test_the_events_name_source_origin_and_contract() -> None:
    kinds = [
        (event.kind, event.details.get("source") or event.details.get("contract"))
        for event in run(DRAFT).events
    ]

    assert kinds == [
        (EventKind.FETCHED, "draft"),
        (EventKind.FETCHED, "target"),
        (EventKind.ASKED, "target-layer-offset"),
        (EventKind.ANSWERED, "target-layer-offset"),
    ]


def test_a_wrong_drafter_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="target_layer_ids is empty"):
        run(local(tmp_path, dflash_config={"target_layer_ids": []}))


def test_an_unknown_drafter_offline_is_an_error_with_advice() -> None:
    with pytest.raises(OfflineError, match="nobody/nothing would have to be fetched"):
        run("nobody/nothing")


def test_a_model_that_drafts_for_itself_is_its_own_target() -> None:
    found = run("Qwen/Qwen3.6-27B", method="mtp")

    assert (found.checkpoint.method, found.checkpoint.layout) == ("mtp", "mtp-own")
    assert found.checkpoint.target is not None
    assert found.checkpoint.target.repo == "Qwen/Qwen3.6-27B"
    assert found.checkpoint.num_target_layers == 64
    lacking = [item for item in found.result.not_checked if "lacks" in item.what]
    assert len(lacking) == 1


def test_a_target_without_a_word_of_mtp_is_still_no_drafter() -> None:
    with pytest.raises(UsageError, match="is not a drafter's config") as caught:
        run("Qwen/Qwen3.6-27B")

    assert "add --method mtp" in caught.value.advice


def test_a_block_size_of_the_case_leaves_the_drafters_own_open(tmp_path: Path) -> None:
    asked = run(local(tmp_path), block_size=4)

    assert asked.checkpoint.block_size == 4
    told = {item.what: item.why for item in asked.result.not_checked}
    assert told["the drafter's own block size, 8"] == (
        "the case names 4 tokens a block; what it would be with the drafter's is open"
    )
