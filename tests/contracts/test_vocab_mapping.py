"""``vocab-mapping``: a map is made for a drafter with fewer tokens of its own, and for no other."""

from dataclasses import replace

import pytest

from investigator.checkpoint import Checkpoint
from investigator.contracts.vocab_mapping import CONTRACT, HARMLESS, UNFILLED
from investigator.model import Known, NotKnown, Runner, Verdict
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import checkpoint

SMALL = checkpoint(draft_vocab_size=32)  # of the target's 64
SAME = checkpoint(draft_vocab_size=64)
PADDED = checkpoint(vocab_size=128)


@pytest.mark.parametrize(
    ("case", "mapping", "verdict", "why"),
    [
        (None, "own-vocabulary", Verdict.HONOURED, "the engine makes no map of vocabularies"),
        (SAME, "own-vocabulary", Verdict.HONOURED, "the engine makes no map of vocabularies"),
        (SMALL, "own-vocabulary", Verdict.HONOURED, "the engine makes a map of vocabularies"),
        (SMALL, "always", Verdict.HONOURED, "the engine makes a map of vocabularies"),
        (
            None,
            "always",
            Verdict.HONOURED,
            f"the engine makes a map of vocabularies that the checkpoint does not bring: {HARMLESS}",
        ),
        (
            PADDED,
            "always",
            Verdict.PARTIAL,
            f"the engine makes a map of vocabularies that the checkpoint does not bring: {UNFILLED}",
        ),
    ],
    ids=["none", "same-size", "smaller", "smaller-always", "needless", "padded"],
)
def test_a_map_when_there_is_one_to_make(
    case: Checkpoint | None, mapping: str, verdict: Verdict, why: str
) -> None:
    found = mini.finding("vocab-mapping", Runner.V1, case, mapping=mapping)

    assert (found.verdict, found.why) == (verdict, why)


def test_the_weights_decide_what_the_checkpoint_has() -> None:
    assert CONTRACT.ask_checkpoint is not None
    with_map = mini.with_weights(checkpoint(), model__d2t=(64,))
    without = mini.with_weights(SMALL, fc__weight=(32, 64))

    assert CONTRACT.ask_checkpoint(with_map)[0] == Known(value=True)
    assert CONTRACT.ask_checkpoint(without)[0] == Known(value=False)
    assert mini.finding("vocab-mapping", Runner.V1, with_map).verdict is Verdict.BROKEN


def test_a_draft_model_that_decides_nothing_leaves_it_open() -> None:
    files = mini.texts()
    files[mini.DRAFT_FILE] = files[mini.DRAFT_FILE].replace("draft_id_to_target_id", "table")

    found = mini.finding_on(mini.tree_of(files), "vocab-mapping", Runner.V1)

    assert found.verdict is Verdict.UNKNOWN


def test_a_runner_that_does_not_take_the_method() -> None:
    found = mini.finding("vocab-mapping", Runner.V2, check="second-lacks-method")

    assert found.verdict is Verdict.UNSUPPORTED


def test_a_vocabulary_whose_size_nobody_names_leaves_it_open() -> None:
    case = checkpoint(draft_vocab_size=32)
    draft = {key: value for key, value in case.draft.normalised.items() if key != "vocab_size"}
    unsaid = replace(case, draft=replace(case.draft, normalised=draft), target=None)

    assert CONTRACT.ask_checkpoint is not None
    assert CONTRACT.ask_checkpoint(unsaid)[0] == NotKnown("the size of the target's vocabulary is not known")
