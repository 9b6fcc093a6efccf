"""Numbers out of counters: intervals over prompts, paired by prompt.

Prompts are drawn with replacement, all drafts of a prompt together: drafts of one text are
alike, so treating each as independent would make intervals far too narrow. Every variant is
computed on the same draws, so that what is hard about a prompt cancels in a difference. The
percentile interval is widened as Hesterberg's "expanded percentile" does, which makes up for
the bootstrap's too small spread with few prompts.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from investigator.validation.results import Count, VariantResult

DRAWS = 2000
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A value with its interval; ``low`` and ``high`` are None where prompts gave no spread."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def decided(self) -> str:
        """``gain``, ``loss``, or ``none`` when the interval holds zero or is missing."""
        if self.low is not None and self.low > 0:
            return "gain"
        if self.high is not None and self.high < 0:
            return "loss"
        return "none"


class Sample:
    """Acceptance lengths of several variants over the same prompts, resampled together."""

    def __init__(
        self,
        counts: Mapping[str, Mapping[int, Count]],
        seed: int = 0,
        draws: int = DRAWS,
        level: float = LEVEL,
    ) -> None:
        """``counts``: variant -> prompt -> counters. Prompts that a variant lacks are left out."""
        shared = set.intersection(*(set(rows) for rows in counts.values())) if counts else set()
        self.prompts = tuple(sorted(shared))
        self._level = level
        self._rows = {name: [rows[p] for p in self.prompts] for name, rows in counts.items()}
        source = random.Random(seed)  # noqa: S311 - statistics, not secrets
        places = range(len(self.prompts))
        self._draws = [source.choices(places, k=len(places)) for _ in range(draws)] if len(places) > 1 else []
        self._drawn: dict[str, list[float]] = {}

    def acceptance_length(self, variant: str) -> Estimate:
        """1 + accepted ÷ drafts, pooled over prompts."""
        return self._estimate(_ratio(self._rows[variant]), self._lengths(variant))

    def difference(self, variant: str, base: str) -> Estimate:
        """AL of ``variant`` minus AL of ``base``."""
        value = _ratio(self._rows[variant]) - _ratio(self._rows[base])
        pairs = zip(self._lengths(variant), self._lengths(base), strict=True)
        return self._estimate(value, [a - b for a, b in pairs])

    def proportion(self, variant: str, base: str) -> Estimate:
        """AL of ``variant`` ÷ AL of ``base``."""
        value = _ratio(self._rows[variant]) / _ratio(self._rows[base])
        pairs = zip(self._lengths(variant), self._lengths(base), strict=True)
        return self._estimate(value, [a / b for a, b in pairs])

    def per_position(self, variant: str) -> tuple[Estimate, ...]:
        """For each position, the share of drafts that had that token accepted."""
        rows = self._rows[variant]
        width = max((len(row.per_position) for row in rows), default=0)
        drafts = [row.drafts for row in rows]
        estimates = []
        for position in range(width):
            hits = [row.per_position[position] if position < len(row.per_position) else 0 for row in rows]
            drawn = [_share(draw, hits, drafts) for draw in self._draws]
            estimates.append(self._estimate(_share(range(len(rows)), hits, drafts), drawn))
        return tuple(estimates)

    def _lengths(self, variant: str) -> list[float]:
        if variant not in self._drawn:
            rows = self._rows[variant]
            accepted, drafts = [row.accepted for row in rows], [row.drafts for row in rows]
            self._drawn[variant] = [1 + _share(draw, accepted, drafts) for draw in self._draws]
        return self._drawn[variant]

    def _estimate(self, value: float, drawn: Sequence[float]) -> Estimate:
        if not drawn:
            return Estimate(value)
        tail = expanded_tail(len(self.prompts), self._level)
        ordered = sorted(drawn)
        return Estimate(value, _quantile(ordered, tail), _quantile(ordered, 1 - tail))


def expanded_tail(count: int, level: float) -> float:
    """The share of draws to leave out at each end, for ``count`` prompts."""
    quantile = student_quantile((1 + level) / 2, count - 1)
    return NormalDist().cdf(-quantile * math.sqrt(count / (count - 1)))


def student_quantile(p: float, freedom: int) -> float:
    """Student's t quantile by Cornish-Fisher expansion; within 1 % from 4 degrees of freedom on."""
    z = NormalDist().inv_cdf(p)
    f = float(freedom)
    return (
        z
        + (z**3 + z) / (4 * f)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * f**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * f**3)
    )


@dataclass(frozen=True, kw_only=True)
class Sameness:
    """How far two variants wrote the same text. ``parted_at``: median token of the first difference."""

    identical: int
    prompts: int
    parted_at: int | None


def compare_outputs(one: VariantResult, other: VariantResult) -> Sameness | None:
    """Compare the fresh passes' outputs, prompt by prompt; None where one has none."""
    if one.fresh is None or other.fresh is None or not one.fresh.outputs or not other.fresh.outputs:
        return None
    parted = []
    for left, right in zip(one.fresh.outputs, other.fresh.outputs, strict=False):
        if left != right:
            parted.append(next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0))
    prompts = min(len(one.fresh.outputs), len(other.fresh.outputs))
    middle = sorted(parted)[len(parted) // 2] if parted else None
    return Sameness(identical=prompts - len(parted), prompts=prompts, parted_at=middle)


def _ratio(rows: Sequence[Count]) -> float:
    return 1 + sum(row.accepted for row in rows) / max(1, sum(row.drafts for row in rows))


def _share(draw: Sequence[int], part: Sequence[int], whole: Sequence[int]) -> float:
    return sum(part[i] for i in draw) / max(1, sum(whole[i] for i in draw))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
