"""From a case to an investigation."""

import pytest

from investigator.agents.interface import AgentResult
from investigator.conduct import conduct
from investigator.errors import PatchError
from investigator.evidence_check import EvidenceError
from investigator.model import NotChecked
from tests.support import builders
from tests.support.agents import CASE, FakeAgent
from tests.support.assembly import assembly, engine_answers


def test_everything_that_came_back_is_in_the_investigation():
    events = []

    done = conduct(CASE, assembly(), sink=events.append, command="investigate run")

    found = done.investigation
    assert not done.interrupted
    assert [source.id for source in found.sources] == ["vllm"]
    assert [finding.contract for finding in found.findings] == ["target-layer-offset"]
    assert found.findings[0].remedies[0].ref == "patches/0001-shift.patch"
    assert [patch.name for patch in found.patches] == ["0001-shift.patch"]
    assert found.extra["quotes_read_again"] == 1
    assert (events[0].kind, events[0].agent) == ("started", None)
    assert (events[-1].kind, events[-1].agent) == ("finished", None)


def test_a_quote_that_does_not_hold_fails_the_run():
    wrong = builders.finding(evidence=(builders.evidence(quote="    return other"),))

    with pytest.raises(EvidenceError, match=r"vllm:vllm/runner\.py:2 does not hold"):
        conduct(CASE, assembly(findings=[wrong]))


def test_a_quote_in_an_answer_is_read_again_too():
    def act(context):
        answer = builders.answer(evidence=(builders.evidence(line=1, end_line=1),))
        return AgentResult(answers=(answer,), trees=engine_answers(context).trees)

    with pytest.raises(EvidenceError, match="does not hold"):
        conduct(CASE, assembly(agents=(FakeAgent("vllm", act=act), FakeAgent("hub"))))


def test_an_interrupt_while_patches_are_made_costs_the_patches_only():
    def repair(*_):
        raise KeyboardInterrupt

    done = conduct(CASE, assembly(repair=repair))

    assert done.interrupted
    assert done.investigation.patches == ()
    assert len(done.investigation.findings) == 1
    assert done.investigation.not_checked[-1].why == "interrupted while they were made"


def test_patches_that_cannot_be_made_cost_the_patches_only():
    def repair(*_):
        raise PatchError("there is no git command", "install git; patches are checked with it")

    done = conduct(CASE, assembly(repair=repair))

    assert not done.interrupted
    assert len(done.investigation.findings) == 1
    assert done.investigation.not_checked[-1] == NotChecked(
        what="patches", why="there is no git command; install git; patches are checked with it"
    )
