"""From a case to an investigation: gather, judge, check the evidence, repair."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import investigator
from investigator.case import Case
from investigator.errors import InvestigateError
from investigator.events import Event, EventKind, EventSink, ignore
from investigator.evidence_check import check_evidence
from investigator.model import (
    Answer,
    CaseRecord,
    Finding,
    Investigation,
    Json,
    NotChecked,
    Patch,
    PullRequest,
    Remedy,
    Runner,
)
from investigator.remedies import with_remedies
from investigator.run import DEADLINE, JOBS, Gathered, Team, gather


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What the answers come to. ``default_runner_why`` is one line."""

    findings: tuple[Finding, ...]
    default_runner: Runner | None = None
    default_runner_why: str = ""
    pull_requests: tuple[PullRequest, ...] = ()
    """The pull requests of the case, each with how this engine stands to it."""


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """The patches that were proven, and what could not be repaired, with the reason."""

    patches: tuple[Patch, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    proofs: Mapping[str, Json] = field(default_factory=dict)
    """What was checked beyond each patch alone: order, pairs, all together."""
    settings: Mapping[str, tuple[Remedy, ...]] = field(default_factory=dict)
    """Settings that avoid a fault, by its question (``contract/runner``, or ``contract``)."""
    detours: tuple[Mapping[str, Json], ...] = ()
    """Whole commands that serve around faults: :class:`investigator.patches.detours.Detour`."""


Judge = Callable[[Case, Gathered], Judgement]
Repair = Callable[[Case, Gathered, Judgement, EventSink], Repairs]


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """Everything that a case needs: who is sent out, who judges, and who repairs (None: nobody)."""

    team: Team
    judge: Judge
    repair: Repair | None = None


@dataclass(frozen=True, kw_only=True)
class Conducted:
    """An investigation, and whether it was cut short by an interrupt."""

    investigation: Investigation
    interrupted: bool


def conduct(
    case: Case,
    assembly: Assembly,
    *,
    sink: EventSink = ignore,
    deadline: float = DEADLINE,
    jobs: int = JOBS,
    command: str = "",
) -> Conducted:
    """Investigate one case; blocking. ``deadline`` and ``jobs`` are as for :func:`gather`.

    Raises UsageError for a case that cannot be investigated and EvidenceError when a quote
    does not stand in its source. An interrupt while patches are made costs the patches only.
    """
    begun = time.monotonic()
    sink(
        Event(
            kind=EventKind.STARTED, agent=None, details={"engine": str(case.engine), "draft": str(case.draft)}
        )
    )
    gathered = gather(case, assembly.team, sink, deadline=deadline, jobs=jobs)
    sink(_finished("agents", begun))
    judgement = assembly.judge(case, gathered)
    said: tuple[Finding | Answer, ...] = (*judgement.findings, *gathered.answers)
    quotes = check_evidence([quote for part in said for quote in part.evidence], gathered.trees)
    repairs, interrupted = _repaired(case, gathered, judgement, assembly.repair, sink)
    investigation = Investigation(
        case=_record(case, gathered),
        default_runner=judgement.default_runner,
        default_runner_why=judgement.default_runner_why,
        sources=gathered.sources,
        agents=gathered.reports,
        answers=gathered.answers,
        findings=with_remedies(
            judgement.findings, judgement.pull_requests, repairs.patches, repairs.settings
        ),
        pull_requests=judgement.pull_requests,
        patches=repairs.patches,
        not_checked=gathered.not_checked + repairs.not_checked,
        command=command,
        tool_version=investigator.__version__,
        extra={"quotes_read_again": quotes, "patch_series": repairs.proofs, "detours": repairs.detours},
    )
    sink(_finished("run", begun))
    return Conducted(investigation=investigation, interrupted=interrupted)


def _finished(what: str, begun: float) -> Event:
    """``agents``: all are back, or given up; ``run``: judged, checked and repaired, too."""
    seconds = round(time.monotonic() - begun, 4)
    return Event(kind=EventKind.FINISHED, agent=None, details={"what": what, "seconds": seconds})


def _repaired(
    case: Case, gathered: Gathered, judgement: Judgement, repair: Repair | None, sink: EventSink
) -> tuple[Repairs, bool]:
    if gathered.interrupted:
        return Repairs(
            not_checked=(NotChecked(what="patches", why="interrupted before they were made"),)
        ), True
    if repair is None:
        return Repairs(), False
    try:
        return repair(case, gathered, judgement, sink), False
    except KeyboardInterrupt:
        return Repairs(
            not_checked=(NotChecked(what="patches", why="interrupted while they were made"),)
        ), True
    except InvestigateError as error:  # no git to try them with, say: the findings stand all the same
        why = f"{error}; {error.advice}" if error.advice else str(error)
        return Repairs(not_checked=(NotChecked(what="patches", why=why),)), False


def _record(case: Case, gathered: Gathered) -> CaseRecord:
    """The case with the revisions that were read; what was not read stays as it was asked for."""
    checkpoint = gathered.checkpoint
    draft, target = str(case.draft), str(case.target) if case.target else None
    if checkpoint is not None:
        draft = _pinned(draft, checkpoint.draft.repo, checkpoint.draft.revision)
        if checkpoint.target is not None:
            target = _pinned(target or "", checkpoint.target.repo, checkpoint.target.revision)
    return CaseRecord(
        engine=str(case.engine),
        draft=draft,
        target=target,
        references=case.references,
        pull_requests=case.pull_requests,
        environment=case.environment,
        flags=case.flags,
        method=checkpoint.method if checkpoint is not None else case.method,
    )


def _pinned(asked: str, repo: str, revision: str) -> str:
    return asked if asked.startswith("path:") or not revision else f"{repo}@{revision}"
