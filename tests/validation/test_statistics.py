"""Synthetic counters whose truth is known: do the intervals hold it, and is nothing seen in nothing?"""

import random

import pytest

from investigator.validation.results import Count
from investigator.validation.statistics import (
    Estimate,
    Sample,
    expanded_tail,
    student_quantile,
)


def count(drafts: int, accepted: int, per_position: tuple[int, ...] = ()) -> Count:
    return Count(drafts=drafts, draft_tokens=7 * drafts, accepted=accepted, per_position=per_position)


def draw(source: random.Random, prompts: int, rate: float, spread: float) -> dict[int, Count]:
    """Prompts with 20 drafts of 3 tokens each; a prompt's own rate lies within ``spread`` of ``rate``.

    The true acceptance length is 1 + 3 x ``rate``.
    """
    rows = {}
    for prompt in range(prompts):
        own = rate + source.uniform(-spread, spread)
        rows[prompt] = count(20, sum(source.random() < own for _ in range(60)))
    return rows


def test_acceptance_length_is_one_plus_accepted_over_drafts_pooled_over_prompts() -> None:
    # 10 + 2 accepted in 4 + 8 drafts: 1 + 12 / 12. The mean of the prompts' own lengths would be 2.375.
    sample = Sample({"a": {0: count(4, 10), 1: count(8, 2)}}, draws=10)
    assert sample.acceptance_length("a").value == 2.0


def test_per_position_rates_are_shares_of_drafts() -> None:
    rows = {0: count(10, 9, (6, 3)), 1: count(10, 3, (2, 1))}
    assert [e.value for e in Sample({"a": rows}, draws=10).per_position("a")] == [0.4, 0.2]


def test_one_prompt_gives_a_value_and_no_interval() -> None:
    assert Sample({"a": {0: count(4, 10)}}).acceptance_length("a") == Estimate(3.5)


@pytest.mark.parametrize("prompts", [8, 16, 48])
def test_intervals_hold_the_truth_about_as_often_as_they_say(prompts: int) -> None:
    source = random.Random(prompts)
    held = 0
    trials = 250
    for trial in range(trials):
        rows = draw(source, prompts, rate=0.5, spread=0.25)
        found = Sample({"a": rows}, seed=trial, draws=300).acceptance_length("a")
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 2.5 <= found.high
    # 95 % of 250 is 237.5; three standard deviations of that count are 10.3.
    assert 0.95 * trials - 11 <= held


def test_intervals_are_not_wide_beyond_need() -> None:
    # 60 coins a prompt plus the prompts' spread: the standard error of AL over 48 prompts is about
    # 3 * sqrt((0.25 / 60 + 0.25**2 / 3) / 48) = 0.069, so an interval is about 0.27 wide.
    rows = draw(random.Random(1), 48, rate=0.5, spread=0.25)
    found = Sample({"a": rows}, draws=1000).acceptance_length("a")
    assert found.low is not None
    assert found.high is not None
    assert 0.18 < found.high - found.low < 0.36


def test_no_effect_is_seen_where_there_is_none() -> None:
    source = random.Random(3)
    trials = 250
    seen = 0
    for trial in range(trials):
        base = draw(source, 24, rate=0.5, spread=0.25)
        other = draw(source, 24, rate=0.5, spread=0.25)
        seen += Sample({"a": base, "b": other}, seed=trial, draws=300).difference("b", "a").decided != "none"
    # 5 % of 250 is 12.5; three standard deviations are 10.3.
    assert seen <= 23


def test_pairing_by_prompt_finds_a_small_effect_that_unpaired_prompts_hide() -> None:
    source = random.Random(4)
    hard = [source.randint(0, 60) for _ in range(32)]
    base = {p: count(20, n) for p, n in enumerate(hard)}
    better = {p: count(20, n + source.randint(1, 5)) for p, n in enumerate(hard)}
    sample = Sample({"base": base, "better": better}, draws=500)
    effect = sample.difference("better", "base")
    assert effect.decided == "gain"
    one, other = sample.acceptance_length("base"), sample.acceptance_length("better")
    assert one.high is not None
    assert other.low is not None
    assert other.low < one.high


def test_identical_counters_differ_by_exactly_nothing() -> None:
    rows = draw(random.Random(5), 16, rate=0.3, spread=0.2)
    sample = Sample({"a": rows, "b": dict(rows)}, draws=200)
    assert sample.difference("b", "a") == Estimate(0.0, 0.0, 0.0)
    assert sample.proportion("b", "a") == Estimate(1.0, 1.0, 1.0)


def test_prompts_that_a_variant_lacks_are_left_out_of_all() -> None:
    sample = Sample({"a": {0: count(1, 1), 1: count(1, 3)}, "b": {1: count(1, 2), 2: count(1, 9)}}, draws=10)
    assert sample.prompts == (1,)
    assert sample.difference("b", "a").value == -1.0


def test_the_same_seed_gives_the_same_interval() -> None:
    rows = draw(random.Random(6), 16, rate=0.3, spread=0.2)
    assert Sample({"a": rows}, seed=1).acceptance_length("a") == Sample(
        {"a": rows}, seed=1
    ).acceptance_length("a")
    assert Sample({"a": rows}, seed=1).acceptance_length("a") != Sample(
        {"a": rows}, seed=2
    ).acceptance_length("a")


@pytest.mark.parametrize(("freedom", "quantile"), [(7, 2.365), (15, 2.131), (47, 2.012)])
def test_student_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(quantile, rel=2e-3)


def test_few_prompts_leave_out_less_at_each_end() -> None:
    # With many prompts 2.5 % at each end; with 8, P(Z < -2.365 * sqrt(8 / 7)) = 0.57 %.
    assert expanded_tail(10_000, 0.95) == pytest.approx(0.025, abs=1e-4)
    assert expanded_tail(8, 0.95) == pytest.approx(0.0057, abs=2e-4)
