"""Answers held against what was worked out by hand."""

import json
from pathlib import Path

from benchmarks import truth

TABLES = [
    {
        "draft": "o/drafter",
        "cells": [
            {"release": "1", "contract": "rope", "runner": "v1", "verdict": "honoured"},
            {"release": "2", "contract": "rope", "runner": "v1", "verdict": "broken"},
        ],
        "debatable": [
            {"release": "1", "contract": "cache-drop", "runner": None, "verdicts": ["broken", "partial"]}
        ],
    },
    {
        "draft": "made up: a drafter without ids",
        "cells": [{"release": "1", "contract": "rope", "runner": "v1", "verdict": "broken"}],
    },
    {
        "draft": "o/drafter",
        "change": {"is_causal": True},
        "cells": [{"release": "1", "contract": "rope", "runner": "v1", "verdict": "broken"}],
    },
]


def cells(folder: Path) -> truth.Cells:
    (folder / "t.json").write_text(json.dumps(TABLES))
    return truth.cells(["t.json"], folder)


def test_cells_are_about_published_drafters_as_they_are(tmp_path: Path) -> None:
    assert cells(tmp_path) == {
        ("o/drafter", "1", "rope/v1"): {"honoured"},
        ("o/drafter", "2", "rope/v1"): {"broken"},
        ("o/drafter", "1", "cache-drop/any"): {"broken", "partial"},
    }


def test_right_unknown_and_wrong(tmp_path: Path) -> None:
    found = {"1": {"rope/v1": "broken", "cache-drop/any": "partial"}}

    score = truth.score(found, cells(tmp_path))

    assert (score.cells, score.right, score.unknown, score.wrong) == (3, 1, 1, 1)
    assert truth.missed(found, cells(tmp_path)) == [
        "1 rope/v1: broken instead of honoured",
        "2 rope/v1: unknown instead of broken",
    ]


def test_cells_are_chosen_by_drafter_contract_and_release(tmp_path: Path) -> None:
    assert list(truth.about(cells(tmp_path), "o/drafter", ["rope"], ["2"])) == [("o/drafter", "2", "rope/v1")]


def test_the_table_of_four_releases_has_six_questions_a_release() -> None:
    four = truth.about(truth.cells(), "z-lab/Qwen3.6-27B-DFlash", truth.FOUR_CONTRACTS, truth.FOUR)

    assert len(four) == 4 * 6
    assert four["z-lab/Qwen3.6-27B-DFlash", "0.33.0", "cache-drop/any"] == {"honoured"}
