"""Inputs with known answers: length, shape, suspects, confounders, and who it is."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from investigator.triage import Answer, Triage, judge, load_figures, read_symptom
from investigator.triage.shape import Shape

Judged = Callable[[str], Triage]
Changed = Callable[[str, Mapping[str, str]], Triage]


@dataclass(frozen=True)
class Known:
    """What a person says about one input. ``suspects``: those that must be strong."""

    file: str
    length: float | None
    shape: Shape
    answer: Answer
    suspects: frozenset[str] = frozenset()
    confounders: frozenset[str] = frozenset()


KNOWN = (
    Known(
        "seed.log",
        1.18,
        Shape.NEAR_RANDOM,
        Answer.ENGINE,
        frozenset({"layer-types", "kv-retention", "silent-default"}),
    ),
    Known("healthy-bench.json.log", 6.10, Shape.HEALTHY, Answer.NO_FAULT),
    Known("decays-early-metrics.txt", 1.80, Shape.DECAYS_EARLY, Answer.EITHER),
    Known(
        "long-contexts-sglang.log",
        3.733,
        Shape.LONG_CONTEXTS,
        Answer.ENGINE,
        frozenset({"layer-types", "kv-retention"}),
    ),
    Known("cut-off-bench.txt", 3.310, Shape.CUT_OFF, Answer.ENGINE, frozenset({"lookahead"})),
    Known("no-prefix-hits-metrics.txt", 6.10, Shape.HEALTHY, Answer.NOT_DRAFTER, frozenset({"cache-drop"})),
    Known("few-drafts.log", 2.80, Shape.CANNOT_TELL, Answer.UNKNOWN, confounders=frozenset({"few drafts"})),
    Known(
        "random-prompts-bench.txt",
        2.35,
        Shape.CANNOT_TELL,
        Answer.UNKNOWN,
        confounders=frozenset({"random prompts"}),
    ),
    Known(
        "thinking-chinese.log",
        3.30,
        Shape.EVENLY_LOW,
        Answer.NO_FAULT,
        confounders=frozenset({"thinking mode", "language"}),
    ),
    Known("command-only.sh", None, Shape.CANNOT_TELL, Answer.UNKNOWN),
    Known(
        "limited-tokens.log",
        3.21,
        Shape.HEALTHY,
        Answer.NO_FAULT,
        confounders=frozenset({"limited draft tokens"}),
    ),
    Known(
        "nothing-accepted.log",
        1.0,
        Shape.NOTHING,
        Answer.ENGINE,
        frozenset({"vocab-mapping", "head-sharing"}),
    ),
)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.file)
def test_known_answers(judged: Judged, known: Known) -> None:
    triage = judged(known.file)
    best = triage.symptom.best
    assert (best and best.length.value) == (known.length and pytest.approx(known.length, abs=0.002))
    assert triage.shape is known.shape
    assert triage.answer is known.answer
    strong = {suspect.contract for suspect in triage.suspects if suspect.strength.value == "strong"}
    assert strong == known.suspects
    assert {one.name for one in triage.confounders} == known.confounders


def test_the_seed_case_in_full(judged: Judged) -> None:
    triage = judged("seed.log")
    best = triage.symptom.best
    assert best is not None
    assert best.length.arithmetic == "1 + 198 accepted ÷ 1100 drafts = 1.18"
    assert best.per_position[:4] == pytest.approx((0.16, 0.02, 0, 0))
    assert triage.expected == (3.70, 7.76)
    # 0.18 accepted tokens where 4.47 were published on short prompts: 4 %.
    short = next(one for one in triage.comparisons if "short" in one.figure.setting)
    assert short.kept == pytest.approx((0.18 / 4.47, 0.18 / 4.47))
    assert (short.figure.harness, short.figure.source, short.figure.date) == (
        "llama.cpp fork, Q4_K_M target, window 2048",
        "Luce-Org/lucebox#129",
        "2026-05-08",
    )
    off = {one.name: one.gap for one in triage.distances}
    assert off["layer-types"] == 0  # what ignored windows are known to give
    assert off["everything right"] == pytest.approx(1.18 - 3.70)
    wrong_drafter = 1 + 2.76 / 4.12 * 2.70
    assert off["the drafter of the previous target generation on this target"] == pytest.approx(
        1.18 - wrong_drafter
    )
    assert triage.for_engine
    assert triage.for_drafter


def test_decay_without_a_pair_names_no_guilty_side_but_suspects(judged: Judged) -> None:
    triage = judged("decays-early-metrics.txt")
    assert triage.expected is None
    assert triage.distances == ()
    assert {"in-block-causality", "target-layer-offset", "rope"} <= {s.contract for s in triage.suspects}
    assert any("reference code" in step for step in triage.next_steps)
    assert any("command line" in step for step in triage.next_steps)


def test_prefix_hits_are_a_second_shape_of_a_healthy_drafter(judged: Judged) -> None:
    triage = judged("no-prefix-hits-metrics.txt")
    assert [reading.shape for reading in triage.shapes] == [Shape.HEALTHY, Shape.NO_PREFIX_HITS]
    assert "442,227" in triage.shapes[1].why


PAIR = (
    'vllm serve Qwen/Qwen3-8B --speculative-config \'{"method": "dflash", "model": '
    '"z-lab/Qwen3-8B-DFlash-b16", '
    '"num_speculative_tokens": 15}\'\n'
)


def metrics(drafts: int, accepted: int) -> str:
    return (
        f"vllm:spec_decode_num_drafts_total {drafts}\nvllm:spec_decode_num_draft_tokens_total {15 * drafts}\n"
        f"vllm:spec_decode_num_accepted_tokens_total {accepted}\n"
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="0"}} {round(0.45 * accepted)}\n'
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="1"}} {round(0.30 * accepted)}\n'
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="2"}} {round(0.25 * accepted)}\n'
    )


@pytest.mark.parametrize(
    ("accepted", "answer"),
    [
        # Published for this pair: from 4.11. Thinking and language together would leave 1.56.
        (4_000, Answer.ENGINE),  # AL 1.40
        (9_000, Answer.ENGINE),  # AL 1.90: more than one confounder takes (2.30)
        (19_000, Answer.EITHER),  # AL 2.90
    ],
)
def test_the_distance_decides(accepted: int, answer: Answer) -> None:
    text = PAIR + metrics(10_000, accepted)
    assert judge(read_symptom(io.BytesIO(text.encode())), load_figures()).answer is answer


def test_a_known_block_size_shows_limited_drafts() -> None:
    text = "vllm serve T --spec-method dflash --spec-model some/drafter --spec-tokens 7\n" + metrics(
        10_000, 20_000
    )
    symptom = read_symptom(io.BytesIO(text.replace("150000", "70000").encode()))
    assert not judge(symptom, load_figures()).confounders
    named = judge(symptom, load_figures(), block_size=16).confounders
    assert [one.name for one in named] == ["limited draft tokens"]


def test_nothing_understood_is_said_plainly() -> None:
    triage = judge(read_symptom(io.BytesIO(b"hello\n")), load_figures())
    assert triage.answer is Answer.UNKNOWN
    assert triage.headline == "Nothing in the input is a format that this program reads."
    assert not triage.symptom.recognised


def test_hits_alone_do_not_judge_acceptance() -> None:
    text = "vllm:prefix_cache_queries_total 442227\nvllm:prefix_cache_hits_total 0\n"
    triage = judge(read_symptom(io.BytesIO(text.encode())), load_figures())
    assert triage.answer is Answer.NOT_DRAFTER
    assert triage.shape is Shape.CANNOT_TELL


def test_a_broken_rank_does_not_hide_behind_a_sound_one() -> None:
    line = "[2026-06-02 10:00:01 DP{} TP0] Decode batch, #running-req: 4, #token: 400, accept len: {}, "
    both = read_symptom(io.BytesIO(f"{line.format(0, '1.20')}\n{line.format(1, '5.20')}\n".encode()))
    sound = read_symptom(io.BytesIO(f"{line.format(0, '4.80')}\n{line.format(1, '5.20')}\n".encode()))

    hidden = judge(both, load_figures())

    assert hidden.answer is Answer.EITHER
    assert "from 1.20 to 5.20" in hidden.headline
    assert judge(sound, load_figures()).answer is Answer.NO_FAULT


def test_mtp_layers_are_not_held_against_figures_of_block_drafters() -> None:
    text = (
        """vllm serve some/model --speculative-config '{"method":"mtp","num_speculative_tokens":3}'\n"""
        "INFO 11-30 10:10:00 [metrics.py:100] SpecDecoding metrics: Mean acceptance length: 1.75, Accepted"
        " throughput: 20.00 tokens/s, Drafted throughput: 80.00 tokens/s, Accepted: 600 tokens, Drafted: 2400"
        " tokens, Per-position acceptance rate: 0.500, 0.200, 0.050, Avg Draft acceptance rate: 25.0%\n"
    )
    found = judge(read_symptom(io.BytesIO(text.encode())), load_figures())

    assert (found.answer, found.suspects, found.expected) == (Answer.UNKNOWN, (), None)
    assert found.headline == "AL 1.75 of at most 4, and no figures of MTP layers are known here."


def test_drafts_shorter_than_the_positions_counted_excuse_where_acceptance_stops(changed: Changed) -> None:
    """40,000 tokens in 5,000 drafts are 8 a draft, of 15: most drafts never reached the later positions."""
    triage = changed("cut-off-bench.txt", {"75000": "40000"})

    assert (triage.shape, triage.answer) == (Shape.CUT_OFF, Answer.EITHER)
    assert triage.headline.startswith("Drafts were shorter than the positions counted")


def test_a_pair_that_nobody_measured_may_be_made_for_short_contexts(changed: Changed) -> None:
    unknown = {"z-lab/Qwen3.6-27B-DFlash": "me/drafter", "Qwen/Qwen3.6-27B": "me/target"}
    triage = changed("long-contexts-sglang.log", unknown)

    assert (triage.shape, triage.answer) == (Shape.LONG_CONTEXTS, Answer.EITHER)
    assert "so does a drafter that was trained on short contexts only" in triage.headline


def test_few_drafts_leave_the_published_range_possible() -> None:
    """AL 3.64 of 100 drafts: 3.64 + 1.96 standard errors reaches the 4.11 that was published."""
    rates = (0.7, 0.53, 0.39, 0.29, 0.21, 0.15, 0.11, 0.08, 0.06, 0.04, 0.03, 0.02, 0.01, 0.01, 0.01)
    log = (
        "vllm serve Qwen/Qwen3-8B --spec-method dflash --spec-model z-lab/Qwen3-8B-DFlash-b16 "
        "--spec-tokens 15\nINFO SpecDecoding metrics: Mean acceptance length: 3.64, Accepted: 264 tokens, "
        f"Drafted: 1500 tokens, Per-position acceptance rate: {', '.join(f'{rate:.3f}' for rate in rates)}\n"
    )
    triage = judge(read_symptom(io.BytesIO(log.encode())), load_figures())

    assert (triage.shape, triage.answer) == (Shape.EVENLY_LOW, Answer.EITHER)
    assert triage.headline == (
        "AL 3.64 is below the published 4.11 to 7.87, but so few drafts leave the published range possible."
    )
