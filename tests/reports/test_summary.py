"""The answer in one sentence, and where a line can be seen."""

import pytest

from investigator.model import NotChecked, Runner, Verdict
from investigator.reports import summary
from tests.support import builders

V1, V2 = Runner.V1, Runner.V2


def run(*verdicts, runner=V1):
    findings = tuple(builders.finding(verdict=verdict, runner=where) for verdict, where in verdicts)
    return builders.investigation(findings=findings, default_runner=runner)


@pytest.mark.parametrize(
    ("investigation", "sentence"),
    [
        (run(), "Nothing could be decided"),
        (run((Verdict.UNKNOWN, V1), (Verdict.HONOURED, V2)), "Nothing could be decided"),
        (run((Verdict.HONOURED, V1)), "No promise was found broken: 1 honoured"),
        (
            run((Verdict.PARTIAL, V1), (Verdict.REFUSED, V1), (Verdict.HONOURED, V1)),
            "This engine keeps what this drafter was trained on under a condition only: "
            "1 partial, 1 refused, 1 honoured",
        ),
        (run((Verdict.REFUSED, V1)), "This engine refuses what this drafter was trained on: 1 refused"),
        (
            run((Verdict.BROKEN, V1), (Verdict.BROKEN, None), (Verdict.HONOURED, V1)),
            "This engine does not keep what this drafter was trained on: 2 broken, 1 honoured",
        ),
        (run((Verdict.BROKEN, V2), (Verdict.HONOURED, V1)), "No promise was found broken: 1 honoured"),
        (
            run((Verdict.UNKNOWN, V1), (Verdict.HONOURED, None)),
            "No promise was found broken, but 1 of 2 could not be decided",
        ),
        (
            run((Verdict.BROKEN, V2), runner=None),
            "This engine does not keep what this drafter was trained on: 1 broken",
        ),
    ],
)
def test_the_headline_is_about_the_runner_in_use(investigation, sentence):
    assert summary.headline(investigation) == sentence


def test_a_place_is_one_line_or_a_range():
    assert summary.place(builders.evidence()) == "vllm/runner.py:2"
    assert summary.place(builders.evidence(end_line=4)) == "vllm/runner.py:2-4"


def test_a_permalink_needs_a_source_that_has_one():
    investigation = builders.investigation()

    odd = builders.evidence(path="a b/{line}#.py")
    assert (
        summary.permalink(investigation, odd)
        == "https://code.example/vllm/blob/v0.20.1/a%20b/%7Bline%7D%23.py#L2"
    )
    assert summary.permalink(investigation, builders.evidence(source="gone")) is None


def test_a_permalink_marks_every_line_that_is_quoted():
    lines = builders.evidence(line=7, end_line=9)

    assert (
        summary.permalink(builders.investigation(), lines)
        == "https://code.example/vllm/blob/v0.20.1/vllm/runner.py#L7-L9"
    )


def test_a_record_is_shown_as_the_place_that_it_was_made_of():
    record = builders.evidence(path="snapshot.json", line=8, end_line=8, recorded_from="model/utils.py:24")

    assert summary.place(record) == "model/utils.py:24"
    assert (
        summary.permalink(builders.investigation(), record)
        == "https://code.example/vllm/blob/v0.20.1/model/utils.py#L24"
    )


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({}, "implementation fault"),
        ({"verdict": Verdict.PARTIAL, "contract": "silent-default"}, "configuration mismatch"),
        ({"verdict": Verdict.REFUSED}, "missing feature"),
        ({"verdict": Verdict.UNSUPPORTED}, "missing feature"),
        ({"contract": "in-block-causality"}, "reference divergence"),
        ({"verdict": Verdict.UNKNOWN}, None),
        ({"verdict": Verdict.HONOURED}, None),
    ],
)
def test_each_finding_has_its_kind_of_failure(changes, mode):
    differ = NotChecked(
        what="in-block-causality: the references differ", why="dflash and ddtree train differently"
    )

    investigation = builders.investigation(not_checked=(differ,))
    assert summary.failure_mode(builders.finding(**changes), investigation) == mode
