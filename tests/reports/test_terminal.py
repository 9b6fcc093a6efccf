"""The verdict table on terminals of several widths, and plain."""

from io import StringIO

import pytest
from rich.console import Console

from investigator.model import AgentStatus, Verdict
from investigator.reports.terminal import print_verdicts
from tests.support import builders


def printed(investigation, width=140, **options):
    stream = StringIO()
    print_verdicts(Console(file=stream, width=width, **options), investigation)
    return stream.getvalue()


def test_a_wide_terminal_shows_the_place_in_the_engine():
    text = printed(builders.investigation())

    (row,) = [line for line in text.splitlines() if line.startswith("target-layer-offset")]
    assert row.split("  ")[1:] != []
    for part in ("V1", "✗ broken", "the reference maps 1 to 2, the engine maps 1 to 1", "vllm/runner.py:2"):
        assert part in row


def test_a_narrow_one_shows_it_beneath_the_reason_whole_or_without_its_first_folders():
    path = "vllm/model_executor/models/qwen3_dflash.py"
    finding = builders.finding(evidence=(builders.evidence(path=path, line=112, end_line=114),) * 2)

    at_100 = printed(builders.investigation(findings=(finding,)), 100)
    at_80 = printed(builders.investigation(findings=(finding,)), 80)

    assert [line.strip() for line in at_100.splitlines() if ".py" in line] == [f"{path}:112-114"]
    assert [line.strip() for line in at_80.splitlines() if ".py" in line] == [
        "…/models/qwen3_dflash.py:112-114"
    ]


def test_kept_promises_share_a_row():
    kept = [
        builders.finding(contract=name, verdict=Verdict.HONOURED)
        for name in ("feature-width", "target-capture")
    ]

    text = printed(builders.investigation(findings=kept), 100)

    (row,) = [line.split("  ") for line in text.splitlines() if line.startswith("2 contracts")]
    assert [cell.strip() for cell in row if cell.strip()] == [
        "2 contracts", "V1", "✓ honoured", "feature-width, target-capture",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [40, 60, 80, 129, 200])
def test_no_line_is_wider_than_the_terminal(width):
    text = printed(builders.investigation(), width)

    assert max(len(line) for line in text.splitlines()) <= width
    assert "broken" in text


def test_without_room_for_columns_each_finding_is_a_line_with_its_reason_beneath():
    lines = [line.rstrip() for line in printed(builders.investigation(), 40).splitlines()]

    start = lines.index("✗ broken target-layer-offset (V1)")
    assert lines[start + 1 : start + 4] == [
        "  the reference maps 1 to 2, the engine",
        "  maps 1 to 1",
        "  vllm/runner.py:2",
    ]
    assert "✓ honoured mask-token" in [line.rstrip() for line in lines]


def test_colour_is_for_terminals_that_want_it():
    assert "\x1b[1;31m✗ broken" in printed(
        builders.investigation(), force_terminal=True, color_system="standard"
    )
    assert "\x1b" not in printed(builders.investigation())


def test_markup_in_a_text_stays_text():
    finding = builders.finding(why="[bold red]loud[/] :smile: \x1b[31m")

    assert "[bold red]loud[/] :smile: ‹U+001B›[31m" in printed(
        builders.investigation(findings=(finding,)), 200
    )


def test_snapshots_and_what_an_agent_missed_are_named():
    partial = builders.agent_report("hub", status=AgentStatus.PARTIAL, error="no target")

    text = printed(builders.investigation(agents=(partial,)))

    assert (
        "recorded on the day given, not read in this run: z-lab/Qwen3.6-27B-DFlash main (2026-10-01)" in text
    )
    assert "agent hub brought only a part: no target" in text
