"""What a report shows first, and what it folds away: the rows of its table, the decisive evidence."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from investigator.model import Evidence, Finding, Investigation, Role, Runner, Verdict
from investigator.reports import summary

TOGETHER = (Verdict.NOT_APPLICABLE, Verdict.HONOURED)
"""Verdicts that need no words of their own: findings that share one share a row."""

FOR_ONE_REASON = (Verdict.REFUSED, Verdict.UNSUPPORTED, Verdict.UNKNOWN)
"""Verdicts that often have one cause: findings that share verdict and reason share a row."""

SHOWN_PLACES = 8
"""A finding with more evidence than this shows its decisive places, and says how many more there are."""

_KEY = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+")


@dataclass(frozen=True)
class Row:
    """One row: a finding with a word of its own, or several findings with one verdict."""

    findings: tuple[Finding, ...]
    in_use: bool

    @property
    def one(self) -> Finding | None:
        """The finding of a row that holds only one."""
        return self.findings[0] if len(self.findings) == 1 else None

    @property
    def verdict(self) -> Verdict:
        """The verdict that all of them share."""
        return self.findings[0].verdict

    @property
    def runner(self) -> Runner | None:
        """The runner that they are about."""
        return next((finding.runner for finding in self.findings if finding.runner), None)

    @property
    def contracts(self) -> tuple[str, ...]:
        """The contracts' ids."""
        return tuple(finding.contract for finding in self.findings)

    @property
    def why(self) -> str:
        """The one reason of all; empty where each has its own."""
        return self.findings[0].why if self.one or self.verdict in FOR_ONE_REASON else ""


def table_rows(investigation: Investigation) -> tuple[Row, ...]:
    """Every finding in a row, the runner in use first, then the worst news."""
    rows: dict[tuple[object, ...], list[Finding]] = {}
    known = investigation.default_runner is not None
    for finding in summary.ordered(investigation):
        here = summary.in_use(finding, investigation)
        key: tuple[object, ...] = (here, finding.contract, finding.runner)
        if finding.verdict in (*TOGETHER, *FOR_ONE_REASON):
            reason = finding.why if finding.verdict in FOR_ONE_REASON else None
            key = (here, None if known and here else finding.runner, finding.verdict, reason)
        rows.setdefault(key, []).append(finding)
    return tuple(Row(tuple(found), summary.in_use(found[0], investigation)) for found in rows.values())


def to_explain(investigation: Investigation, *, in_use: bool) -> tuple[Finding, ...]:
    """Findings that get a section of their own, on the runner in use or on the other."""
    return tuple(
        finding
        for finding in summary.ordered(investigation)
        if finding.verdict in summary.TO_EXPLAIN and summary.in_use(finding, investigation) is in_use
    )


def with_verdict(investigation: Investigation, *verdicts: Verdict) -> tuple[Finding, ...]:
    """Findings on the runner in use with one of these verdicts."""
    return tuple(
        finding
        for finding in summary.ordered(investigation)
        if finding.verdict in verdicts and summary.in_use(finding, investigation)
    )


def decisive(finding: Finding) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """The evidence to show, and the rest, each in the order in which the value travels.

    Where there is much of it, what counts are the places about the config keys that the
    finding names; without any, the first of each source.
    """
    every = finding.evidence
    if len(every) <= SHOWN_PLACES:
        return every, ()
    named = set(_KEY.findall(f"{finding.why} {finding.happens}"))
    about = [item for item in every if named & set(_KEY.findall(item.role))]
    chosen = (about or list(_first_of_each(every)))[:SHOWN_PLACES]
    return tuple(chosen), tuple(item for item in every if item not in chosen)


def _first_of_each(evidence: Iterable[Evidence], most: int = 3) -> Iterable[Evidence]:
    seen: dict[str, int] = {}
    for item in evidence:
        seen[item.source] = seen.get(item.source, 0) + 1
        if seen[item.source] <= most:
            yield item


def telling(investigation: Investigation, finding: Finding) -> Evidence | None:
    """The one place that shows a kept promise: the first one in the engine, else the first."""
    engine = {answer.source for answer in investigation.answers if answer.role is Role.ENGINE}
    there = [item for item in finding.evidence if item.source in engine]
    return next(iter(there or finding.evidence), None)
