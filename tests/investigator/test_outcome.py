"""What the process returns."""

import pytest

from investigator.model import AgentStatus, Runner, Verdict
from investigator.outcome import FailOn, exit_code, reaches
from tests.support import builders

V = Verdict


def run(*findings, runner=Runner.V1, failed=False):
    status = AgentStatus.FAILED if failed else AgentStatus.DONE
    return builders.investigation(
        findings=tuple(builders.finding(verdict=verdict, runner=where) for verdict, where in findings),
        agents=(builders.agent_report("hub", status=status),),
        default_runner=runner,
    )


@pytest.mark.parametrize(
    ("investigation", "code"),
    [
        (run((V.HONOURED, Runner.V1)), 0),
        (run((V.REFUSED, Runner.V1), (V.PARTIAL, None)), 0),
        (run((V.BROKEN, Runner.V1)), 1),
        (run((V.BROKEN, None)), 1),
        (run((V.BROKEN, Runner.V2), (V.HONOURED, Runner.V1)), 0),
        (run((V.BROKEN, Runner.V2), runner=None), 1),
        (run((V.UNKNOWN, Runner.V1), (V.HONOURED, None)), 3),
        (run((V.UNKNOWN, Runner.V2), (V.HONOURED, Runner.V1)), 0),
        (run((V.HONOURED, Runner.V1), failed=True), 3),
        (run((V.BROKEN, Runner.V1), (V.UNKNOWN, None), failed=True), 1),
        (run(), 3),
    ],
)
def test_findings_on_the_runner_in_use_decide(investigation, code):
    assert exit_code(investigation, FailOn.BROKEN) == code


@pytest.mark.parametrize(("level", "code"), [("partial", 1), ("broken", 0), ("unsupported", 1), ("never", 0)])
def test_the_level_is_the_users(level, code):
    assert exit_code(run((V.PARTIAL, Runner.V1)), FailOn(level)) == code


def test_another_runner_can_be_asked_about():
    investigation = run((V.HONOURED, Runner.V1), (V.BROKEN, Runner.V2))

    assert exit_code(investigation, FailOn.BROKEN, runner=Runner.V2) == 1


def test_honoured_reaches_no_level():
    assert not [level for level in FailOn if reaches(V.HONOURED, level) or reaches(V.NOT_APPLICABLE, level)]
