"""A symptom on its way through a command: read once, then part of the case and of the reports."""

from collections.abc import Set
from dataclasses import dataclass, replace

from investigator.case import Case
from investigator.model import Investigation
from investigator.reports.triage_section import Opening, as_json, brief_lines, opening
from investigator.triage import Triage, case_hints, judge, load_figures, open_symptom, read_symptom
from investigator.triage.taken import completed, taken

LIMITED = "limited draft tokens"


@dataclass(frozen=True)
class Seen:
    """What a symptom showed, the case that it and the options make, and ``notes`` on how."""

    triage: Triage
    case: Case
    notes: tuple[str, ...]

    def told(self, investigation: Investigation) -> Investigation:
        """The investigation with what triage concludes under ``extra["triage"]``."""
        said = as_json(self.triage, investigation.findings, notes=self.notes)
        return replace(investigation, extra={**investigation.extra, "triage": said})

    def opening(self, investigation: Investigation) -> Opening:
        """What a report opens with."""
        return opening(self.triage, investigation.findings, notes=self.notes)

    def brief(self, investigation: Investigation) -> list[str]:
        """What stands above the verdicts on a terminal."""
        return brief_lines(self.triage, investigation.findings)


def read(name: str, case: Case, given: Set[str] = frozenset()) -> Seen:
    """Read a symptom (a file, or ``-``) and take from it what no option gave. Raises UsageError."""
    with open_symptom(name) as stream:
        symptom = completed(read_symptom(stream), case, given)
    triage = judge(symptom, load_figures(), block_size=case.block_size)
    limited = any(one.name == LIMITED for one in triage.confounders)
    found = taken(case, case_hints(symptom), given, limited=limited)
    return Seen(triage, found.case, found.notes)
