"""What the process returns for what was found."""

from enum import StrEnum

from investigator.errors import ExitCode
from investigator.model import AgentStatus, Finding, Investigation, Runner, Verdict

ACCEPTED = "accepted"
"""The key of ``Investigation.extra`` that lists the questions whose findings are known and accepted."""


class FailOn(StrEnum):
    """From which verdict on a finding fails the command; ``never``: findings alone do not."""

    BROKEN = Verdict.BROKEN.value
    PARTIAL = Verdict.PARTIAL.value
    REFUSED = Verdict.REFUSED.value
    UNSUPPORTED = Verdict.UNSUPPORTED.value
    UNKNOWN = Verdict.UNKNOWN.value
    NEVER = "never"


def concerns_case(finding: Finding, runner: Runner | None) -> bool:
    """Whether a finding is about the runner in use; where that is not known, every one is."""
    return runner is None or finding.runner is None or finding.runner is runner


def reaches(verdict: Verdict, level: FailOn) -> bool:
    """Whether a verdict is as bad as ``level``, or worse."""
    order = list(Verdict)  # worst news first
    return level is not FailOn.NEVER and order.index(verdict) <= order.index(Verdict(level.value))


def exit_code(investigation: Investigation, fail_on: FailOn, *, runner: Runner | None = None) -> ExitCode:
    """0, 1 or 3, from the findings on the runner that counts.

    ``runner`` None: the one this case uses by default. A finding that reaches ``fail_on``
    is certain, so it outweighs what is missing. Accepted findings do not count.
    """
    counted = runner or investigation.default_runner
    accepted = investigation.extra.get(ACCEPTED) or ()
    assert isinstance(accepted, list | tuple)
    found = [f for f in investigation.findings if concerns_case(f, counted)]
    verdicts = [f.verdict for f in found if f.question not in accepted]
    if any(reaches(verdict, fail_on) for verdict in verdicts):
        return ExitCode.FINDINGS
    failed = any(agent.status is AgentStatus.FAILED for agent in investigation.agents)
    if failed or Verdict.UNKNOWN in verdicts or not found:
        return ExitCode.INCOMPLETE
    return ExitCode.CLEAN
