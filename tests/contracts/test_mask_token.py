"""``mask-token``: the checkpoint's own, 9, wherever its config puts it."""

import pytest

from investigator.checkpoint import Checkpoint
from investigator.contracts.mask_token import CONTRACT
from investigator.model import Known, NotKnown, Runner, Verdict
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import checkpoint

TOP_LEVEL = checkpoint(mask_token_id=9, dflash_config={"target_layer_ids": [1, 3]})
TOKEN_9, TOKEN_0 = "the engine fills them with token 9", "the engine fills them with token 0"


@pytest.mark.parametrize(
    ("case", "mask", "verdict", "why"),
    [
        (None, "nested", Verdict.HONOURED, TOKEN_9),
        (None, "both", Verdict.HONOURED, TOKEN_9),
        (TOP_LEVEL, "both", Verdict.HONOURED, TOKEN_9),
        # Only the nested key is read, and this config has none.
        (
            TOP_LEVEL,
            "nested",
            Verdict.REFUSED,
            "the engine stops: ValueError: the draft config names no mask_token_id",
        ),
        # The key is read for a log line, and its value reaches no use.
        (None, "fixed", Verdict.BROKEN, TOKEN_0),
    ],
    ids=["nested", "either", "top-level", "top-level-unread", "read-and-dropped"],
)
def test_where_the_token_comes_from(case: Checkpoint | None, mask: str, verdict: Verdict, why: str) -> None:
    found = mini.finding("mask-token", Runner.V1, case, mask=mask)

    assert (found.verdict, found.why) == (verdict, why)


@pytest.mark.parametrize("case", [None, TOP_LEVEL])
def test_the_second_runner_has_its_own_helper(case: Checkpoint | None) -> None:
    found = mini.finding("mask-token", Runner.V2, case, mask="fixed")

    assert (found.verdict, found.why) == (Verdict.HONOURED, TOKEN_9)


def test_a_token_out_of_a_tokenizer_is_unknown() -> None:
    found = mini.finding("mask-token", Runner.V1, mask="tokenizer")

    assert found.verdict is Verdict.UNKNOWN
    assert found.why.startswith("the mask token: ")


def test_an_engine_that_reads_no_such_key_is_unknown() -> None:
    files = mini.texts()
    del files[mini.PROPOSER_FILE]

    found = mini.finding_on(mini.tree_of(files), "mask-token", Runner.V1)

    assert (found.verdict, found.why) == (
        Verdict.UNKNOWN,
        "nothing on runner v1's path reads mask_token_id",
    )


def test_the_evidence_is_the_read() -> None:
    [evidence] = mini.quotes(mini.finding("mask-token", Runner.V1), mini.PROPOSER_FILE)

    assert evidence.quote.strip() == 'self.parallel_drafting_token_id = asked["mask_token_id"]'
    assert evidence.role == "reads draft config.dflash_config.mask_token_id"


def test_a_method_that_masks_nothing_needs_none() -> None:
    eagle = checkpoint(architectures=["LlamaForCausalLMEagle3"], dflash_config=None)

    assert mini.finding("mask-token", Runner.V1, eagle).verdict is Verdict.NOT_APPLICABLE


def test_what_the_checkpoint_says() -> None:
    assert CONTRACT.ask_checkpoint is not None

    assert CONTRACT.ask_checkpoint(checkpoint())[0] == Known(9)
    unnamed = checkpoint(dflash_config={"target_layer_ids": [1, 3]})
    assert isinstance(CONTRACT.ask_checkpoint(unnamed)[0], NotKnown)
