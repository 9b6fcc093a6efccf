"""Benchmark tables, benchmark JSON and per-request JSON."""

import json
from collections.abc import Callable

import pytest

from investigator.triage import Symptom
from investigator.triage.symptom import InputKind

Read = Callable[[str], Symptom]

RESULT = {
    "model_id": "Qwen/Qwen3-8B",
    "completed": 10,
    "total_input_tokens": 5000,
    "generated_texts": ['she said "spec_decode_num_drafts": 7, and left'],
    "spec_decode_acceptance_rate": 25.0,
    "spec_decode_acceptance_length": 1.5,
    "spec_decode_num_drafts": 400,
    "spec_decode_draft_tokens": 800,
    "spec_decode_accepted_tokens": 200,
    "spec_decode_per_position_acceptance_rates": [0.4, 0.1],
}
TABLE = """\
============ Serving Benchmark Result ============
Successful requests:                     10
---------------Speculative Decoding---------------
Acceptance rate (%):                     25.00
Acceptance length:                       1.50
Drafts:                                  400
Draft tokens:                            800
Accepted tokens:                         200
Per-position acceptance (%):
  Position 0:                            40.00
  Position 1:                            10.00
==================================================
"""


@pytest.mark.parametrize("indent", [None, 2])
def test_json_on_one_line_or_many(symptom_of: Read, indent: int | None) -> None:
    symptom = symptom_of(json.dumps(RESULT, indent=indent))
    best = symptom.best
    assert best is not None
    assert best.kind is InputKind.BENCH_JSON
    assert best.length.arithmetic == "1 + 200 accepted ÷ 400 drafts = 1.50"
    assert best.per_position == (0.4, 0.1)
    assert best.counters.draft_tokens == 800
    assert [(p.context_tokens, p.length) for p in symptom.by_context] == [(500.0, 1.5)]


def test_a_field_behind_megabytes_of_text_is_found(symptom_of: Read) -> None:
    text = json.dumps({"generated_texts": ["word, " * 300_000], **RESULT})
    best = symptom_of(text).best
    assert best is not None
    assert best.counters.drafts == 400


def test_cut_off_json_gives_what_came_before_the_cut(symptom_of: Read) -> None:
    whole = json.dumps(RESULT)
    symptom = symptom_of(whole[: whole.index("0.1]")])
    assert symptom.best is not None
    assert symptom.best.length.value == 1.5
    assert symptom.best.per_position == ()
    assert "cut off" in symptom.notes[0]


def test_results_appended_to_one_file_are_pooled(symptom_of: Read) -> None:
    longer = RESULT | {
        "spec_decode_num_drafts": 100,
        "spec_decode_accepted_tokens": 175,
        "total_input_tokens": 90000,
    }
    symptom = symptom_of(json.dumps(RESULT) + "\n" + json.dumps(longer))
    assert symptom.best is not None
    assert symptom.best.length.arithmetic == "1 + 375 accepted ÷ 500 drafts = 1.75"
    assert [round(p.length, 2) for p in symptom.by_context] == [1.5, 2.75]


def test_the_printed_table(symptom_of: Read) -> None:
    best = symptom_of(TABLE).best
    assert best is not None
    assert best.kind is InputKind.BENCH_TEXT
    assert best.length.value == 1.5
    assert best.per_position == (0.4, 0.1)


def test_json_is_preferred_to_the_table_and_both_are_kept(symptom_of: Read) -> None:
    symptom = symptom_of(TABLE + json.dumps(RESULT))
    assert [m.kind for m in symptom.measurements] == [InputKind.BENCH_JSON, InputKind.BENCH_TEXT]


def test_a_histogram_of_accepted_tokens_gives_positions(symptom_of: Read) -> None:
    # 10 drafts accepted nothing, 6 one token, 4 two tokens: 14 tokens in 20 drafts.
    text = json.dumps({"acceptance_histogram": [10, 6, 4], "num_spec_steps": 20, "num_draft_tokens": 40})
    best = symptom_of(text).best
    assert best is not None
    assert best.kind is InputKind.REQUEST_JSON
    assert best.length.value == pytest.approx(1.7)
    assert best.per_position == pytest.approx((0.5, 0.2))


def test_sglangs_requests_are_pooled_by_verify_steps(symptom_of: Read) -> None:
    text = (
        "{'spec_accept_length': 3.0, 'spec_verify_ct': 100}\n{'spec_accept_length': 2.0, "
        "'spec_verify_ct': 300}\n"
    )
    best = symptom_of(text).best
    assert best is not None
    assert best.length.value == pytest.approx(2.25)
    assert best.others[-1].value == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("line", "length", "word"),
    [
        ("Accept length:                           3.21", 3.21, "SGLang"),
        ("Average Acceptance length: 6.55", 6.55, "mean over requests"),
    ],
)
def test_a_length_alone_names_its_definition(symptom_of: Read, line: str, length: float, word: str) -> None:
    best = symptom_of(line).best
    assert best is not None
    assert best.length.value == length
    assert word in best.length.given_as


def test_more_accepted_than_drafted_is_no_result(symptom_of: Read) -> None:
    assert (
        symptom_of(
            json.dumps(RESULT | {"spec_decode_accepted_tokens": 900, "spec_decode_acceptance_length": 0})
        ).best
        is None
    )
