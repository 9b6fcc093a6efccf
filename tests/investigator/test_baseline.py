"""A baseline accepts what it holds, and nothing worse."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from investigator.baseline import read_baseline, with_accepted
from investigator.errors import UsageError
from investigator.model import Runner, Verdict
from investigator.outcome import FailOn, exit_code
from investigator.reports import github, json_report, markdown, sarif
from tests.support import builders

V = Verdict


@pytest.fixture
def baseline(tmp_path):
    """Writes the findings of an earlier run, and reads them back."""

    def baseline(*verdicts, **changes):
        found = tuple(builders.finding(verdict=verdict, runner=runner) for verdict, runner in verdicts)
        path = tmp_path / "investigation.json"
        path.write_text(json_report.render(builders.investigation(findings=found, **changes)))
        return read_baseline(path)

    return baseline


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        (V.BROKEN, V.BROKEN, 0),
        (V.BROKEN, V.PARTIAL, 0),
        (V.PARTIAL, V.BROKEN, 1),
        (V.HONOURED, V.BROKEN, 1),
        (V.UNKNOWN, V.UNKNOWN, 0),
    ],
)
def test_what_was_known_does_not_fail_and_what_got_worse_does(baseline, before, now, code):
    today = builders.investigation(findings=(builders.finding(verdict=now),))

    assert exit_code(with_accepted(today, baseline((before, Runner.V1))), FailOn.BROKEN) == code


def test_another_runner_is_another_finding(baseline):
    today = builders.investigation(findings=(builders.finding(runner=Runner.V1),))

    assert exit_code(with_accepted(today, baseline((V.BROKEN, Runner.V2))), FailOn.BROKEN) == 1


def test_the_reports_say_what_is_accepted(baseline):
    marked = with_accepted(builders.investigation(), baseline((V.BROKEN, Runner.V1)))

    assert "✗ broken (accepted)" in markdown.render(marked)
    assert "::error" not in github.render(marked)
    (result,) = json.loads(sarif.render(marked))["runs"][0]["results"]
    assert result["suppressions"][0]["kind"] == "external"


def test_another_release_of_the_engine_is_compared_and_another_drafter_is_not(baseline):
    before = baseline((V.BROKEN, Runner.V1))
    today = builders.investigation()
    newer = replace(
        today, case=replace(today.case, engine="installed", draft="z-lab/Qwen3.6-27B-DFlash@other")
    )
    other = replace(today, case=replace(today.case, draft="z-lab/Qwen3-8B-DFlash-b16"))

    assert with_accepted(newer, before).extra["accepted"] == ["target-layer-offset/v1"]
    with pytest.raises(UsageError, match="about another drafter"):
        with_accepted(other, before)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": 2, "case": {"engine": "", "draft": ""}, "findings": []}',
        "[" * 100_000,
        "\x00",
    ],
)
def test_a_file_that_is_no_baseline_is_a_clear_error(tmp_path, text):
    (tmp_path / "b.json").write_text(text)

    with pytest.raises(UsageError, match="is no baseline"):
        read_baseline(tmp_path / "b.json")


def test_a_missing_file_and_a_huge_one_too(tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        read_baseline(tmp_path / "none.json")
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(17 << 20)
    with pytest.raises(UsageError, match="larger than 16 MiB"):
        read_baseline(tmp_path / "huge.json")


def test_a_device_is_not_read_to_its_end():
    with pytest.raises(UsageError, match="is not a regular file"):
        read_baseline(Path("/dev/zero"))


def test_findings_written_by_anybody(tmp_path):
    document = json_report.as_json(builders.investigation())
    document["findings"][0]["verdict"] = "lovely"
    (tmp_path / "b.json").write_text(json.dumps(document))

    with pytest.raises(UsageError, match="'lovely' is not a valid Verdict"):
        read_baseline(tmp_path / "b.json")
