"""Two engines side by side for one drafter; pure results, made by :mod:`investigator.compare`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from investigator.model import Evidence, Finding, Remedy, Runner, Source, Verdict

DONE = (Verdict.HONOURED, Verdict.BROKEN, Verdict.PARTIAL)
"""Verdicts about something that the engine does."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One engine, asked. ``runner``: which one the case uses there by default; None where there is
    one path, or where that is not known. ``settings``: what avoids a fault, by contract."""

    name: str
    source: Source
    runner: Runner | None
    findings: tuple[Finding, ...]
    settings: Mapping[str, tuple[Remedy, ...]]

    def finding(self, contract: str, runner: Runner | None) -> Finding | None:
        """What was found out about a contract on a runner; None when it was not asked."""
        mine = [finding for finding in self.findings if finding.contract == contract]
        wanted = (runner, None) if runner is not None else (None, self.runner)
        return next((f for r in wanted for f in mine if f.runner is r), None)

    def evidence(self, finding: Finding | None) -> tuple[Evidence, ...]:
        """A finding's lines in the engine itself."""
        shown = finding.evidence if finding is not None else ()
        return tuple(each for each in shown if each.source == self.source.id)


@dataclass(frozen=True, kw_only=True)
class Change:
    """What became of one function from the first engine to the second, as a unified diff."""

    path: str
    function: str
    diff: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """One promise on both sides. ``a``/``b`` None: that engine is not asked about it.

    ``in_use``: both findings are about the runner that the case uses there by default.
    ``settings``: what makes the side that does not keep it equal to the other.
    """

    contract: str
    a: Finding | None
    b: Finding | None
    in_use: bool = True
    settings: tuple[Remedy, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether the two sides stand differently to the promise."""
        return self.a is not None and self.b is not None and self.a.verdict is not self.b.verdict

    @property
    def differs_in_kind(self) -> bool:
        """Whether both keep, or both break, the promise, each in its own way."""
        if self.differs or self.a is None or self.b is None or self.a.verdict not in DONE:
            return False
        return self.a.why != self.b.why


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two engines side by side for one drafter.

    ``method``: the speculative method. ``deployment``: the settings that the rows hold for, variables
    by name and server flags by ``--name``.
    """

    draft: str
    target: str | None
    a: Side
    b: Side
    rows: tuple[Row, ...]
    method: str | None = None
    deployment: Mapping[str, str] = field(default_factory=dict)

    @property
    def differences(self) -> tuple[Row, ...]:
        """The promises that the two keep differently, those in use first."""
        found = [row for row in self.rows if row.differs]
        return tuple(sorted(found, key=lambda row: not row.in_use))

    @property
    def undecided(self) -> tuple[Row, ...]:
        """Promises in use for which a side has no verdict."""
        return tuple(
            row
            for row in self.rows
            if row.in_use and any(f and f.verdict is Verdict.UNKNOWN for f in (row.a, row.b))
        )
