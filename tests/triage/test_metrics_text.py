"""Prometheus text: counters summed over engines, scrapes subtracted."""

from collections.abc import Callable

import pytest

from investigator.triage import Symptom, metrics_text
from investigator.triage.symptom import InputKind

Read = Callable[[str], Symptom]


def scrape(drafts: int, accepted: int, first: int, second: int, engine: int = 0) -> str:
    return (
        "# TYPE vllm:spec_decode_num_drafts_total counter\n"
        f'vllm:spec_decode_num_drafts_total{{engine="{engine}",model_name="m"}} {drafts}.0\n'
        f'vllm:spec_decode_num_drafts_created{{engine="{engine}",model_name="m"}} 1.78e+09\n'
        f'vllm:spec_decode_num_draft_tokens_total{{engine="{engine}",model_name="m"}} {2 * drafts}.0\n'
        f'vllm:spec_decode_num_accepted_tokens_total{{engine="{engine}",model_name="m"}} {accepted}.0\n'
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="{engine}",position="0"}} {first}.0\n'
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="{engine}",position="1"}} {second}.0\n'
    )


def test_counters_are_exact(symptom_of: Read) -> None:
    best = symptom_of(scrape(1000, 900, 600, 300)).best
    assert best is not None
    assert best.kind is InputKind.VLLM_METRICS
    assert best.counters.exact
    assert best.length.value == pytest.approx(1.9)
    assert best.per_position == pytest.approx((0.6, 0.3))


def test_engines_are_pooled(symptom_of: Read) -> None:
    # One rank at 2.0 with 100 drafts, one at 1.0 with 300: pooled 1 + 100 ÷ 400.
    best = symptom_of(scrape(100, 100, 80, 20, engine=0) + scrape(300, 0, 0, 0, engine=1)).best
    assert best is not None
    assert best.length.arithmetic == "1 + 100 accepted ÷ 400 drafts = 1.25"


def test_two_scrapes_are_subtracted(symptom_of: Read) -> None:
    best = symptom_of(scrape(1000, 100, 90, 10) + scrape(3000, 2100, 1490, 610)).best
    assert best is not None
    assert best.length.arithmetic == "1 + 2000 accepted ÷ 2000 drafts = 2.00"
    assert best.per_position == pytest.approx((0.7, 0.3))
    assert "last scrape - first scrape" in best.length.given_as


def test_after_a_restart_only_the_last_scrape_counts(symptom_of: Read) -> None:
    best = symptom_of(scrape(5000, 4000, 3000, 1000) + scrape(200, 100, 80, 20)).best
    assert best is not None
    assert best.length.value == pytest.approx(1.5)
    assert "restart" in best.length.given_as


def test_exponents_and_names_without_total_are_read(symptom_of: Read) -> None:
    text = "vllm:spec_decode_num_drafts 1e+03\nvllm:spec_decode_num_accepted_tokens 5.0e+02\n"
    best = symptom_of(text).best
    assert best is not None
    assert best.length.value == pytest.approx(1.5)


def test_prefix_cache_counts_tokens(symptom_of: Read) -> None:
    text = (
        'vllm:prefix_cache_queries_total{engine="0"} 442227.0\nvllm:prefix_cache_hits_total{engine="0"} 0.0\n'
    )
    cache = symptom_of(text).prefix_cache
    assert cache is not None
    assert (cache.hits, cache.queries, cache.rate) == (0, 442227, 0.0)


def test_sglangs_gauge_says_that_it_is_one(symptom_of: Read) -> None:
    text = 'sglang:spec_accept_length{tp_rank="0"} 3.17\nsglang:spec_accept_rate{tp_rank="0"} 0.14\n'
    best = symptom_of(text).best
    assert best is not None
    assert best.kind is InputKind.SGLANG_METRICS
    assert best.length.value == 3.17
    assert "last interval" in best.length.given_as


def test_no_drafts_is_not_a_measurement(symptom_of: Read) -> None:
    symptom = symptom_of("vllm:spec_decode_num_drafts_total 0.0\n")
    assert symptom.best is None
    assert "nothing was drafted" in symptom.notes[0]


def test_a_rank_far_from_the_others_is_told_of(symptom_of: Read) -> None:
    apart = symptom_of(scrape(1000, 200, 150, 50, engine=0) + scrape(1000, 1800, 950, 850, engine=1)).best
    alike = symptom_of(scrape(1000, 1700, 900, 800, engine=0) + scrape(1000, 1800, 950, 850, engine=1)).best
    assert apart is not None
    assert alike is not None
    assert apart.apart == pytest.approx((1.2, 2.8))
    assert "AL 1.20 to 2.80" in apart.notes[0]
    assert alike.apart is None


def test_of_more_series_than_any_deployment_has_the_first_are_kept(
    symptom_of: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_text, "MAX_SERIES", 5)
    symptom = symptom_of(scrape(100, 100, 80, 20, engine=0) + scrape(300, 0, 0, 0, engine=1))

    assert symptom.best is not None
    assert symptom.best.length.arithmetic == "1 + 100 accepted ÷ 100 drafts = 2.00"
    assert "more than 5 metric series; the rest was left out" in symptom.notes
