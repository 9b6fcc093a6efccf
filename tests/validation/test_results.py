"""Results come from another machine: they are read within bounds, or refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from investigator.errors import LimitError, SourceError
from investigator.validation import results
from investigator.validation.results import Count, parse_result, read_results

ROW = {"prompt": 0, "drafts": 4, "draft_tokens": 28, "accepted": 3, "per_position": [2, 1]}


def document(**changes: Any) -> str:
    fresh = {"seconds": 1.5, "prompts": [ROW], "outputs": [[1, 2]]} | changes
    return json.dumps({"variant": "a", "status": "done", "passes": {"fresh": fresh}})


def test_a_result_reads_as_it_was_written() -> None:
    found = parse_result(document(), "file", "a")
    assert found.fresh is not None
    assert found.fresh.prompts == {0: Count(drafts=4, draft_tokens=28, accepted=3, per_position=(2, 1))}
    assert found.fresh.total == found.fresh.prompts[0]
    assert found.fresh.total.acceptance_length == 1.75


def test_the_engines_own_totals_win_over_the_sum_of_prompts() -> None:
    found = parse_result(
        document(counters={"drafts": 5, "accepted": 3, "prefix_hits": 7, "prefix_queries": 9}), "f", "a"
    )
    assert found.fresh is not None
    assert (found.fresh.total.drafts, found.fresh.prefix_hits, found.fresh.prefix_queries) == (5, 7, 9)


@pytest.mark.parametrize(
    "changes",
    [
        {"prompts": [ROW | {"accepted": 4}]},
        {"prompts": [ROW | {"per_position": [5, -2]}]},
        {"prompts": [ROW | {"drafts": 1}]},
        {"prompts": [ROW | {"drafts": True}]},
        {"prompts": [ROW | {"drafts": 4.0}]},
        {"prompts": "many"},
        {"seconds": -1},
        {"seconds": None},
        {"outputs": [["a"]]},
    ],
)
def test_counters_that_cannot_be_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((SourceError, AssertionError)):
        parse_result(document(**changes), "file", "a")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"variant": "b", "status": "done"}', "[" * 100_000])
def test_what_is_no_result_of_this_variant_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="is not a result of this experiment"):
        parse_result(text, "file", "a")


def test_a_missing_file_is_a_missing_variant_and_a_huge_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a.json").write_text(document())
    assert {n: r.status for n, r in read_results(tmp_path, ("a", "b")).items()} == {
        "a": "done",
        "b": "missing",
    }
    monkeypatch.setattr(results, "MAX_RESULT_BYTES", 10)
    with pytest.raises(LimitError):
        read_results(tmp_path, ("a",))
