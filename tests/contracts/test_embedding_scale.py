"""``embedding-scale``: what a checkpoint scales, an engine must read."""

import pytest

from investigator.checkpoint import Checkpoint
from investigator.contracts.embedding_scale import CONTRACT
from investigator.model import Known, Runner, Verdict
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import checkpoint

SCALED = checkpoint(input_embedding_scale=4.0)
CAPPED = checkpoint(final_logit_softcapping=30.0, output_multiplier=0.5)
BOTH = checkpoint(input_embedding_scale=4.0, final_logit_softcapping=30.0)
NEUTRAL = checkpoint(input_embedding_scale=1.0, output_multiplier=1, final_logit_softcapping=None)
MONOTONE = " (monotone: greedy drafts stay as they are, sampled ones change)"


@pytest.mark.parametrize(
    ("case", "scales", "verdict", "why"),
    [
        (SCALED, "unread", Verdict.BROKEN, "never applied: input_embedding_scale"),
        (SCALED, "input", Verdict.HONOURED, "every scale that is set is applied"),
        (SCALED, "dropped", Verdict.BROKEN, "never applied: input_embedding_scale"),
        (
            CAPPED,
            "unread",
            Verdict.PARTIAL,
            f"never applied: output_multiplier, final_logit_softcapping{MONOTONE}",
        ),
        (CAPPED, "all", Verdict.HONOURED, "every scale that is set is applied"),
        (BOTH, "input", Verdict.PARTIAL, f"never applied: final_logit_softcapping{MONOTONE}"),
        (BOTH, "unread", Verdict.BROKEN, "never applied: input_embedding_scale, final_logit_softcapping"),
        (None, "unread", Verdict.NOT_APPLICABLE, "the checkpoint sets no scale"),
        (NEUTRAL, "unread", Verdict.NOT_APPLICABLE, "the checkpoint sets no scale"),
    ],
    ids=[
        "scale",
        "scale-read",
        "scale-read-and-dropped",
        "cap",
        "cap-read",
        "one-of-two",
        "neither",
        "none",
        "neutral",
    ],
)
def test_what_is_set_is_read(case: Checkpoint | None, scales: str, verdict: Verdict, why: str) -> None:
    found = mini.finding("embedding-scale", Runner.V1, case, scales=scales)

    assert (found.verdict, found.why) == (verdict, why)


def test_the_evidence_is_where_a_scale_is_read_and_no_other_key() -> None:
    found = mini.finding("embedding-scale", Runner.V1, SCALED, scales="input")

    [evidence] = mini.quotes(found, mini.DRAFT_FILE)
    assert evidence.role == "reads input_embedding_scale"
    assert [item for item in found.evidence if item.source == "vllm"] == [evidence]


def test_a_draft_model_that_cannot_be_built_leaves_it_open() -> None:
    files = mini.texts()
    registry = "vllm/model_executor/models/registry.py"
    files[registry] = files[registry].replace("DFlashDraftModel", "OtherDraftModel")

    found = mini.finding_on(mini.tree_of(files), "embedding-scale", Runner.V1, SCALED)

    assert found.verdict is Verdict.UNKNOWN


def test_what_the_checkpoint_says() -> None:
    nested = checkpoint(dflash_config={"target_layer_ids": [1, 3], "input_embedding_scale": 2.0})
    assert CONTRACT.ask_checkpoint is not None

    assert CONTRACT.ask_checkpoint(nested)[0] == Known(["input_embedding_scale"])
    assert CONTRACT.ask_checkpoint(NEUTRAL)[0] == Known([])
