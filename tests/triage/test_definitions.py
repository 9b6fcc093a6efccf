"""The arithmetic of acceptance length, against sums done by hand."""

import pytest

from investigator.triage.definitions import (
    capped,
    constant_rate,
    drafts_of_interval,
    from_counts,
    from_length,
    from_ratio,
    geometric,
    other_definitions,
    standard_error,
)
from investigator.triage.symptom import Counters


def test_length_from_counts_shows_its_sum() -> None:
    length = from_counts(500, 90, "somebody's name for it")
    assert length.value == pytest.approx(1.18)
    assert length.arithmetic == "1 + 90 accepted ÷ 500 drafts = 1.18"
    assert (length.low, length.high) == (length.value, length.value)


def test_a_printed_length_is_known_to_half_a_hundredth() -> None:
    length = from_length(2.63, "printed")
    assert (length.low, length.high) == (pytest.approx(2.625), pytest.approx(2.635))


def test_a_ratio_becomes_a_length_only_with_the_draft_tokens() -> None:
    # 25 % of 15 draft tokens accepted: 3.75 tokens, and the bonus token.
    assert from_ratio(0.25, 15, "ratio").value == pytest.approx(4.75)
    assert from_ratio(0.25, 3, "ratio").value == pytest.approx(1.75)


@pytest.mark.parametrize(
    ("accepted", "drafted", "length", "positions", "drafts"),
    [
        (90, 7500, 1.18, 15, 500),  # full drafts: 7500 ÷ 15
        (768, 2355, 2.63, 5, 471),  # 2355 ÷ 5, and 1 + 768 ÷ 471 = 2.63
        (49, 2160, 1.34, 15, 144),  # 2160 ÷ 15
        (200, 900, 1.5, 15, 400),  # 60 full drafts would give 4.33, so drafts were shorter: 200 ÷ 0.5
        (0, 3000, 1.0, 15, 200),
    ],
)
def test_drafts_are_worked_back(
    accepted: int, drafted: int, length: float, positions: int, drafts: int
) -> None:
    found = drafts_of_interval(accepted, drafted, length, positions)
    assert found is not None
    assert found[0] == drafts


def test_without_length_and_positions_drafts_stay_unknown() -> None:
    assert drafts_of_interval(123, 200, None, 0) is None


def test_every_other_definition_has_its_name_and_formula() -> None:
    length = from_counts(500, 90, "")
    counters = Counters(drafts=500, draft_tokens=7500, accepted_tokens=90)
    named = {other.name.split(" (")[0]: other.value for other in other_definitions(length, counters, 15, 1.2)}
    assert named == pytest.approx(
        {
            "accepted tokens a draft, without the bonus token": 0.18,
            "ratio over the whole block": 1.2,  # 90 ÷ 7500
            "ratio over the block with the bonus token": 7.375,  # 1.18 ÷ 16
            "plain mean": 1.2,
        }
    )


def test_standard_error_is_that_of_the_counts() -> None:
    # One position accepted half the time: variance 1/4, over 100 drafts 0.05.
    assert standard_error([0.5], 100) == pytest.approx(0.05)
    # Both or nothing, half the time: 2 or 0, variance 1.
    assert standard_error([0.5, 0.5], 100) == pytest.approx(0.1)
    assert standard_error([], 100) is None


def test_fewer_draft_tokens_bring_a_published_length_down() -> None:
    assert geometric(0.5, 2) == 1.75
    assert constant_rate(1.75, 2) == pytest.approx(0.5, abs=1e-5)
    assert capped(1.75, 2, 1) == pytest.approx(1.5, abs=1e-4)
    assert capped(1.75, 2, 7) == 1.75
