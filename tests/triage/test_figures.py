"""The figures that come with the program."""

import json
import re
from importlib.resources import files

import pytest

from investigator.triage.figures import Figures, for_pair, like_setting, load_figures, published_range
from investigator.triage.suspects import RULES


@pytest.fixture
def figures() -> Figures:
    return load_figures()


def test_every_row_has_its_harness_its_source_and_a_date_or_none(figures: Figures) -> None:
    rows = [*figures.published, *figures.contrasts]
    assert len({row.id for row in rows}) == len(rows)
    for row in rows:
        assert row.harness, row.id
        assert row.source, row.id
        assert row.date is None or re.fullmatch(r"20\d\d-\d\d(-\d\d)?", row.date), row.id
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", figures.recorded)


def test_the_file_is_json_with_one_row_a_line() -> None:
    text = files("investigator.triage").joinpath("figures.json").read_text(encoding="utf-8")
    rows = json.loads(text)["rows"]
    assert sum(line.startswith('  {"id"') for line in text.splitlines()) == len(rows)


def test_lengths_are_lengths(figures: Figures) -> None:
    for row in figures.published:
        assert row.length is None or 1 < row.length[0] <= row.length[1] < 16, row.id


def test_what_is_kept_is_a_share_of_accepted_tokens(figures: Figures) -> None:
    kept = {row.id: row.kept for row in figures.contrasts}
    assert kept["retention-9b"] == pytest.approx((0.34 / 4.95, 0.34 / 4.95))
    assert kept["offset-mt-bench"] == pytest.approx((2.92 / 3.16, 3.03 / 3.11))
    assert kept["thinking"] == pytest.approx((25 / 60, 25 / 60))  # a ratio has no bonus token to take off
    assert kept["guessed-ids"] is None


def test_a_pair_is_found_by_repository_folder_or_quantised_target(figures: Figures) -> None:
    draft, target = "z-lab/Qwen3.6-27B-DFlash", "Qwen/Qwen3.6-27B"
    wanted = for_pair(figures, draft, target)
    assert len(wanted) == 7
    assert for_pair(figures, f"/models/{draft.split('/')[1]}/", None) == wanted
    assert for_pair(figures, draft, f"{target}-FP8") == wanted
    assert for_pair(figures, draft, "Qwen/Qwen3-8B") == ()
    assert for_pair(figures, None, target) == ()


def test_a_data_set_narrows_the_figures(figures: Figures) -> None:
    rows = for_pair(figures, "z-lab/Qwen3-8B-DFlash-b16", None)
    assert {row.setting for row in like_setting(rows, "/data/HumanEval.jsonl")} == {"HumanEval"}
    assert len(like_setting(rows, "philschmid/mt-bench")) == 2
    assert like_setting(rows, "custom") == rows
    assert like_setting(rows, None) == rows


def test_the_published_range_is_brought_to_the_draft_tokens(figures: Figures) -> None:
    rows = for_pair(figures, "z-lab/Qwen3-8B-DFlash-b16", None)
    assert published_range(rows, 15) == (4.11, 7.87)
    low, high = published_range(rows, 3) or (0, 0)
    assert 2.5 < low < high < 4
    assert published_range((), 15) is None


def test_faults_and_rules_name_contracts_of_one_list(figures: Figures) -> None:
    known = {
        "target-layer-offset",
        "layer-types",
        "cache-drop",
        "in-block-causality",
        "kv-retention",
        "lookahead",
        "config-coverage",
        "silent-default",
        "rope",
        "mask-token",
        "vocab-mapping",
        "embedding-scale",
        "feature-width",
        "head-sharing",
        "target-capture",
    }
    assert {rule.contract for rule in RULES} == known
    assert {name for row in figures.of_kind("fault") for name in row.names} <= known
