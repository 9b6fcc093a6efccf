"""A finding gets what repairs it, and a healthy one gets nothing."""

from dataclasses import replace

from investigator.model import Remedy, RemedyKind, Runner, Verdict
from investigator.remedies import with_remedies
from tests.support import builders

(REQUEST,) = builders.investigation().pull_requests


def remedies(finding, requests=(), patches=()):
    (found,) = with_remedies([finding], requests, patches)
    return [(remedy.kind, remedy.ref) for remedy in found.remedies]


def test_a_proven_patch_comes_first_and_a_pull_request_last():
    request = replace(REQUEST, repairs=("target-layer-offset",), effect="adds one")

    (found,) = with_remedies([builders.finding()], [request], [builders.patch()])

    assert [remedy.kind for remedy in found.remedies] == ["patch", "release", "patch", "pull-request"]
    assert found.remedies[0].ref == "patches/0001-shift.patch"
    assert found.remedies[-1].effect == "merged 2026-05-20: adds one"


def test_a_setting_comes_before_a_pull_request_and_is_for_its_own_question():
    bare = builders.finding(remedies=())
    request = replace(REQUEST, repairs=("target-layer-offset",))
    flag = Remedy(kind=RemedyKind.SETTING, ref="--flag", effect="avoids it")

    def found(question):
        (finding,) = with_remedies([bare], [request], settings={question: [flag]})
        return [remedy.ref for remedy in finding.remedies]

    assert found("target-layer-offset/v1") == ["--flag", REQUEST.ref]
    assert found("target-layer-offset/v2") == [REQUEST.ref]


def test_a_patch_is_for_the_runner_that_it_was_proven_on():
    other = builders.finding(runner=Runner.V2, remedies=())

    assert remedies(other, patches=[builders.patch()]) == []


def test_a_pull_request_that_the_engine_holds_repairs_nothing_any_more():
    bare = builders.finding(remedies=())
    request = replace(REQUEST, repairs=("target-layer-offset",))

    assert remedies(bare, [replace(request, contained=True)]) == []
    assert remedies(bare, [replace(request, contained=None)]) == [(RemedyKind.PULL_REQUEST, REQUEST.ref)]
    assert remedies(bare, [replace(request, repairs=("rope",))]) == []


def test_an_honoured_promise_needs_no_remedy():
    honoured = builders.finding(verdict=Verdict.HONOURED, remedies=())

    assert remedies(honoured, [replace(REQUEST, repairs=("target-layer-offset",))], [builders.patch()]) == []
