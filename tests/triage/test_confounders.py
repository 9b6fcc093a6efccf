"""Confounders: each is named where the input shows it, and nowhere else."""

from collections.abc import Callable

import pytest

from investigator.triage import Symptom, load_figures
from investigator.triage.confounders import Confounder, find_confounders, interval

Read = Callable[[str], Symptom]

COUNTED = "vllm:spec_decode_num_drafts_total 1000\nvllm:spec_decode_num_accepted_tokens_total 2000\n"


def named(symptom: Symptom) -> dict[str, Confounder]:
    return {one.name: one for one in find_confounders(symptom, load_figures(), None)}


def test_plain_counters_show_none(symptom_of: Read) -> None:
    assert named(symptom_of(COUNTED)) == {}


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        (COUNTED + '{"chat_template_kwargs": {"enable_thinking": true}}', "thinking mode", 3),
        (COUNTED + "<think>\nHmm", "thinking mode", 3),
        ("vllm serve T --reasoning-parser qwen3\n" + COUNTED, "thinking mode", 1),
        ("vllm bench serve --dataset-name random\n" + COUNTED, "random prompts", 1),
        ("vllm bench serve --temperature 0.7\n" + COUNTED, "sampling", 1),
        ("Acceptance rate (%):  25.00\nvllm serve T --spec-tokens 15", "ratio against length", 1),
        ("Average Acceptance length: 6.55", "mean of requests", 1),
        ('sglang:spec_accept_length{tp_rank="0"} 3.17', "a gauge of one moment", 1),
        (
            "python -m sglang.launch_server --speculative-dflash-draft-window-size 512\naccept len: 3.00",
            "draft window",
            1,
        ),
    ],
)
def test_each_is_named_where_it_shows(symptom_of: Read, text: str, name: str, line: int) -> None:
    assert named(symptom_of(text))[name].line == line


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve T --reasoning-parser qwen3\nenable_thinking=False\n" + COUNTED,
        "vllm bench serve --temperature 0\n" + COUNTED,
        "vllm bench serve --dataset-name sharegpt\n" + COUNTED,
    ],
    ids=["thinking off", "greedy", "real prompts"],
)
def test_the_contrary_shows_none(symptom_of: Read, text: str) -> None:
    assert named(symptom_of(text)) == {}


def test_measured_confounders_carry_their_size_and_source(symptom_of: Read) -> None:
    thinking = named(symptom_of(COUNTED + "enable_thinking=true"))["thinking mode"]
    assert thinking.kept == pytest.approx(25 / 60)
    assert thinking.source.startswith("z-lab/dflash#133")


def test_drafts_shorter_than_configured_are_limited_in_effect(symptom_of: Read) -> None:
    text = COUNTED + "vllm:spec_decode_num_draft_tokens_total 6000\nvllm serve T --spec-tokens 15"
    assert "6.0 tokens a draft" in named(symptom_of(text))["limited draft tokens"].seen


def test_nothing_accepted_has_an_upper_end_by_the_rule_of_three(symptom_of: Read) -> None:
    best = symptom_of(
        "vllm:spec_decode_num_drafts_total 300\nvllm:spec_decode_num_accepted_tokens_total 0"
    ).best
    assert best is not None
    assert interval(best, ()) == (1.0, pytest.approx(1.01))


def test_the_interval_uses_the_rates(symptom_of: Read) -> None:
    best = symptom_of(
        "vllm:spec_decode_num_drafts_total 100\nvllm:spec_decode_num_accepted_tokens_total 50"
    ).best
    assert best is not None
    # One position at 50 %: standard error 0.05. Without rates a geometric count: √(0.5 · 1.5 ÷ 100).
    assert interval(best, (0.5,)) == (pytest.approx(1.402), pytest.approx(1.598))
    assert interval(best, ())[1] == pytest.approx(1.5 + 1.96 * 0.0866, abs=1e-3)
