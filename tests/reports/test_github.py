"""Annotations and the step summary of a workflow."""

from investigator.model import Runner, SourceKind, Verdict
from investigator.reports import github, markdown
from tests.support import builders


def test_one_annotation_for_each_finding_on_the_runner_in_use():
    findings = (
        builders.finding(),
        builders.finding(runner=Runner.V2),
        builders.finding(contract="rope", runner=None, verdict=Verdict.HONOURED),
        builders.finding(
            contract="lookahead", runner=None, verdict=Verdict.UNKNOWN, evidence=(), why="50%\nleft"
        ),
    )

    assert github.render(builders.investigation(findings=findings)).splitlines() == [
        "::error title=target-layer-offset (V1)%3A broken::"
        "the reference maps 1 to 2, the engine maps 1 to 1 (vllm: vllm/runner.py:2)",
        "::notice title=lookahead%3A unknown::50%25%0Aleft",
    ]


def test_a_file_is_named_only_when_it_is_in_the_workspace():
    here = builders.source(kind=SourceKind.FOLDER)

    (line, _) = github.render(builders.investigation(sources=(here,))).splitlines()

    assert ",file=vllm/runner.py,line=2,endLine=2::" in line


def test_the_report_is_added_to_the_step_summary(tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    github.append_step_summary(builders.investigation())

    assert summary.read_text() == "before\n" + markdown.render(builders.investigation())


def test_without_a_summary_file_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.chdir(tmp_path)

    github.append_step_summary(builders.investigation())

    assert list(tmp_path.iterdir()) == []


def test_a_long_report_is_cut_at_a_line_and_says_so():
    text = "é" * 100 + "\n" + "b" * 400 + "\n"

    kept = github.cut(text, 300)

    assert kept == "é" * 100 + "\n" + github.CUT_NOTE
    assert len(kept.encode()) <= 300
    assert github.cut("short\n", 300) == "short\n"
    assert github.cut(text, 10) == ""
