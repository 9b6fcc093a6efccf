"""Symbols for the residual stream: when a tensor is a hidden state, and when it is only a half of one."""

import pytest

from investigator.engines.sglang.states import LastNorm, Share, Stream

DELTA, BASE = Stream(3, Share.DELTA), Stream(3, Share.BASE)


def test_two_halves_come_to_the_stream() -> None:
    assert DELTA.binary("+", BASE, reflected=False) == Stream(3)


@pytest.mark.parametrize(
    ("handed", "adds"),
    [((DELTA, BASE), True), ((Stream(3),), False), ((Stream(3, Share.OUTPUT), None), False)],
    ids=["two halves", "the stream", "the stream and nothing"],
)
def test_the_last_norm_tells_whether_layers_hand_on_halves(
    handed: tuple[Stream | None, ...], adds: bool
) -> None:
    norm = LastNorm()
    norm.call(handed, {})

    assert norm.adds is adds


def test_a_fused_form_of_the_last_norm_tells_it_too() -> None:
    norm = LastNorm()
    fused = norm.attribute("forward_native")
    fused.call((DELTA, BASE), {})

    assert norm.adds
