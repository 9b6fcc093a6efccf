"""``feature-width``: two taps of a target 32 wide make 64 numbers for the drafter's projection."""

import pytest

from investigator.contracts.feature_width import CONTRACT
from investigator.model import Known, NotKnown, Runner, Verdict
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import checkpoint


@pytest.mark.parametrize(
    ("shapes", "verdict", "why"),
    [
        ({}, Verdict.HONOURED, "the engine's projection expects 64 and is given 64"),
        (
            {"width": "one-more"},
            Verdict.BROKEN,
            "the engine's projection expects 96 and is given 64",
        ),
        # The target gives one stream where two are asked for.
        ({"interface": "none"}, Verdict.BROKEN, "the engine's projection expects 64 and is given 0"),
    ],
    ids=["taps", "one-more", "no-streams"],
)
def test_what_the_projection_expects_and_gets(shapes: dict[str, str], verdict: Verdict, why: str) -> None:
    found = mini.finding("feature-width", Runner.V1, **shapes)

    assert (found.verdict, found.why) == (verdict, why)


def test_a_drafter_narrower_than_its_target() -> None:
    """Its own hidden size is 16: a projection that is made by that is too narrow."""
    narrow = checkpoint(hidden_size=16)

    assert mini.finding("feature-width", Runner.V1, narrow, width="taps").verdict is Verdict.HONOURED
    found = mini.finding("feature-width", Runner.V1, narrow, width="own")
    assert (found.verdict, found.why) == (
        Verdict.BROKEN,
        "the engine's projection expects 32 and is given 64",
    )


def test_the_weights_say_it_best() -> None:
    """The weight of ``fc`` is 96 wide, whatever the configs come to."""
    wide = mini.with_weights(checkpoint(), fc__weight=(32, 96))
    assert CONTRACT.ask_checkpoint is not None

    assert CONTRACT.ask_checkpoint(wide)[0] == Known(96)
    assert mini.finding("feature-width", Runner.V1, wide).verdict is Verdict.BROKEN
    assert mini.finding("feature-width", Runner.V1, wide, width="one-more").verdict is Verdict.BROKEN


def test_without_ids_or_target_the_checkpoint_does_not_know() -> None:
    assert CONTRACT.ask_checkpoint is not None
    outcome, _ = CONTRACT.ask_checkpoint(checkpoint(dflash_config={"mask_token_id": 9}))

    assert isinstance(outcome, NotKnown)


def test_streams_that_cannot_be_followed_leave_it_open() -> None:
    found = mini.finding("feature-width", Runner.V1, shift="by-the-clock")

    assert found.verdict is Verdict.UNKNOWN
    assert found.why.startswith("how many streams are captured: ")


def test_a_runner_that_does_not_take_the_method() -> None:
    found = mini.finding("feature-width", Runner.V2, check="second-lacks-method")

    assert found.verdict is Verdict.UNSUPPORTED
