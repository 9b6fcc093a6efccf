"""vLLM's log lines, in the forms that releases have printed them."""

from collections.abc import Callable

import pytest

from investigator.triage import Symptom
from investigator.triage.symptom import InputKind

Read = Callable[[str], Symptom]

NOW = (
    "(APIServer pid=1) INFO 05-07 04:56:17 [metrics.py:101] SpecDecoding metrics: Mean acceptance "
    "length: 2.63, "
    "Accepted throughput: 76.80 tokens/s, Drafted throughput: 235.49 tokens/s, Accepted: 768 tokens, "
    "Drafted: 2355 tokens, Per-position acceptance rate: 0.726, 0.467, 0.240, 0.134, 0.064, "
    "Avg Draft acceptance rate: 32.6%"
)
BEFORE = (
    "INFO 03-02 [metrics.py:53] SpecDecoding metrics: Draft acceptance rate: 32.6%, Mean acceptance "
    "length: 2.63, "
    "Accepted: 768 tokens, Drafted: 2355 tokens, Per-position acceptance rate: 0.726, 0.467, 0.240, "
    "0.134, 0.064"
)
FIRST = (
    "INFO 01-02 SpecDecoding metrics: Draft acceptance rate: 25.0%, Accepted: 750 tokens, Drafted: "
    "3000 tokens"
)


@pytest.mark.parametrize("line", [NOW, BEFORE], ids=["0.20 to 0.33", "before 0.11"])
def test_a_line_gives_counts_length_and_positions(symptom_of: Read, line: str) -> None:
    best = symptom_of(line).best
    assert best is not None
    assert best.kind is InputKind.VLLM_LOG
    assert best.counters.drafts == 471
    assert best.length.arithmetic == "1 + 768 accepted ÷ 471 drafts = 2.63"
    assert best.per_position == pytest.approx((0.726, 0.467, 0.240, 0.134, 0.064))


def test_the_first_form_needs_the_draft_tokens(symptom_of: Read) -> None:
    alone = symptom_of(FIRST)
    assert alone.best is None
    assert "number of drafts" in alone.notes[0]
    best = symptom_of(f"vllm serve T --spec-tokens 15\n{FIRST}").best
    assert best is not None
    assert best.length.value == pytest.approx(1 + 0.25 * 15)


def test_intervals_are_pooled_by_drafts_not_averaged(symptom_of: Read) -> None:
    def line(length: str, accepted: int, drafted: int, rate: str) -> str:
        return (
            f"SpecDecoding metrics: Mean acceptance length: {length}, Accepted: {accepted} tokens, "
            f"Drafted: {drafted} tokens, Per-position acceptance rate: {rate}"
        )

    # 100 drafts at 1.20 and 900 at 1.60: pooled 1 + 560 ÷ 1000, where the plain mean would be 1.40.
    best = symptom_of(line("1.20", 20, 100, "0.200") + "\n" + line("1.60", 540, 900, "0.600")).best
    assert best is not None
    assert best.length.value == pytest.approx(1.56)
    assert best.per_position == pytest.approx((0.56,))
    assert best.others[-1].value == pytest.approx(1.40)
    assert best.pooled == 2
    assert (best.first_line, best.last_line) == (1, 2)


def test_two_deployments_in_one_log_are_not_taken_for_one(symptom_of: Read) -> None:
    bad = "SpecDecoding metrics: Mean acceptance length: 1.20, Accepted: 100 tokens, Drafted: 1000 tokens, "
    good = "SpecDecoding metrics: Mean acceptance length: 2.00, Accepted: 500 tokens, Drafted: 1000 tokens, "
    rate = "Per-position acceptance rate: {}, {}"
    both = symptom_of(f"{bad}{rate.format(0.2, 0.0)}\n{good}{rate.format(0.7, 0.3)}").best
    alike = symptom_of(f"{bad}{rate.format(0.2, 0.0)}\n{bad}{rate.format(0.2, 0.0)}").best
    assert both is not None
    assert alike is not None
    assert "AL 1.20 to 2.00" in both.notes[0]
    assert alike.notes == ()


@pytest.mark.parametrize(
    "prefix",
    [
        "Nov 30 12:00:00 gpu01 vllm[123]: \x1b[0;36m(APIServer pid=123)\x1b[0;0m ",
        "2026-11-30T12:00:01.123456789Z stderr F ",
        '{"log":"',
        "vllm-7d9f-x2x vllm ",
        "> ",
        "2026-11-30 12:00:00,123 - worker-1 - ",
    ],
    ids=[
        "journal, coloured",
        "kubernetes",
        "docker",
        "several pods",
        "a quoted mail",
        "a logger of one's own",
    ],
)
def test_what_stands_before_a_line_does_not_matter(symptom_of: Read, prefix: str) -> None:
    best = symptom_of(f'{prefix}{NOW}\\n"}}\r\n' if "{" in prefix else f"{prefix}{NOW}\r\n").best
    assert best is not None
    assert best.counters.drafts == 471
    assert len(best.per_position) == 5


def test_short_drafts_are_noticed(symptom_of: Read) -> None:
    best = symptom_of(
        "SpecDecoding metrics: Mean acceptance length: 1.50, Accepted: 200 tokens, Drafted: 900 tokens, "
        "Per-position acceptance rate: 0.400, 0.100, 0.000, 0.000, 0.000"
    ).best
    assert best is not None
    assert best.counters.drafts == 400
    assert best.length.low < 1.5 < best.length.high
    assert any("shorter" in note for note in best.notes)


def test_a_list_that_was_cut_off_is_left_out(symptom_of: Read) -> None:
    best = symptom_of(NOW.split(", 0.240")[0]).best
    assert best is not None
    assert best.per_position == ()
    assert best.length.value == pytest.approx(2.63, abs=0.01)


@pytest.mark.parametrize(
    "line",
    [
        "SpecDecoding metrics: Mean acceptance length: nan, Accepted: 0 tokens, Drafted: 0 tokens",
        "SpecDecoding metrics: Mean acceptance length: 1.5, Accepted: 9 tokens, Drafted: 3 tokens",
        "SpecDecoding metrics: Mean accept",
        "DiffusionDecoding metrics: Committed: 5 tokens, Denoising steps: 3, Canvas positions evaluated: 9",
    ],
)
def test_lines_without_usable_figures_measure_nothing(symptom_of: Read, line: str) -> None:
    symptom = symptom_of(line)
    assert symptom.best is None
    assert symptom.notes


def test_two_deployments_in_one_log_are_said_to_be_two(symptom_of: Read) -> None:
    other = (
        "SpecDecoding metrics: Mean acceptance length: 1.50, Accepted: 50 tokens, Drafted: 200 tokens, "
        "Per-position acceptance rate: 0.400, 0.100"
    )
    best = symptom_of(f"{NOW}\n{other}").best
    assert best is not None
    assert any("more than one deployment" in note for note in best.notes)


def test_context_length_comes_from_cache_use(symptom_of: Read) -> None:
    # 10 % of 100,000 tokens over 2 requests: 5,000 tokens each.
    text = (
        "INFO [kv_cache_utils.py:1708] GPU KV cache size: 100,000 tokens\n"
        "INFO Engine 000: Running: 2 reqs, Waiting: 0 reqs, GPU KV cache usage: 10.0%, Prefix cache hit "
        "rate: 12.5%\n"
    )
    symptom = symptom_of(text + NOW)
    assert [round(point.context_tokens) for point in symptom.by_context] == [5000]
    assert symptom.prefix_cache is not None
    assert symptom.prefix_cache.rate == 0.125
