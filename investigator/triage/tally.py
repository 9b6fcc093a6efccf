"""Running totals of log lines: constant memory, however long the input is."""

import math
import re
from collections import Counter
from collections.abc import Iterable

from investigator.triage.symptom import LengthPoint

NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,12})?"
_RATES = re.compile(r"[0-9](?:\.[0-9]{1,12})?")
MAX_POSITIONS = 256
"""No drafter proposes more tokens at once; a longer list is not a list of positions."""


def number(text: str | None) -> float | None:
    """A plain decimal number, or None."""
    return float(text) if text and re.fullmatch(NUMBER, text) else None


def rates(text: str) -> tuple[float, ...]:
    """The numbers of a per-position list, or nothing when one of them is no share of drafts."""
    found = [part.strip() for part in text.strip(" ,").split(",")]
    if not found or len(found) > MAX_POSITIONS or not all(_RATES.fullmatch(part) for part in found):
        return ()
    values = tuple(float(part) for part in found)
    return values if all(value <= 1 for value in values) else ()


ENOUGH_DRAFTS = 100
APART = 3
"""Intervals of this many drafts whose accepted tokens a draft are this many times apart show two things."""


class Positions:
    """Per-position acceptance pooled over drafts, kept apart by number of positions."""

    def __init__(self) -> None:
        self._sums: dict[int, list[float]] = {}
        self._drafts: Counter[int] = Counter()

    def add(self, values: Iterable[float], drafts: int) -> None:
        """One reading: share of ``drafts`` accepted at each position."""
        row = tuple(values)
        if row and len(row) <= MAX_POSITIONS and drafts > 0:
            sums = self._sums.setdefault(len(row), [0.0] * len(row))
            for index, value in enumerate(row):
                sums[index] += value * drafts
            self._drafts[len(row)] += drafts

    @property
    def widths(self) -> tuple[int, ...]:
        """The numbers of positions seen, the one with most drafts first."""
        return tuple(width for width, _ in self._drafts.most_common())

    def pooled(self) -> tuple[float, ...]:
        """The rates of the width with most drafts."""
        if not self._drafts:
            return ()
        width, drafts = self._drafts.most_common(1)[0]
        return tuple(min(1.0, value / drafts) for value in self._sums[width])


class Spread:
    """The lowest and the highest AL among intervals that have enough drafts to count."""

    def __init__(self) -> None:
        self._least, self._most = math.inf, 1.0

    def add(self, length: float, drafts: float) -> None:
        """One interval."""
        if drafts >= ENOUGH_DRAFTS:
            self._least, self._most = min(self._least, length), max(self._most, length)

    @property
    def apart(self) -> tuple[float, float] | None:
        """Both, where they are too far apart to be one deployment on one kind of text."""
        far = self._most - 1 > APART * (self._least - 1)
        return (self._least, self._most) if far else None

    def remarks(self) -> tuple[str, ...]:
        """What to mind about it."""
        if self.apart is None:
            return ()
        return (
            f"its parts differ too much to be one thing, AL {self._least:.2f} to {self._most:.2f}: several "
            "deployments or ranks in one input, or another kind of text; read them one at a time",
        )


class ByContext:
    """Acceptance by context length, in buckets that double."""

    def __init__(self) -> None:
        self._buckets: dict[int, list[float]] = {}

    def add(self, context: float, length: float, weight: float) -> None:
        """One reading at about ``context`` tokens a request."""
        if 1 <= context <= 1e9 and weight > 0:
            bucket = self._buckets.setdefault(int(context).bit_length(), [0.0, 0.0, 0.0])
            bucket[0] += context * weight
            bucket[1] += length * weight
            bucket[2] += weight

    def points(self) -> tuple[LengthPoint, ...]:
        """One point a bucket, shortest context first."""
        return tuple(
            LengthPoint(context_tokens=context / weight, length=length / weight, weight=weight)
            for _, (context, length, weight) in sorted(self._buckets.items())
        )
