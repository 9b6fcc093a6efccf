"""The page of results is a function of its figures."""

from typing import Any

import pytest

from benchmarks import page, plot

TABLE = {
    "draft": "o/drafter",
    "four": ["0.20.1"],
    "questions": ["target-layer-offset/v1", "cache-drop/any"],
    "releases": {"0.20.1": ["broken", "broken"], "0.30.0": ["honoured", "broken"]},
}
VERDICTS = {
    "0.20.1": {"target-layer-offset/v1": "broken", "cache-drop/any": "broken"},
    "0.30.0": {"target-layer-offset/v1": "honoured", "cache-drop/any": "broken"},
}


def ratio(wall_ratio: float, **more: Any) -> dict[str, Any]:
    made = {
        "wall": 2.0,
        "cpu": 1.0,
        "peak": 50_000_000,
        "wall_ratio": wall_ratio,
        "cpu_ratio": 0.5,
        "rounds": 3,
    }
    return {**made, **more}


def row(bytes: int, requests: int, cpu: float, release: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"bytes": bytes, "requests": requests, "searches": 0, "cpu": cpu, "wall": cpu}
    if release:
        made |= {"wheel": 100_000_000, "runner": "v1", "verdicts": VERDICTS[release]}
    return made


def figures(**changes: Any) -> dict[str, Any]:
    nothing = {"engine_bytes": 0, "engine_requests": 0, "all_bytes": 0, "all_requests": 0}
    counts = {"engine_bytes": 1_400_000, "engine_requests": 24, "all_bytes": 1_450_000, "all_requests": 27}
    made: dict[str, Any] = {
        "when": "2026-10-01T12:00:00+00:00",
        "version": "1.0.0",
        "machine": {"python": "3.11.7", "system": "Linux"},
        "rounds": 3,
        "startup": {"--help": 0.08},
        "one_release": [
            {
                "version": "0.20.1",
                "cold": ratio(2.5, **counts),
                "warm": ratio(0.3, **nothing),
                "parse": ratio(1.0, files=1723),
            }
        ],
        "whole_wheel": [{"version": "0.20.1", "bytes": 244_000_000, "wall": 5.0}],
        "timeline": {
            "first": "0.20.1",
            "last": "0.30.0",
            "cold_rows": {
                "list": row(100_000, 1, 0.1),
                "0.20.1": row(1_400_000, 24, 3.0, "0.20.1"),
                "0.30.0": row(600_000, 20, 1.5, "0.30.0"),
            },
            "warm_rows": {
                "list": row(0, 0, 0.1),
                "0.20.1": row(0, 0, 0.03, "0.20.1"),
                "0.30.0": row(0, 0, 0.03, "0.30.0"),
            },
            "cold": {"wall": 10.0, "cpu": 5.0, "peak": 400_000_000},
            "warm": {"0.20.1": ratio(0.4)},
        },
        "rewritten": {"version": "0.30.0", "verdicts": VERDICTS["0.30.0"]},
        "patterns": [
            {
                "name": "semgrep",
                "rewritten": {"cache-drop/any": "broken"},
                "verdicts": {
                    "0.20.1": {"target-layer-offset/v1": "broken", "cache-drop/any": "broken"},
                    "0.30.0": {"target-layer-offset/v1": "honoured", "cache-drop/any": "honoured"},
                },
                "costs": {"0.20.1": ratio(1.0, cpu=4.0), "0.30.0": ratio(1.0, cpu=6.0)},
            },
            {"name": "ast-grep", "missing": "no such package"},
        ],
    }
    return {**made, **changes}


def test_every_target_is_met() -> None:
    assert [what for what, _, met in page.targets(figures()) if not met] == []


@pytest.mark.parametrize(
    ("one", "missed"),
    [
        ({"engine_bytes": 1_600_000}, "0.20.1 cold: bytes for the engine"),
        ({"engine_requests": 26}, "0.20.1 cold: requests for the engine"),
        ({"wall_ratio": 3.1}, "0.20.1 cold: wall, in plain parses of its tree"),
        ({"peak": 301_000_000}, "0.20.1: peak memory, MB"),
    ],
)
def test_a_target_that_is_missed_is_told_of(one: dict[str, Any], missed: str) -> None:
    results = figures()
    results["one_release"][0]["cold"] |= one

    assert [what for what, _, met in page.targets(results) if not met] == [missed]
    assert "**missed**" in page.render(results, TABLE)


def test_a_warm_run_may_ask_nothing() -> None:
    results = figures()
    results["one_release"][0]["warm"]["all_requests"] = 1
    results["timeline"]["warm_rows"]["list"]["requests"] = 1

    missed = [what for what, _, met in page.targets(results) if not met]
    assert missed == ["0.20.1 warm: requests", "timeline warm: requests"]


def test_the_page_counts_right_answers() -> None:
    text = page.render(figures(), TABLE)

    assert "| investigate, cold | 2 of 2 | 4 of 4 | 2 of 2 |" in text
    assert "| semgrep (tree unpacked before) | 2 of 2 | 3 of 4 | 1 of 2 |" in text
    assert "- semgrep, 0.30.0: cache-drop/any honoured instead of broken" in text
    assert "| ast-grep | could not be installed |" in text


def test_the_share_of_the_wheels_bytes() -> None:
    assert "| cold | 2.00 MB of 200 MB (1.00 %) | 44 |" in page.render(figures(), TABLE)


def test_the_plot_has_a_pair_of_bars_for_each_release_in_each_panel() -> None:
    drawn = plot.svg(figures()["timeline"])

    assert drawn.count("<rect x=") == 3 * 2 * 2
    assert drawn.count("0.30.0</text>") == 1
    assert drawn.startswith("<svg ")
