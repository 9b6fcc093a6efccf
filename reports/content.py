"""What the templates of a report are given: the same parts, in the same order, in every format."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from investigator.model import Evidence, Finding, Investigation, PullRequest, RemedyKind, Runner, Verdict
from investigator.reports import advice, blocks, rows, series_section, summary
from investigator.reports.escape import shortened


def of(investigation: Investigation) -> dict[str, Any]:
    """The parts of a report, by the names that the templates use."""
    return {
        "run": investigation,
        "rows": rows.table_rows(investigation),
        "explained": rows.to_explain(investigation, in_use=True),
        "elsewhere": rows.to_explain(investigation, in_use=False),
        "aside": tuple(row for row in rows.table_rows(investigation) if not row.in_use),
        "aside_counts": summary.counted(
            f for f in investigation.findings if not summary.in_use(f, investigation)
        ),
        "commands": commands(investigation.pull_requests),
        "unchecked": unchecked(investigation),
        "has_runners": any(finding.runner for finding in investigation.findings),
        "other_runner": _other(investigation.default_runner),
        "sound": rows.with_verdict(investigation, Verdict.HONOURED),
        "needless": rows.with_verdict(investigation, Verdict.NOT_APPLICABLE),
        "series": series_section.series_blocks(investigation),
        "detours": series_section.detour_blocks(investigation),
        "headline": summary.headline(investigation),
        "own_method": summary.own_method(investigation.case.method),
        "advice": advice.advice(investigation),
        "explained_verdicts": summary.TO_EXPLAIN,
        "counts": summary.counted(f for f in investigation.findings if summary.in_use(f, investigation)),
        "legend": summary.counted(investigation.findings),
        "permalink": lambda evidence: summary.permalink(investigation, evidence),
        "telling": lambda finding: rows.telling(investigation, finding),
        "repairs": lambda finding: repairs(investigation, finding),
        "ways_out": lambda finding: ways_out(repairs(investigation, finding)),
        "in_short": lambda row: in_short(investigation, row),
        "mode": lambda finding: summary.failure_mode(finding, investigation),
        "accepted": lambda finding: summary.is_accepted(finding, investigation),
        "source_of": {source.id: source for source in investigation.sources},
        "revision_of": {source.id: summary.source_label(source) for source in investigation.sources},
    }


def in_one_line(evidence: Evidence) -> str:
    """The quoted lines as one, without indentation, at most 88 characters."""
    return shortened(" ".join(evidence.quote.split()), 88)


@dataclass(frozen=True)
class Repair:
    """One remedy of a finding, ready to be drawn. ``link``: a file of the run folder, or an address.

    ``in_part``: the finding is ``partial`` afterwards.
    """

    kind: RemedyKind
    name: str
    link: str | None
    said: str
    in_part: bool = False


def repairs(investigation: Investigation, finding: Finding) -> tuple[Repair, ...]:
    """A finding's remedies, the patches that repair a part of it last.

    What a pull request is stands in its own section.
    """
    state = {
        pull.ref: pull.state.value + (f" {pull.merged_at:%Y-%m-%d}" if pull.merged_at else "")
        for pull in investigation.pull_requests
    }
    made = []
    for remedy in finding.remedies:
        name, said, link = remedy.ref, remedy.effect, None
        if remedy.kind is RemedyKind.PATCH:
            name = remedy.ref.rpartition("/")[2]
            link = _file(name)
        elif remedy.kind is RemedyKind.PULL_REQUEST:
            said, link = state.get(remedy.ref, said), blocks.reference_url(remedy.ref)
        made.append(Repair(remedy.kind, name, link, said))
    for patch in investigation.patches:
        if finding.question in patch.proof.eased:
            made.append(Repair(RemedyKind.PATCH, patch.name, _file(patch.name), patch.subject, in_part=True))
    return tuple(made)


def _file(patch: str) -> str:
    return f"patches/{summary.quoted_path(patch)}"


def in_short(investigation: Investigation, row: rows.Row) -> tuple[Repair, ...]:
    """What to do about a row's findings, each remedy once; pull requests where nothing nearer is whole."""
    found = tuple(dict.fromkeys(way for finding in row.findings for way in repairs(investigation, finding)))
    near = tuple(way for way in found if way.kind is not RemedyKind.PULL_REQUEST)
    return near if any(not way.in_part for way in near) else found


def ways_out(found: tuple[Repair, ...]) -> tuple[tuple[str, tuple[Repair, ...]], ...]:
    """The remedies by what they do: those that repair, those that repair a part, those that avoid."""
    whole = tuple(way for way in found if not way.in_part)
    sorts = {
        "Repaired by": tuple(way for way in whole if way.kind is not RemedyKind.SETTING),
        "Repaired in part by": tuple(way for way in found if way.in_part),
        "Avoided by": tuple(way for way in whole if way.kind is RemedyKind.SETTING),
    }
    return tuple((words, ways) for words, ways in sorts.items() if ways)


def commands(pulls: Sequence[PullRequest]) -> str:
    """What brings each pull request that the engine does not hold to it, for a shell."""
    needed = [pull for pull in pulls if pull.commands and not pull.contained]
    return "\n\n".join("\n".join((f"# {pull.ref}", *pull.commands)) for pull in needed)


@dataclass(frozen=True)
class Unchecked:
    """What was not decided or not looked at for one reason. ``contracts``: findings; ``others``: in words."""

    why: str
    contracts: tuple[str, ...]
    others: tuple[str, ...]


def unchecked(investigation: Investigation) -> tuple[Unchecked, ...]:
    """Everything that is open, each reason once; what a finding says is not said of its source again."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for finding in rows.with_verdict(investigation, Verdict.UNKNOWN):
        found.setdefault(finding.why, ([], []))[0].append(summary.title(finding))
    known = {finding.why for finding in investigation.findings if finding.verdict is Verdict.UNKNOWN}
    for item in investigation.not_checked:
        if item.why not in known:
            found.setdefault(item.why, ([], []))[1].append(item.what)
    return tuple(Unchecked(why, tuple(titles), tuple(whats)) for why, (titles, whats) in found.items())


def _other(runner: Runner | None) -> Runner | None:
    """The runner that is not in use; None where none is known to be."""
    return next((other for other in Runner if other is not runner), None) if runner else None
