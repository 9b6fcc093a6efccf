"""report.md: verdicts first, then why, then what was not looked at."""

import re
from dataclasses import replace
from html import unescape

from markdown_it import MarkdownIt

from investigator.model import Finding, Remedy, RemedyKind, Runner, Verdict
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
        "## Not checked, or not decided",
        "## Appendix",
        "## Repeat it",
    ]


def test_what_only_backs_the_answer_is_folded_away():
    other = builders.finding(contract="layer-types", runner=Runner.V2)
    text = markdown.render(builders.investigation(findings=(*builders.investigation().findings, other)))

    assert re.findall("<details><summary>(.*?)</summary>", text.partition("## Appendix")[2]) == [
        "Pull requests: 1 looked at",
        "Checked and found sound: 1 promise",
        "On model runner V2, not in use: 1 broken",
        "Sources: 2 read, 1 of them recorded earlier",
    ]
    assert text.count("<details>") == text.count("</details>")


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

    text = markdown.render(investigation)
    table = first_table(text)
    aside = text.partition("<details><summary>On model runner V2, not in use: 2 unsupported</summary>")[2]

    assert aside.strip().splitlines()[0] == (
        "- `lookahead`, `layer-types`: – unsupported, no such method: 'd'"
    )
    there = {("lookahead", "unsupported"), ("layer-types", "unsupported")}
    assert set().union(*map(read_back, table)) | there == expected
    assert table[0] == [
        "target-layer-offset",
        "V1",
        "✗ broken",
        "the reference maps 1 to 2, the engine maps 1 to 1",
        "release 0.22.1, patch 0001-shift.patch",
    ]
    assert table[2:] == [["3 contracts", "–", "✓ honoured", "mask-token, vocab-mapping, feature-width", ""]]


def test_a_kept_promise_shows_one_line_of_evidence():
    text = markdown.render(builders.investigation())

    assert (
        "<details><summary>Checked and found sound: 1 promise</summary>\n\n- `mask-token`: both use 248070 "
        "([`vllm/runner.py:2`](https://code.example/vllm/blob/v0.20.1/vllm/runner.py#L2): `return ids`)\n"
    ) in text


def test_what_happens_on_the_other_runner_is_told_briefly_and_last():
    other = builders.finding(contract="layer-types", runner=Runner.V2, why="all run as full attention")

    text = markdown.render(builders.investigation(findings=(builders.finding(), other)))

    assert headings(text)[3:5] == ["## target-layer-offset (V1): broken", "## Patches"]
    assert (
        "<details><summary>On model runner V2, not in use: 1 broken</summary>\n\n"
        "- `layer-types`: ✗ broken, all run as full attention (" in text
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


def test_the_table_is_about_the_runner_in_use_and_about_both_where_that_is_not_known():
    findings = (
        builders.finding(runner=Runner.V2, verdict=Verdict.BROKEN),
        builders.finding(runner=Runner.V1, verdict=Verdict.HONOURED),
    )

    known = markdown.render(builders.investigation(findings=findings))
    unknown = markdown.render(builders.investigation(findings=findings, default_runner=None))

    assert [row[1] for row in first_table(known)] == ["V1"]
    assert [row[1] for row in first_table(unknown)] == ["V2", "V1"]


def test_further_places_take_a_line_each_where_their_quotes_do():
    quotes = ["a = 1", "  b = 2", "c = (\n    3\n)", "d = 4 | 5", "e = 6"]
    places = tuple(
        builders.evidence(line=n + 1, end_line=n + 1 + quote.count("\n"), quote=quote, role=f"step {n}")
        for n, quote in enumerate(quotes)
    )

    text = markdown.render(builders.investigation(findings=(builders.finding(evidence=places),)))

    assert "```python\n    1  a = 1\n    ```" in text
    assert ": step 1: `b = 2`\n\n3. " in text
    assert "    ```python\n    3  c = (\n    4      3\n    5  )\n    ```\n" in text
    assert "    ```python\n    4  d = 4 | 5\n    ```\n" in text
    assert ": step 4: `e = 6`\n\n</details>" in text


def test_an_empty_run_is_a_report_too():
    empty = builders.investigation(
        findings=(), sources=(), answers=(), patches=(), pull_requests=(), not_checked=(), agents=()
    )

    assert "**Nothing could be decided.**" in markdown.render(empty)


def test_a_patch_that_repairs_a_part_is_named_where_the_rest_stays():
    """It stands beside a pull request that repairs all, and is not called a repair."""
    shift = builders.patch()
    patch = replace(shift, proof=replace(shift.proof, eased=("config-coverage/v1",)))
    pull = Remedy(kind=RemedyKind.PULL_REQUEST, ref="vllm-project/vllm#40727", effect="merged")
    alone = builders.finding(contract="config-coverage", remedies=())
    beside = replace(alone, remedies=(pull,))

    def seen(finding: Finding) -> tuple[str, list[str]]:
        text = markdown.render(builders.investigation(findings=(finding,), patches=(patch,)))
        return first_table(text)[0][4], re.findall(r"^- \*\*(Repaired.*?):\*\*", text, re.MULTILINE)

    assert seen(alone) == ("patch 0001-shift.patch in part", ["Repaired in part by"])
    assert seen(beside) == (
        "pull request vllm-project/vllm#40727, patch 0001-shift.patch in part",
        ["Repaired by", "Repaired in part by"],
    )


def test_what_brings_pull_requests_to_an_engine_is_one_text_to_paste():
    """What the engine holds already is not brought to it again."""
    (pull,) = builders.investigation().pull_requests
    pulls = (
        replace(pull, commands=("install 1",), relations=("base of o/r#2",)),
        replace(pull, ref="o/r#2", commands=("install 2", "apply 2"), contained=None),
        replace(pull, ref="o/r#3", commands=("install 3",), contained=True),
    )

    text = markdown.render(builders.investigation(pull_requests=pulls))

    assert "```sh\n# vllm-project/vllm#40727\ninstall 1\n\n# o/r#2\ninstall 2\napply 2\n```" in text
    assert "install 3" not in text
    assert "Update dflash aux layer indexing<br>base of o/r#" in text
