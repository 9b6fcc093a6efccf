"""The shape of a symptom: where in the block, and when, acceptance is lost.

Every threshold stands here with its reason. Figures named are rows of ``figures.json`` or
public reports; all are acceptance of greedy or sampled chains, position 1 being the first
drafted token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from investigator.triage.figures import Range
from investigator.triage.symptom import LengthPoint, PrefixCache, Symptom

MIN_DRAFTS = 100
"""With fewer, a per-position rate is known to no better than ±10 points (95 %, at 50 %)."""

NEAR_RANDOM_LENGTH = 1.5
"""Between the highest AL of a collapse that was measured (1.34, vllm#50169) and what the weakest
published drafter (2.72, EAGLE-3 on MT-Bench) keeps under one confounder (42 %: 1.72)."""

NEAR_RANDOM_FIRST = 0.35
"""Collapsed engines still accept 16 to 34 % at position 1 (the seed case 16 %, speculators#613
17 to 34 %, vllm-ascend#10023 30 %): the anchor token alone predicts that much. Sound drafters
in the same threads start at 60 % and above."""

EARLY_DECAY = 0.6
"""Conditional acceptance at positions 2 to 4 ÷ acceptance at position 1. Sound engines measured
0.67 to 0.80 (H200, tiny and micro pair) and 0.78 to 0.84 (public logs); a broken one 0.33
(vllm#51009)."""

CUT_OFF = 0.1
"""A position counts as cut off when it accepts less than this share of what the positions before
it lead one to expect, and at least EXPECTED_AT_CUT acceptances were expected there."""
EXPECTED_AT_CUT = 10

LONG_LOSS = 0.7
"""Accepted tokens at long contexts ÷ at short ones. Running window layers as full attention kept
52 and 64 % at 16K and 6K (lucebox#129); a figure above 70 % is within what texts differ by."""
LONG_FACTOR = 2.0
LONG_FROM = 2048
"""The window of the drafters this was seen with; a shorter context cannot show the effect."""

ENOUGH_QUERIES = 10_000
"""Queried tokens before 'no hits' means anything: several blocks of the largest hit unit reported
for hybrid targets (2,304 tokens)."""

HEALTHY_WITHOUT_FIGURE = 2.72
"""The lowest AL published for a working drafter (EAGLE-3, Qwen3-8B, MT-Bench)."""

SAME_WITHIN = 0.9
"""Harnesses differ by this much on one engine: vLLM's own test is content with 6.06 on GSM8K where
the authors print 6.55 (91 % of the accepted tokens), and 4.11 for 4.25 on MT-Bench (96 %)."""

NOTHING = 0.01
"""Below 1 % at position 1 not even the anchor token helps: what is drafted is not the target's
vocabulary or never reaches the verifier (AL 1.00 in vllm#45343 and with a padded vocabulary)."""


class Shape(StrEnum):
    """What the numbers look like."""

    NOTHING = "nothing accepted"
    NEAR_RANDOM = "near random"
    DECAYS_EARLY = "decays early"
    CUT_OFF = "cut off at a position"
    LONG_CONTEXTS = "fine until long contexts"
    NO_PREFIX_HITS = "no prefix hits"
    EVENLY_LOW = "evenly low"
    HEALTHY = "healthy"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, kw_only=True)
class ShapeReading:
    """One shape and the figures that make it; ``position`` where a cut-off begins."""

    shape: Shape
    why: str
    position: int | None = None


def read_shapes(symptom: Symptom, expected: Range | None) -> tuple[ShapeReading, ...]:
    """All shapes the symptom shows, the one that matters most first; never empty.

    ``expected``: the published range for this pair, brought to its number of draft tokens.
    """
    found = [*_of_acceptance(symptom, expected)]
    if (reading := no_prefix_hits(symptom)) is not None:
        found.append(reading)
    return tuple(found)


def no_prefix_hits(symptom: Symptom) -> ShapeReading | None:
    """Prefix caching is on, tokens were queried, and none was found."""
    cache = symptom.prefix_cache
    if cache is None or symptom.setting("prefix-caching") == "False" or not _no_hits(cache, symptom):
        return None
    counted = f"0 hits in {cache.queries:,} queried tokens" if cache.queries else "hit rate 0.0 %"
    return ShapeReading(
        shape=Shape.NO_PREFIX_HITS,
        why=f"{counted} ({cache.given_as}); it says something only if requests share a prefix",
    )


def _no_hits(cache: PrefixCache, symptom: Symptom) -> bool:
    if cache.queries is not None:
        return cache.hits == 0 and cache.queries >= ENOUGH_QUERIES
    # A bare 0.0 % is also what a log prints when prefix caching is off or nothing was asked.
    return cache.rate == 0 and symptom.setting("prefix-caching") == "True"


def _of_acceptance(symptom: Symptom, expected: Range | None) -> tuple[ShapeReading, ...]:
    best = symptom.best
    if best is None:
        return (ShapeReading(shape=Shape.CANNOT_TELL, why="the input shows no acceptance figures"),)
    drafts, length, rates = best.counters.drafts, best.length.value, symptom.per_position
    if drafts is not None and drafts < MIN_DRAFTS:
        why = f"{drafts} drafts are too few: {MIN_DRAFTS} are needed for a rate to ±10 points"
        return (ShapeReading(shape=Shape.CANNOT_TELL, why=why),)
    cut = _cut_off(rates, drafts)
    if length - 1 < NOTHING:
        return (ShapeReading(shape=Shape.NOTHING, why=f"AL {length:.2f}: not even position 1 is accepted"),)
    if length < NEAR_RANDOM_LENGTH and (not rates or rates[0] < NEAR_RANDOM_FIRST):
        first = f", {_percent(rates[0])} at position 1" if rates else ""
        why = (
            f"AL {length:.2f} is below {NEAR_RANDOM_LENGTH}{first}: hardly more than the anchor token "
            "predicts"
        )
        return (ShapeReading(shape=Shape.NEAR_RANDOM, why=why), *((cut,) if cut else ()))
    if cut is not None:
        return (cut,)
    if (late := _long_contexts(symptom.by_context)) is not None:
        return (late,)
    return (_level(length, rates, expected),)


def _level(length: float, rates: Sequence[float], expected: Range | None) -> ShapeReading:
    floor = expected[0] if expected else HEALTHY_WITHOUT_FIGURE
    against = "the lowest published for this pair" if expected else "the lowest published for any drafter"
    if length - 1 >= SAME_WITHIN * (floor - 1):
        why = f"AL {length:.2f} is within 10 % of, or above, {against} ({floor:.2f})"
        return ShapeReading(shape=Shape.HEALTHY, why=why)
    ratio = early_ratio(rates)
    if ratio is None:
        why = (
            f"AL {length:.2f} is below {against} ({floor:.2f}), and no per-position rates show where it is "
            "lost"
        )
        return ShapeReading(shape=Shape.CANNOT_TELL, why=why)
    if ratio < EARLY_DECAY:
        why = (
            f"position 1 accepts {_percent(rates[0])}, but a token after an accepted one only "
            f"{_percent(ratio * rates[0])}: {ratio:.2f} of it, where sound engines show 0.67 and more"
        )
        return ShapeReading(shape=Shape.DECAYS_EARLY, why=why)
    why = (
        f"AL {length:.2f} is below {against} ({floor:.2f}), and every position loses alike "
        f"({_percent(rates[0])} at position 1, {_percent(ratio * rates[0])} after an accepted token)"
    )
    return ShapeReading(shape=Shape.EVENLY_LOW, why=why)


def early_ratio(rates: Sequence[float]) -> float | None:
    """Mean conditional acceptance at positions 2 to 4, as a share of that at position 1."""
    seen = [rate for rate in rates[:4] if rate > 0]
    if len(rates) < 2 or not rates[0]:
        return None
    if len(seen) < 2:
        return 0.0
    conditional: float = (seen[-1] / seen[0]) ** (1 / (len(seen) - 1))
    return conditional / rates[0]


def _cut_off(rates: Sequence[float], drafts: int | None) -> ShapeReading | None:
    """The first position where acceptance stops although those before it do not lead to that."""
    if drafts is None:
        return None
    for index in range(1, len(rates)):
        before = rates[index - 1]
        expected = before * before ** (1 / index)
        if expected * drafts < EXPECTED_AT_CUT:
            return None
        if rates[index] <= CUT_OFF * expected:
            why = (
                f"position {index + 1} accepts {_percent(rates[index])} where {_percent(expected)} would "
                f"follow from position {index} ({_percent(before)}), over {drafts} drafts"
            )
            return ShapeReading(shape=Shape.CUT_OFF, why=why, position=index + 1)
    return None


def _long_contexts(points: Sequence[LengthPoint]) -> ShapeReading | None:
    """Whether the longest contexts accept clearly less than the shortest ones."""
    if len(points) < 2:
        return None
    short, long = points[0], points[-1]
    if long.context_tokens < LONG_FACTOR * short.context_tokens or long.context_tokens < LONG_FROM:
        return None
    if short.length < NEAR_RANDOM_LENGTH or long.length - 1 > LONG_LOSS * (short.length - 1):
        return None
    kept = (long.length - 1) / (short.length - 1)
    why = (
        f"AL {short.length:.2f} at about {_tokens(short.context_tokens)} tokens of context, "
        f"{long.length:.2f} at about {_tokens(long.context_tokens)}: {_percent(kept)} of the accepted "
        "tokens are left"
    )
    return ShapeReading(shape=Shape.LONG_CONTEXTS, why=why)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


def _tokens(count: float) -> str:
    return f"{round(count):,}"
