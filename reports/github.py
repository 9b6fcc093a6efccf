"""For GitHub Actions: annotations on standard output, and the report as the step's summary."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from investigator.model import Finding, Investigation, SourceKind, Verdict
from investigator.reports import markdown, summary
from investigator.reports.escape import workflow_data, workflow_property

if TYPE_CHECKING:
    from investigator.reports.triage_section import Opening

COMMANDS: dict[Verdict, str] = {
    Verdict.BROKEN: "error",
    Verdict.PARTIAL: "warning",
    Verdict.REFUSED: "warning",
    Verdict.UNKNOWN: "notice",
}
SUMMARY_LIMIT = 1024 * 1024
"""Bytes that GitHub takes for the summary of one step."""
CUT_NOTE = "\n\nThe report is longer than a step's summary may be; the run folder has all of it.\n"


def render(investigation: Investigation) -> str:
    """One workflow command for each finding that needs attention on the runner in use."""
    lines = [
        _annotation(investigation, finding)
        for finding in summary.ordered(investigation)
        if finding.verdict in COMMANDS
        and summary.in_use(finding, investigation)
        and not summary.is_accepted(finding, investigation)
    ]
    return "".join(f"{line}\n" for line in lines)


def append_step_summary(investigation: Investigation, opening: "Opening | None" = None) -> None:
    """Add the report to the file that GITHUB_STEP_SUMMARY names; nothing without one."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    path = Path(name)
    room = SUMMARY_LIMIT - (path.stat().st_size if path.exists() else 0)
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(cut(markdown.render(investigation, opening), room))


def cut(text: str, limit: int) -> str:
    """The text, or its first whole lines and a note, at most ``limit`` bytes in UTF-8."""
    data = text.encode()
    if len(data) <= limit:
        return text
    note = CUT_NOTE.encode()
    if limit < len(note):
        return ""
    kept = data[: limit - len(note)]
    return kept[: kept.rfind(b"\n") + 1].decode() + CUT_NOTE


def _annotation(investigation: Investigation, finding: Finding) -> str:
    properties = {"title": f"{summary.title(finding)}: {finding.verdict.value}"}
    here = {source.id for source in investigation.sources if source.kind is SourceKind.FOLDER}
    message = finding.why
    if finding.evidence:
        first = finding.evidence[0]
        message += f" ({first.source}: {summary.place(first)})"
        if first.source in here:
            properties |= {"file": first.path, "line": str(first.line), "endLine": str(first.end_line)}
    named = ",".join(f"{key}={workflow_property(value)}" for key, value in properties.items())
    return f"::{COMMANDS[finding.verdict]} {named}::{workflow_data(message)}"
