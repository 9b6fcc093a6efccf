"""``issue.md``: a bug report for the engine's tracker, ready to be read over and posted."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from investigator.model import Evidence, Finding, Investigation, Patch, Role, Source, SourceKind, Verdict
from investigator.reports import blocks, content, rows, summary
from investigator.reports.escape import shortened
from investigator.reports.markdown import template

if TYPE_CHECKING:
    from investigator.reports.triage_section import Opening

REPORTED = (Verdict.BROKEN, Verdict.PARTIAL)
TITLE = 120
"""Characters of a title that a tracker shows whole."""
PATCHES = 30_000
"""Characters of patches that an issue has room for: GitHub takes 65,536 in all."""


def render(investigation: Investigation, opening: "Opening | None" = None) -> str:
    """The issue's text as GitHub-flavoured Markdown; its first lines propose a title.

    ``opening``: what a symptom says; its measurements are reported, not what they are taken for.
    """
    reported = tuple(f for f in summary.ordered(investigation) if f.verdict in REPORTED)
    engine = {answer.source for answer in investigation.answers if answer.role is Role.ENGINE}
    text = template("issue.md.j2").render(
        run=investigation,
        reported=reported,
        opening=_opening(investigation, reported),
        measured=blocks.as_markdown(opening.measured) if opening and opening.measured else "",
        title=title(investigation, reported),
        patches=_fitting(investigation.patches),
        command=without_folder(investigation.command),
        sources=_quoted(investigation, reported),
        repairs=lambda finding: content.repairs(investigation, finding),
        by_engine=lambda finding: by_engine(finding, engine),
        permalink=lambda evidence: summary.permalink(investigation, evidence),
        revision_of={source.id: summary.source_label(source) for source in investigation.sources},
    )
    return text.strip() + "\n"


def title(investigation: Investigation, reported: Sequence[Finding]) -> str:
    """A title as trackers have them: what, where, and no more than they show."""
    names = [finding.contract for finding in reported]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    said = ", ".join(names[:3]) + more
    if len(names) == 1:
        said = f"{names[0]}: {reported[0].why}"
    where = f"{investigation.case.draft.partition('@')[0]} on {investigation.case.engine}"
    return shortened(f"[Bug]: {where}: {said or 'nothing found'}", TITLE)


def without_folder(command: str) -> str:
    """The command with the symptom's file by its name alone: where it lies is the reporter's business."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if "--symptom" not in words[:-1]:
        return command
    place = words.index("--symptom") + 1
    words[place] = words[place].rpartition("/")[2] or words[place]
    return shlex.join(words)


def by_engine(finding: Finding, engine: set[str]) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """The decisive places in the engine, which its maintainers look at first, and those elsewhere."""
    shown, _ = rows.decisive(finding)
    return (
        tuple(item for item in shown if item.source in engine),
        tuple(item for item in shown if item.source not in engine),
    )


def _opening(investigation: Investigation, reported: Sequence[Finding]) -> str:
    draft = investigation.case.draft.partition("@")[0]
    number = "one promise" if len(reported) == 1 else f"{len(reported)} promises"
    return (
        f"{investigation.case.engine} does not keep {number} that the drafter {draft} was trained on, as its "
        "authors' code and its config have them."
    )


def _fitting(patches: Sequence[Patch]) -> tuple[Patch, ...]:
    """All patches, or none where they would leave no room for the rest."""
    return tuple(patches) if sum(len(patch.text) for patch in patches) <= PATCHES else ()


def _quoted(investigation: Investigation, reported: Sequence[Finding]) -> tuple[Source, ...]:
    """The sources that the issue quotes; a pull request is no evidence."""
    used = {item.source for finding in reported for item in finding.evidence}
    return tuple(s for s in investigation.sources if s.id in used and s.kind is not SourceKind.GITHUB)
