"""The page of results is a function of its figures."""

from typing import Any

import pytest

from benchmarks import page, plot
from benchmarks.targets import allowance, difference, targets

MIXED, FULL = "o/mixed", "o/full"
OFFSET, DROP = "target-layer-offset/v1", "cache-drop/any"
KNOWN = {
    (draft, release, question): frozenset([verdict])
    for draft in (MIXED, FULL)
    for release, offset in (("0.20.1", "broken"), ("0.26.0", "honoured"))
    for question, verdict in ((OFFSET, offset), (DROP, "broken"))
}
SGLANG = {(MIXED, "0.5.11", OFFSET): frozenset(["honoured"])}
VERDICTS = {
    "0.20.1": {OFFSET: "broken", DROP: "broken"},
    "0.26.0": {OFFSET: "honoured", DROP: "broken"},
}


def ratio(wall_ratio: float, **more: Any) -> dict[str, Any]:
    made = {"wall": 2.0, "cpu": 1.0, "peak": 50_000_000, "cpu_ratio": 0.5, "rounds": 3}
    return {**made, "wall_ratio": wall_ratio, **more}


def row(wheel: str, size: int, requests: int, cpu: float) -> dict[str, Any]:
    made: dict[str, Any] = {"bytes": size, "requests": requests, "searches": [], "cpu": cpu, "wall": cpu}
    return {**made, "wheel": wheel, "wheel_bytes": 100_000_000, "runner": "v1"}


def timeline(versions: dict[str, int], verdicts: dict[str, Any]) -> dict[str, Any]:
    """A timeline that fetched so many bytes for each version, in 24 requests."""
    cold = {version: row(f"{version}.whl", size, 24, 3.0) for version, size in versions.items()}
    warm = {version: row(f"{version}.whl", 0, 0, 0.03) for version in versions}
    aside = {"bytes": 100_000, "requests": 1, "searches": [], "cpu": 0.1, "wall": 0.1}
    return {
        "first": min(versions),
        "last": max(versions),
        "cold_rows": {"list": aside, **cold},
        "warm_rows": {"list": {**aside, "bytes": 0, "requests": 0}, **warm},
        "cold_sent": {"vllm": [1, 100_000], **{f"{v}.whl": [24, size] for v, size in versions.items()}},
        "warm_sent": {},
        "cold": ratio(4.0, peak=400_000_000),
        "warm": {min(versions): ratio(0.4)},
        "parse_cpu": dict.fromkeys(versions, 2.0),
        "verdicts": verdicts,
    }


def results() -> dict[str, Any]:
    none = {"engine_bytes": 0, "engine_requests": 0, "bytes": 0, "requests": 0, "own": [0, 0]}
    some = {"engine_bytes": 1_400_000, "engine_requests": 24, "bytes": 1_450_000, "requests": 27}
    semgrep = {"0.20.1": VERDICTS["0.20.1"], "0.26.0": {OFFSET: "honoured", DROP: "honoured"}}
    figures: dict[str, Any] = {
        "startup": {"--help": ratio(2.0)},
        "one-release": {
            "0.20.1": {
                "cold": ratio(2.5, **some, own=[27, 1_450_000]),
                "warm": ratio(0.3, **none),
                "parse": ratio(1.0, files=1723),
                "download": {"bytes": 244_000_000, "wall": 5.0},
            }
        },
        "vllm": timeline({"0.20.1": 1_400_000, "0.26.0": 600_000}, {MIXED: VERDICTS, FULL: VERDICTS}),
        "sglang": timeline({"0.5.11": 2_900_000}, {MIXED: {"0.5.11": {OFFSET: "unknown"}}, FULL: {}}),
        "patterns": {
            "investigate": {"release": "0.26.0", "rewritten": {"helpers moved": VERDICTS["0.26.0"]}},
            "semgrep": {
                "verdicts": {MIXED: semgrep, FULL: semgrep},
                "rewritten": {"helpers moved": {DROP: "broken"}},
                "costs": {"0.20.1": ratio(1.0, cpu=4.0), "0.26.0": ratio(1.0, cpu=6.0)},
            },
            "ast-grep": {"missing": "no such package"},
        },
    }
    about = {"when": "2026-10-01T12:00:00+00:00", "version": "1.0.0", "python": "3.11.7", "rounds": 3}
    return {name: {**about, "figures": part} for name, part in figures.items()}


