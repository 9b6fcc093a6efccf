"""What can be done about a finding: proven patches, settings that avoid it, pull requests that repair it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from investigator.model import (
    Finding,
    Patch,
    PullRequest,
    PullRequestState,
    Remedy,
    RemedyKind,
    Verdict,
)

TO_REPAIR = (Verdict.BROKEN, Verdict.PARTIAL, Verdict.REFUSED)

Settings = Mapping[str, Sequence[Remedy]]
"""Settings that avoid a fault, by its question: ``contract/runner``, or ``contract``."""

NO_SETTINGS: Settings = MappingProxyType({})


def with_remedies(
    findings: Sequence[Finding],
    pull_requests: Sequence[PullRequest],
    patches: Sequence[Patch] = (),
    settings: Settings = NO_SETTINGS,
) -> tuple[Finding, ...]:
    """The findings, each with what repairs it: patches, what it had, settings, pull requests."""
    return tuple(_with_remedies(finding, pull_requests, patches, settings) for finding in findings)


def _with_remedies(
    finding: Finding, pull_requests: Sequence[PullRequest], patches: Sequence[Patch], settings: Settings
) -> Finding:
    if finding.verdict not in TO_REPAIR:
        return finding
    repairs = [
        Remedy(kind=RemedyKind.PATCH, ref=f"patches/{patch.name}", effect=patch.subject)
        for patch in patches
        if finding.question in patch.proof.repaired
    ]
    requests = [
        Remedy(kind=RemedyKind.PULL_REQUEST, ref=request.ref, effect=_effect(request))
        for request in pull_requests
        if finding.contract in request.repairs and not request.contained
    ]
    around = settings.get(finding.question, ())
    return replace(finding, remedies=(*repairs, *finding.remedies, *around, *requests))


def _effect(request: PullRequest) -> str:
    state = request.state.value
    if request.state is PullRequestState.MERGED and request.merged_at is not None:
        state += f" {request.merged_at:%Y-%m-%d}"
    return f"{state}: {request.effect or request.title}"
