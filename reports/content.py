"""What the templates of a report are given: the same parts, in the same order, in every format."""

from typing import Any

from investigator.model import Evidence, Investigation, Runner, Verdict
from investigator.reports import rows, series_section, summary
from investigator.reports.escape import shortened


def of(investigation: Investigation) -> dict[str, Any]:
    """The parts of a report, by the names that the templates use."""
    return {
        "run": investigation,
        "rows": rows.table_rows(investigation),
        "explained": rows.to_explain(investigation, in_use=True),
        "elsewhere": rows.to_explain(investigation, in_use=False),
        "other_runner": _other(investigation.default_runner),
        "sound": rows.with_verdict(investigation, Verdict.HONOURED),
        "needless": rows.with_verdict(investigation, Verdict.NOT_APPLICABLE),
        "unknown": rows.with_verdict(investigation, Verdict.UNKNOWN),
        "series": series_section.series_blocks(investigation),
        "detours": series_section.detour_blocks(investigation),
        "headline": summary.headline(investigation),
        "legend": summary.counted(investigation.findings),
        "permalink": lambda evidence: summary.permalink(investigation, evidence),
        "telling": lambda finding: rows.telling(investigation, finding),
        "mode": lambda finding: summary.failure_mode(finding, investigation),
        "accepted": lambda finding: summary.is_accepted(finding, investigation),
        "source_of": {source.id: source for source in investigation.sources},
        "revision_of": {source.id: summary.source_label(source) for source in investigation.sources},
    }


def in_one_line(evidence: Evidence) -> str:
    """The quoted lines as one, without indentation, at most 88 characters."""
    return shortened(" ".join(evidence.quote.split()), 88)


def _other(runner: Runner | None) -> Runner | None:
    """The runner that is not in use; None where none is known to be."""
    return next((other for other in Runner if other is not runner), None) if runner else None
