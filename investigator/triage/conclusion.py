"""Symptom and findings side by side: did the investigation find what the shape points to?"""

from collections.abc import Sequence
from dataclasses import dataclass

from investigator.model import Finding, Verdict
from investigator.triage.suspects import Strength, Suspect
from investigator.triage.verdict import Answer, Triage

_AT_FAULT = (Verdict.BROKEN, Verdict.PARTIAL)


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """One suspect and what was found about it; ``verdicts`` as ``v1 broken``, empty: not looked at."""

    suspect: Suspect
    verdicts: tuple[str, ...]
    at_fault: bool


def confirm(triage: Triage, findings: Sequence[Finding]) -> tuple[Confirmation, ...]:
    """Each suspect with the verdicts on its contract, in the suspects' order.

    A fault that this case's settings do not run into (``live`` is False) is listed and not counted.
    """
    found = []
    for suspect in triage.suspects:
        rows = [finding for finding in findings if finding.contract == suspect.contract]
        found.append(
            Confirmation(
                suspect=suspect,
                verdicts=tuple(_spelled(row) for row in rows),
                at_fault=any(row.verdict in _AT_FAULT and row.live is not False for row in rows),
            )
        )
    return tuple(found)


def conclusion(triage: Triage, findings: Sequence[Finding]) -> str:
    """One sentence that joins the two; empty without findings or suspects."""
    rows = confirm(triage, findings)
    if not findings or not rows:
        return ""
    guilty = [row.suspect for row in rows if row.at_fault]
    strong = [one.contract for one in guilty if one.strength is Strength.STRONG]
    if strong:
        return f"The engine was found to break {_listed(strong)}, which is known to look exactly like this."
    if guilty:
        names = _listed([one.contract for one in guilty])
        return f"The engine was found to break {names}, which can look like this."
    if any(not row.verdicts or _undecided(row) for row in rows):
        return "No contract that would look like this was found broken; some of them are not decided."
    if triage.answer is Answer.ENGINE:
        return (
            "No contract that would look like this was found broken: look at the pairing, the flags and "
            "the checkpoint's revision before blaming either side."
        )
    return "No contract that would look like this was found broken, which speaks for the engine."


def _undecided(row: Confirmation) -> bool:
    return any(verdict.endswith(Verdict.UNKNOWN.value) for verdict in row.verdicts)


def _spelled(finding: Finding) -> str:
    runner = f"{finding.runner.value} " if finding.runner else ""
    asleep = " (not in this case's settings)" if finding.live is False else ""
    return f"{runner}{finding.verdict.value}{asleep}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
