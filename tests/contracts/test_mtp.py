"""What each contract says of an MTP drafter, from an engine's answer."""

from dataclasses import replace
from typing import Any

import pytest

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Sides, judge
from investigator.contracts.registry import BY_ID
from investigator.model import Answer, Json, Known, NotKnown, Outcome, Role, Unsupported, Verdict
from tests.support.mtp import ASSISTANT, DEEPSEEK, MIMO_FLASH, QWEN_NEXT, drafter, own

TWO_LAYERS = own(DEEPSEEK, num_nextn_predict_layers=2)


def verdict(contract: str, checkpoint: Checkpoint, engine: Outcome) -> tuple[Verdict, str]:
    asked = BY_ID[contract].ask_checkpoint
    assert asked is not None
    sides = Sides(
        checkpoint=answer(contract, Role.CHECKPOINT, asked(checkpoint)[0]),
        references=(),
        engine=answer(contract, Role.ENGINE, engine),
        facts=checkpoint,
    )
    found = judge(BY_ID[contract], sides)
    return found.verdict, found.why


def answer(contract: str, role: Role, outcome: Outcome) -> Answer:
    return Answer(contract=contract, role=role, agent="some", source="some", outcome=outcome, evidence=())


@pytest.mark.parametrize(
    ("contract", "why"),
    [
        ("target-layer-offset", "an MTP drafter takes its target's last hidden state and names no layers"),
        ("layer-types", "every draft layer attends to everything, so there is no window to honour"),
        ("in-block-causality", "mtp drafts token by token: there is no block to see"),
        (
            "kv-retention",
            "every draft layer attends to everything, and full attention keeps everything",
        ),
        (
            "lookahead",
            "a draft of one token writes no slot beyond those that were scheduled; --block-size N+1 asks"
            " about drafts of N",
        ),
        ("config-coverage", "its config sets nothing about MTP beyond one layer"),
        (
            "silent-default",
            "the checkpoint says how many MTP layers it has, so nothing is guessed",
        ),
        ("target-capture", "an MTP drafter takes its target's last hidden state and names no layers"),
        (
            "feature-width",
            "an MTP drafter projects one hidden state of its target, and no concatenation of several",
        ),
        ("mask-token", "mtp drafts token by token and fills no masked places"),
        ("vocab-mapping", "an MTP drafter's vocabulary is its target's"),
        ("embedding-scale", "the checkpoint sets no scale"),
    ],
)
def test_what_one_mtp_layer_does_not_need(contract: str, why: str) -> None:
    assert verdict(contract, own(DEEPSEEK), NotKnown("not read")) == (Verdict.NOT_APPLICABLE, why)


def test_an_engine_that_does_not_know_the_drafter_keeps_no_promise() -> None:
    found = verdict("rope", own(DEEPSEEK), Unsupported("no such drafter"))

    assert found == (Verdict.UNSUPPORTED, "no such drafter")


# -- the last matched block ------------------------------------------------------------


@pytest.mark.parametrize(
    ("dropped", "ahead", "expected"),
    [
        (
            ["target attention", "draft attention"],
            0,
            (
                Verdict.HONOURED,
                "the last matched block of every group is dropped, as this drafter needs",
            ),
        ),
        (
            ["radix cache"],
            0,
            (
                Verdict.HONOURED,
                "the last matched block of the group 'radix cache' is dropped, as this drafter needs",
            ),
        ),
        (
            [],
            1,
            (
                Verdict.HONOURED,
                "no block is dropped, and none need be: a block's hash covers the token after it",
            ),
        ),
        (
            [],
            3,
            (
                Verdict.HONOURED,
                "no block is dropped, and none need be: a block's hash covers the 3 tokens after it",
            ),
        ),
        (
            ["target attention"],
            0,
            (
                Verdict.BROKEN,
                "a prefix-cache hit reuses the last matched block, whose draft K/V may be of another next"
                " token",
            ),
        ),
    ],
    ids=["all", "radix", "hashed", "hashed-far", "the-target's-alone"],
)
def test_the_last_matched_block_is_dropped_where_it_may_be_stale(
    dropped: list[Json], ahead: int, expected: tuple[Verdict, str]
) -> None:
    engine: dict[str, Json] = {"dropped": dropped, "hashed ahead": ahead}

    assert verdict("cache-drop", own(DEEPSEEK), Known(engine)) == expected


