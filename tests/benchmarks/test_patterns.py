"""What pattern matchers say, put into verdicts; and what a benchmark's figures are made of."""

import sys
from collections.abc import Callable

import pytest

from benchmarks.measure import Sample, beside, run
from benchmarks.patterns import TOOLS, rule_ids, verdicts

IDS = ["offset.v1.honoured", "offset.v1.broken", "offset.v2.broken", "drop.any.broken"]


@pytest.mark.parametrize(
    ("matched", "expected"),
    [
        (["offset.v1.broken"], {"offset/v1": "broken", "offset/v2": "unknown", "drop/any": "unknown"}),
        # The first rule about a contract decides, whatever else matches.
        (
            ["offset.v1.broken", "offset.v1.honoured"],
            {"offset/v1": "honoured", "offset/v2": "unknown", "drop/any": "unknown"},
        ),
        ([], {"offset/v1": "unknown", "offset/v2": "unknown", "drop/any": "unknown"}),
    ],
)
def test_the_first_rule_that_matches_decides(matched: list[str], expected: dict[str, str]) -> None:
    assert verdicts(matched, IDS) == expected


def test_both_tools_have_a_rule_for_every_question() -> None:
    questions = {
        "target-layer-offset/v1",
        "target-layer-offset/v2",
        "layer-types/v1",
        "layer-types/v2",
        "cache-drop/any",
    }
    for tool in TOOLS:
        ids = rule_ids(tool.rules)
        assert len(ids) == len(set(ids)) > 10
        assert set(verdicts([], ids)) == questions


def test_rule_ids_out_of_what_the_tools_print() -> None:
    sg, ag = TOOLS[1], TOOLS[0]

    assert sg.matched('{"results": [{"check_id": "work.rules.layer-types.v1.refused"}]}') == {
        "layer-types.v1.refused"
    }
    assert ag.matched('{"ruleId": "a.v1.broken"}\n\n{"ruleId": "a.v1.broken"}\n') == {"a.v1.broken"}


def test_a_command_is_timed_with_its_children() -> None:
    busy = "sum(range(3_000_000))"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); print('done')"

    sample = run([sys.executable, "-c", child])

    assert sample.output == "done\n"
    assert sample.cpu > 0
    assert sample.cpu <= sample.wall * 2 + 1
    assert sample.peak > 5_000_000


def test_a_command_that_fails_is_told_of() -> None:
    fail = [sys.executable, "-c", "import sys; print('why', file=sys.stderr); sys.exit(3)"]

    with pytest.raises(RuntimeError, match="exits with 3: why"):
        run(fail)
    assert run(fail, check=(3,)).code == 3


def test_ratios_are_taken_round_by_round() -> None:
    def made(seconds: float) -> Callable[[], Sample]:
        return lambda: Sample(seconds, seconds / 2, 1000, 0)

    mine, other = beside(made(3.0), made(2.0), rounds=3)

    assert (mine.wall_ratio, mine.cpu_ratio, other.wall_ratio) == (1.5, 1.5, 1.0)
    assert (mine.wall, mine.rounds) == (3.0, 3)
