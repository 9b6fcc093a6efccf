"""report.md: verdicts first, then why, then what was not looked at."""

import re
from html import unescape

from markdown_it import MarkdownIt

from investigator.model import Runner, Verdict
from investigator.reports import json_report, markdown
from tests.support import builders

RENDER = MarkdownIt("commonmark").enable("table").render


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


def first_table(text: str) -> list[list[str]]:
    """The cells of the first table, as a reader sees them."""
    table = RENDER(text).partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall("<tr>(.*?)</tr>", table, re.DOTALL)
    return [
        [unescape(re.sub("<.*?>", "", cell)) for cell in re.findall("<td>(.*?)</td>", row)] for row in rows
    ]


def test_the_order_of_a_report():
    assert headings(markdown.render(builders.investigation())) == [
        "# `vllm==0.20.1` with `z-lab/Qwen3.6-27B-DFlash@main`",
        "## What to do",
        "## Verdicts",
        "## target-layer-offset (V1): broken",
        "## Patches",
        "## Pull requests",
        "## Checked and found sound",
        "## Not checked, or not decided",
        "## Sources",
        "## Repeat it",
    ]


def read_back(row: list[str]) -> set[tuple[str, str]]:
    """A row's contracts with their verdict; a row for several names them in its reason."""
    names = row[3].rpartition(": ")[2].split(", ") if row[0].endswith(" contracts") else [row[0]]
    return {(name, row[2].split()[1]) for name in names}


def test_the_table_read_back_is_what_the_json_says():
    kept = [
        builders.finding(
            contract=name, runner=None, verdict=Verdict.HONOURED, why=f"{name} is kept", remedies=()
        )
        for name in ("vocab-mapping", "feature-width")
    ]
    missing = [
        builders.finding(
            contract=name,
            runner=Runner.V2,
            verdict=Verdict.UNSUPPORTED,
            why="no such method: 'd'",
            remedies=(),
        )
        for name in ("lookahead", "layer-types")
    ]
    investigation = builders.investigation(findings=(*builders.investigation().findings, *kept, *missing))
    document = json_report.as_json(investigation)
    expected = {(f["contract"], f["verdict"]) for f in document["findings"]}

    table = first_table(markdown.render(investigation))

    assert set().union(*map(read_back, table)) == expected
    assert table[0] == [
        "target-layer-offset",
        "V1",
        "✗ broken",
        "the reference maps 1 to 2, the engine maps 1 to 1",
        "release 0.22.1, patch 0001-shift.patch",
    ]
    assert table[2:] == [
        ["3 contracts", "–", "✓ honoured", "mask-token, vocab-mapping, feature-width", ""],
        [
            "2 contracts",
            "V2 (not in use)",
            "– unsupported",
            "no such method: 'd': lookahead, layer-types",
            "",
        ],
    ]


def test_a_kept_promise_shows_one_line_of_evidence():
    text = markdown.render(builders.investigation())

    assert (
        "## Checked and found sound\n\n- `mask-token`: both use 248070 "
        "([`vllm/runner.py:2`](https://code.example/vllm/blob/v0.20.1/vllm/runner.py#L2): `return ids`)\n"
    ) in text


def test_what_happens_on_the_other_runner_is_told_briefly_and_last():
    other = builders.finding(contract="layer-types", runner=Runner.V2, why="all run as full attention")

    text = markdown.render(builders.investigation(findings=(builders.finding(), other)))

    assert headings(text)[3:5] == ["## target-layer-offset (V1): broken", "## Patches"]
    assert (
        "## On model runner V2, not in use\n\n- `layer-types`: ✗ broken, all run as full attention (" in text
    )


def test_a_finding_shows_its_lines_numbered_and_where_they_can_be_seen():
    text = markdown.render(builders.investigation())

    assert "[`vllm/runner.py:2`](https://code.example/vllm/blob/v0.20.1/vllm/runner.py#L2)" in text
    assert "    ```python\n    2      return ids\n    ```" in text


def test_a_snapshot_is_marked_with_its_day():
    text = markdown.render(builders.investigation())

    assert "| `draft` | hub `z-lab/Qwen3.6-27B-DFlash` | `main` | **snapshot** | 2026-10-01 |" in text
    assert "was recorded on the day given" in text
    assert "was recorded" not in markdown.render(builders.investigation(sources=(builders.source(),)))


def test_the_runner_in_use_comes_first_and_the_other_says_that_it_is_not():
    findings = (
        builders.finding(runner=Runner.V2, verdict=Verdict.BROKEN),
        builders.finding(runner=Runner.V1, verdict=Verdict.HONOURED),
    )

    table = first_table(markdown.render(builders.investigation(findings=findings)))

    assert [row[1] for row in table] == ["V1", "V2 (not in use)"]


def test_an_empty_run_is_a_report_too():
    empty = builders.investigation(
        findings=(), sources=(), answers=(), patches=(), pull_requests=(), not_checked=(), agents=()
    )

    assert "**Nothing could be decided.**" in markdown.render(empty)
