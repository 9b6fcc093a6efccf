"""One definition of acceptance length, and the arithmetic that leads to it. Pure functions.

AL = 1 + accepted tokens ÷ drafts, pooled over all drafts. The 1 is the bonus token: the target's
own token that every draft yields even when nothing was accepted.
"""

import math
from collections.abc import Sequence

from investigator.triage.symptom import AcceptanceLength, Counters, OtherDefinition

HALF_A_PRINTED_UNIT = 0.005
"""Logs print AL with two decimals, so the true value lies within ± this."""


def from_counts(drafts: int, accepted: int, given_as: str, *, spread: float = 0.0) -> AcceptanceLength:
    """AL from totals; ``spread`` is the relative error of ``drafts`` where it was worked back."""
    value = 1 + accepted / drafts
    return AcceptanceLength(
        value=value,
        low=1 + (value - 1) / (1 + spread),
        high=1 + (value - 1) / (1 - spread) if spread < 1 else math.inf,
        arithmetic=f"1 + {accepted} accepted ÷ {drafts} drafts = {value:.2f}",
        given_as=given_as,
    )


def from_length(printed: float, given_as: str, half_unit: float = HALF_A_PRINTED_UNIT) -> AcceptanceLength:
    """AL that was printed as such, the bonus token included."""
    return AcceptanceLength(
        value=printed,
        low=max(1.0, printed - half_unit),
        high=printed + half_unit,
        arithmetic=f"{printed:.2f} as printed; the input gives no counts",
        given_as=given_as,
    )


def from_ratio(ratio: float, draft_tokens: int, given_as: str, half_unit: float = 0.0005) -> AcceptanceLength:
    """AL from accepted ÷ drafted tokens, when every draft has ``draft_tokens`` tokens."""
    value = 1 + ratio * draft_tokens
    return AcceptanceLength(
        value=value,
        low=max(1.0, value - half_unit * draft_tokens),
        high=value + half_unit * draft_tokens,
        arithmetic=f"1 + {ratio:.4f} × {draft_tokens} draft tokens = {value:.2f}",
        given_as=given_as,
    )


def drafts_of_interval(
    accepted: int, drafted: int, length: float | None, positions: int
) -> tuple[int, float] | None:
    """Drafts behind one log line, which prints tokens but not drafts, and their relative error.

    Full drafts have one token a position, so drafted ÷ positions is the number of drafts, if
    that agrees with the printed AL. Where it does not (drafts shorter than the positions),
    accepted ÷ (AL - 1) is, up to the rounding of AL. None when neither can be had.
    """
    if positions > 0 and drafted > 0 and drafted % positions == 0:
        drafts = drafted // positions
        if length is None or abs(1 + accepted / drafts - length) <= HALF_A_PRINTED_UNIT + 1e-9:
            return drafts, 0.0
    if length is not None and length > 1 and accepted > 0:
        drafts = max(1, round(accepted / (length - 1)))
        return drafts, min(0.99, HALF_A_PRINTED_UNIT / (length - 1))
    if positions > 0 and drafted > 0:
        return max(1, math.ceil(drafted / positions)), 0.0
    return None


def other_definitions(
    length: AcceptanceLength, counters: Counters, positions: int, window_mean: float | None = None
) -> tuple[OtherDefinition, ...]:
    """The same reading under the names that other tools print."""
    accepted = length.value - 1
    found = [
        OtherDefinition(
            name="accepted tokens a draft, without the bonus token",
            value=accepted,
            unit="tokens",
            formula="AL - 1",
        )
    ]
    if counters.draft_tokens and counters.accepted_tokens is not None:
        found.append(
            OtherDefinition(
                name="ratio over the whole block (draft acceptance rate)",
                value=100 * counters.accepted_tokens / counters.draft_tokens,
                unit="%",
                formula=f"{counters.accepted_tokens} accepted ÷ {counters.draft_tokens} draft tokens",
            )
        )
    elif positions > 0:
        found.append(
            OtherDefinition(
                name="ratio over the whole block (draft acceptance rate)",
                value=100 * accepted / positions,
                unit="%",
                formula=f"(AL - 1) ÷ {positions} draft tokens",
            )
        )
    if positions > 0:
        found.append(
            OtherDefinition(
                name="ratio over the block with the bonus token",
                value=100 * length.value / (positions + 1),
                unit="%",
                formula=f"AL ÷ ({positions} draft tokens + 1)",
            )
        )
    if window_mean is not None:
        found.append(
            OtherDefinition(
                name="plain mean (of log intervals, results or requests), not weighted by drafts",
                value=window_mean,
                unit="tokens",
                formula="each one's AL, summed ÷ how many",
            )
        )
    return tuple(found)


def standard_error(per_position: Sequence[float], drafts: int) -> float | None:
    """Standard error of AL, from the exact variance of accepted tokens a draft.

    With r_i the share of drafts that reach position i, E[A] = Σ r_i and E[A²] = Σ (2i - 1) r_i.
    Drafts of one request are not independent, so the truth is at least this wide.
    """
    if drafts <= 0 or not per_position:
        return None
    mean = sum(per_position)
    square = sum((2 * i - 1) * rate for i, rate in enumerate(per_position, start=1))
    return math.sqrt(max(0.0, square - mean * mean) / drafts)


def constant_rate(length: float, draft_tokens: int) -> float:
    """The acceptance rate c at which a drafter that is equally good at each position reaches
    ``length``: 1 + c + c² + … + c^draft_tokens = length. Found by bisection, within 1e-6."""
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if geometric(middle, draft_tokens) < length else (low, middle)
    return (low + high) / 2


def geometric(rate: float, draft_tokens: int) -> float:
    """AL of a drafter whose every token is accepted with ``rate`` once those before it were."""
    return sum(rate**i for i in range(draft_tokens + 1))


def capped(length: float, draft_tokens: int, limit: int) -> float:
    """What ``length``, reached with ``draft_tokens``, becomes with only ``limit`` of them.

    A constant conditional acceptance is assumed, which is an approximation.
    """
    if limit >= draft_tokens:
        return length
    return geometric(constant_rate(length, draft_tokens), limit)
