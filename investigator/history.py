"""A contract over the releases of an engine: when it broke, when it was repaired, when it broke again.

Pure functions of verdicts in release order; nothing here knows where they come from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from investigator.model import Evidence, Runner, Verdict

BAD = (Verdict.BROKEN, Verdict.PARTIAL)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One contract on one runner in one release."""

    contract: str
    runner: Runner | None
    verdict: Verdict
    why: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReleaseRow:
    """One release: its cells, or (``unread``) why it could not be read.

    ``yanked``: the index's reason, when it was withdrawn there. ``runner``: which one the case
    uses by default.
    """

    version: str
    runner: Runner | None = None
    cells: tuple[Cell, ...] = ()
    unread: str | None = None
    yanked: str | None = None


@dataclass(frozen=True, kw_only=True)
class Story:
    """What became of one contract on one runner; versions, or None where it did not happen.

    ``first_bad``: the first release seen broken. ``fixed_in``: the release that ended the
    first broken stretch by honouring it. ``regressed_in``: broken again after a fix.
    ``refused_since``: the release from which the engine refuses up to the last one read.
    """

    contract: str
    runner: Runner | None
    first_bad: str | None = None
    fixed_in: str | None = None
    regressed_in: str | None = None
    refused_since: str | None = None

    @property
    def sentence(self) -> str:
        """The story in one line."""
        parts = [
            f"first bad {self.first_bad}" if self.first_bad else "",
            f"fixed in {self.fixed_in}" if self.fixed_in else "",
            f"regressed in {self.regressed_in}" if self.regressed_in else "",
            f"refused since {self.refused_since}" if self.refused_since else "",
        ]
        return ", ".join(part for part in parts if part) or "never seen broken"


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """One drafter over the releases of one engine, oldest first.

    ``method``: the speculative method. ``deployment``: the settings that the cells hold for, variables
    by name and server flags by ``--name``.
    """

    engine: str
    draft: str
    rows: tuple[ReleaseRow, ...]
    method: str | None = None
    deployment: Mapping[str, str] = field(default_factory=dict)

    @property
    def questions(self) -> tuple[tuple[str, Runner | None], ...]:
        """Every (contract, runner) pair that occurs, in order of first occurrence."""
        return tuple(dict.fromkeys((c.contract, c.runner) for row in self.rows for c in row.cells))

    @property
    def stories(self) -> tuple[Story, ...]:
        """What became of each contract."""
        return tuple(story(self.rows, contract, runner) for contract, runner in self.questions)


def story(rows: Sequence[ReleaseRow], contract: str, runner: Runner | None) -> Story:
    """The story of one contract on one runner over rows in release order."""
    verdicts = [
        (row.version, cell.verdict)
        for row in rows
        for cell in row.cells
        if cell.contract == contract and cell.runner is runner
    ]
    first_bad = fixed = regressed = None
    for version, verdict in verdicts:
        if verdict in BAD:
            if fixed is not None and regressed is None:
                regressed = version
            first_bad = first_bad or version
        elif verdict is Verdict.HONOURED and first_bad is not None:
            fixed = fixed or version
    return Story(
        contract=contract,
        runner=runner,
        first_bad=first_bad,
        fixed_in=fixed,
        regressed_in=regressed,
        refused_since=_refused_since(verdicts),
    )


def _refused_since(verdicts: Sequence[tuple[str, Verdict]]) -> str | None:
    since = None
    for version, verdict in reversed(verdicts):
        if verdict is not Verdict.REFUSED:
            break
        since = version
    return since
