"""``issue.md``: a bug report for the engine's tracker, ready to be read over and posted."""

from typing import TYPE_CHECKING

from investigator.model import Investigation, Verdict
from investigator.reports import blocks, summary
from investigator.reports.markdown import template

if TYPE_CHECKING:
    from investigator.reports.triage_section import Opening

REPORTED = (Verdict.BROKEN, Verdict.PARTIAL)


def render(investigation: Investigation, opening: "Opening | None" = None) -> str:
    """The issue's text as GitHub-flavoured Markdown; its first line proposes a title.

    ``opening``: what a symptom says; its measurements are reported, not what they are taken for.
    """
    reported = [f for f in summary.ordered(investigation) if f.verdict in REPORTED]
    text = template("issue.md.j2").render(
        run=investigation,
        reported=reported,
        measured=blocks.as_markdown(opening.measured) if opening and opening.measured else "",
        title=f"{_draft(investigation)}: {', '.join(summary.title(f) for f in reported) or 'nothing found'}",
        permalink=lambda evidence: summary.permalink(investigation, evidence),
        revision_of={source.id: summary.source_label(source) for source in investigation.sources},
    )
    return text.strip() + "\n"


def _draft(investigation: Investigation) -> str:
    return investigation.case.draft.partition("@")[0]
