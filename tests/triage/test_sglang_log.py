"""SGLang's decode and prefill lines."""

from collections.abc import Callable

import pytest

from investigator.triage import Symptom
from investigator.triage.symptom import InputKind

Read = Callable[[str], Symptom]

DECODE = (
    "[2026-06-02 10:00:05] Decode batch, #running-req: {running}, #token: {tokens}, token usage: 0.03, "
    "accept len: {length}, accept rate: {rate}, cuda graph: True, gen throughput (token/s): 310.11, "
    "#queue-req: 0\n"
)


def test_intervals_weigh_by_running_requests(symptom_of: Read) -> None:
    # 1 request at 5.00 and 3 at 3.00: (5 + 9) ÷ 4.
    text = DECODE.format(running=1, tokens=800, length="5.00", rate="0.27")
    text += DECODE.format(running=3, tokens=2400, length="3.00", rate="0.13")
    best = symptom_of(text).best
    assert best is not None
    assert best.kind is InputKind.SGLANG_LOG
    assert best.length.value == pytest.approx(3.5)
    assert best.counters.drafts == 160  # 4 request-lines of 40 steps
    assert best.others[-1].value == pytest.approx(4.0)


def test_the_draft_tokens_follow_from_length_and_rate(symptom_of: Read) -> None:
    best = symptom_of(DECODE.format(running=1, tokens=800, length="4.00", rate="0.20")).best
    assert best is not None
    ratio = next(other for other in best.others if other.name.startswith("ratio over the whole block ("))
    assert ratio.formula == "(AL - 1) ÷ 15 draft tokens"


def test_an_uncapped_block_length_is_not_the_accept_length(symptom_of: Read) -> None:
    best = symptom_of(
        "Decode batch, #running-req: 1, accept len: 2.50, block accept len: 7.00, #queue-req: 0"
    ).best
    assert best is not None
    assert best.length.value == 2.5


def test_prefill_lines_give_the_prefix_cache(symptom_of: Read) -> None:
    text = "Prefill batch, #new-seq: 1, #new-token: 600, #cached-token: 200, token usage: 0.00\n"
    cache = symptom_of(text * 2).prefix_cache
    assert cache is not None
    assert (cache.hits, cache.queries, cache.rate) == (400, 1600, 0.25)


def test_context_is_tokens_by_request(symptom_of: Read) -> None:
    symptom = symptom_of(DECODE.format(running=4, tokens=8000, length="3.00", rate="0.13"))
    assert [point.context_tokens for point in symptom.by_context] == [2000]