def test_whether_an_assistant_has_kv_of_its_own_is_not_known() -> None:
    assistant = drafter(ASSISTANT)
    engine: dict[str, Json] = {"dropped": ["radix cache"], "hashed ahead": 0}

    assert verdict("cache-drop", assistant, Known(engine))[0] is Verdict.UNKNOWN
    kept: dict[str, Json] = {"settled": [None] * 4, "in flight": [None] * 4}
    assert verdict("kv-retention", assistant, Known(kept))[0] is Verdict.UNKNOWN


# -- slots -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("running", "first", "expected"),
    [
        (2, 2, Verdict.HONOURED),
        (1, 1, Verdict.HONOURED),  # two tokens: the second pass alone writes beyond
        (2, 0, Verdict.BROKEN),
    ],
)
def test_slots_for_each_pass_after_the_first(running: int, first: int, expected: Verdict) -> None:
    found = verdict("lookahead", TWO_LAYERS, Known({"running": running, "first": first}))

    assert found[0] is expected


def test_how_many_slots_are_missing() -> None:
    _, why = verdict("lookahead", TWO_LAYERS, Known({"running": 2, "first": 0}))

    assert why == "of the slot that a draft writes, 1 too few when a request is first scheduled"


# -- layers and their number -----------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "expected", "why"),
    [
        (["num_nextn_predict_layers"], Verdict.HONOURED, "every key that the reference reads and this"),
        (["hidden_size"], Verdict.BROKEN, "never reach the draft model: num_nextn_predict_layers"),
    ],
)
def test_several_mtp_layers_are_more_than_an_engine_takes_for_granted(
    read: list[Json], expected: Verdict, why: str
) -> None:
    found = verdict("config-coverage", own(MIMO_FLASH), Known(read))

    assert (found[0], found[1][: len(why)]) == (expected, why)


def test_a_config_that_does_not_say_how_many() -> None:
    found = verdict("silent-default", own(QWEN_NEXT), Known({"layers": 1}))

    assert found == (
        Verdict.PARTIAL,
        "the engine makes one MTP layer, which is right for a checkpoint with as many and no more",
    )


# -- rotation and head -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected", "why"),
    [
        (
            {"layout": "pairs", "theta": 10000, "from": "draft", "target": "pairs"},
            Verdict.HONOURED,
            "rotated in pairs with base 10000",
        ),
        (
            {"layout": "halves", "theta": 10000, "from": "draft", "target": "pairs"},
            Verdict.BROKEN,
            "the draft layers rotate in halves, trained in pairs",
        ),
        (
            {"layout": "pairs", "theta": 500000, "from": "draft", "target": None},
            Verdict.BROKEN,
            "with base 500000 instead of 10000",
        ),
        (
            {"layout": "pairs", "theta": 10000, "from": "draft", "target": None},
            Verdict.UNKNOWN,
            "whether the target rotates in halves or in pairs is not known",
        ),
    ],
    ids=["alike", "other-layout", "other-base", "not-known"],
)
def test_an_mtp_layer_rotates_as_the_layers_of_its_target(
    answer: dict[str, Any], expected: Verdict, why: str
) -> None:
    assert verdict("rope", own(DEEPSEEK), Known(answer)) == (expected, why)


@pytest.mark.parametrize(("head", "expected"), [("target", Verdict.HONOURED), ("draft", Verdict.UNKNOWN)])
def test_the_head_of_a_model_that_drafts_for_itself_is_its_own(head: str, expected: Verdict) -> None:
    apart = drafter({**DEEPSEEK, "architectures": ["DeepSeekMTPModel"]})

    assert verdict("head-sharing", own(DEEPSEEK), Known(head))[0] is expected
    assert verdict("head-sharing", apart, Known(head))[0] is expected


@pytest.mark.parametrize("name", ["lm_head.weight", "model.layers.61.shared_head.head.weight"])
def test_mtp_layers_that_bring_a_head_of_their_own(name: str) -> None:
    apart = drafter({**DEEPSEEK, "architectures": ["DeepSeekMTPModel"]})
    headed = replace(apart, draft=replace(apart.draft, tensors={name: (129280, 7168)}))

    assert verdict("head-sharing", headed, Known("target"))[0] is Verdict.NOT_APPLICABLE
    itself = own(DEEPSEEK)
    with_head = replace(itself, draft=replace(itself.draft, tensors={name: (129280, 7168)}))
    assert verdict("head-sharing", with_head, Known("target"))[0] is Verdict.HONOURED