def rendered(found: dict[str, Any]) -> str:
    return page.render(found, KNOWN, SGLANG, (MIXED, FULL))


def missed(found: dict[str, Any]) -> list[str]:
    return [target.what for target in targets(found) if not target.met]


def test_every_target_is_met() -> None:
    assert missed(results()) == []
    assert "missed" not in rendered(results())


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"engine_bytes": 1_500_001}, "vllm 0.20.1 cold: bytes for the engine"),
        ({"engine_requests": 26}, "vllm 0.20.1 cold: requests for the engine"),
        ({"wall_ratio": 3.1}, "vllm 0.20.1 cold: wall, in plain parses of its tree"),
        ({"peak": 301_000_000}, "vllm 0.20.1: peak memory, MB"),
        ({"own": [27, 1_450_001]}, "vllm 0.20.1: own counts beside the wire's, difference"),
    ],
)
def test_a_target_that_is_missed_is_told_of(change: dict[str, Any], what: str) -> None:
    found = results()
    found["one-release"]["figures"]["0.20.1"]["cold"] |= change

    assert missed(found) == [what]
    assert "**missed**" in rendered(found)


def test_a_release_that_was_searched_may_cost_twice_as_much() -> None:
    found = results()
    rows, sent = found["vllm"]["figures"]["cold_rows"], found["vllm"]["figures"]["cold_sent"]
    rows["0.26.0"]["bytes"], sent["0.26.0.whl"] = 3_000_000, [24, 3_000_000]

    assert missed(found) == [
        "vllm timeline cold, 2 releases where path hints hold: most of a wheel's bytes, percent"
    ]
    rows["0.26.0"]["searches"] = ["layer_types"]
    assert missed(found) == []


def test_a_request_that_the_program_did_not_count_is_told_of() -> None:
    figures = results()["vllm"]["figures"]
    assert difference(figures) == 0

    figures["warm_sent"]["0.20.1.whl"] = [1, 50]
    assert difference(figures) == 51


@pytest.mark.parametrize(("wheel", "allowed"), [(10_000_000, 3e6), (400_000_000, 8e6), (None, 3e6)])
def test_what_reading_a_release_may_cost(wheel: int | None, allowed: float) -> None:
    assert allowance(wheel) == allowed


def test_the_page_counts_right_answers_beside_patterns() -> None:
    text = rendered(results())

    assert "| investigate, cold | 4 of 4 | 4 of 4 | 4 of 4 | 2 of 2 | 3.00 s |" in text
    assert "| investigate, warm | 4 of 4 | 4 of 4 | 4 of 4 | 2 of 2 | 0.03 s |" in text
    assert "| semgrep | 3 of 4 | 3 of 4 | 3 of 4 | 1 of 2 | 5.00 s |" in text
    assert f"- semgrep, {MIXED}: 0.26.0 {DROP}: honoured instead of broken" in text
    assert f"- semgrep, helpers moved: 0.26.0 {OFFSET}: unknown instead of honoured" in text
    assert "| ast-grep | could not be installed |" in text


def test_the_page_counts_right_answers_of_every_contract() -> None:
    text = rendered(results())

    assert f"| vllm, the table of four releases, {MIXED} | 4 | 4 | 0 | 0 |" in text
    assert f"| sglang, 1 releases, {MIXED}, every contract | 1 | 0 | 1 | 0 |" in text
    assert f"- sglang, {MIXED}: 0.5.11 {OFFSET}: unknown instead of honoured" in text


def test_the_page_says_what_the_wheels_and_their_trees_would_cost() -> None:
    text = rendered(results())

    assert "| cold | 2.00 MB (1.00 %) | 48 | 2.0 s (4.00 ×) | 1.0 s (0.50 ×) | 400 MB |" in text
    assert "| plain tree-sitter parse of all their trees | – | – | – | 4.0 s | – |" in text
    assert "| semgrep on all their trees (unpacked before) | – | – | – | 10.0 s | 50 MB |" in text
    assert "| download of all their wheels | 200 MB | 2 | – | – | – |" in text


def test_the_plot_has_a_bar_for_each_release_in_each_panel() -> None:
    drawn = plot.svg(results()["vllm"]["figures"])

    assert drawn.count("<rect x=") == 4 * 2
    assert drawn.count("0.26.0</text>") == 1
    assert drawn.count("<title>24</title>") == 2
    assert drawn.startswith("<svg ")
