"""What lowers acceptance without anybody being at fault, named only where the input shows it."""

from collections.abc import Callable
from dataclasses import dataclass

from investigator.triage.collect import draft_tokens, whole
from investigator.triage.definitions import standard_error
from investigator.triage.figures import Figures
from investigator.triage.shape import MIN_DRAFTS
from investigator.triage.symptom import InputKind, Measurement, Symptom

UNSURE = 0.25
"""A 95 % interval of more than ± this share of the accepted tokens is called wide."""


@dataclass(frozen=True, kw_only=True)
class Confounder:
    """One of them, and where it shows. ``kept``: the share of accepted tokens that it left where
    somebody measured it (``source``); None where it changes the reading, not the acceptance."""

    name: str
    seen: str
    effect: str
    line: int | None = None
    kept: float | None = None
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What a detector may look at."""

    symptom: Symptom
    figures: Figures
    block_size: int | None


Detector = Callable[[_Seen], Confounder | None]


def find_confounders(symptom: Symptom, figures: Figures, block_size: int | None) -> tuple[Confounder, ...]:
    """Every confounder that the input shows. ``block_size``: the drafter's own, where known."""
    seen = _Seen(symptom=symptom, figures=figures, block_size=block_size)
    found = (detect(seen) for detect in DETECTORS)
    return tuple(one for one in found if one is not None)


def interval(measurement: Measurement, rates: tuple[float, ...]) -> tuple[float, float]:
    """95 % interval of AL: sampling and rounding together.

    Without per-position rates the variance of a geometric count, m (1 + m), stands in. With
    nothing accepted in n drafts the upper end is 3 ÷ n (rule of three).
    """
    length, drafts = measurement.length, measurement.counters.drafts
    if not drafts:
        return length.low, length.high
    mean = length.value - 1
    if mean <= 0:
        return 1.0, 1 + 3 / drafts
    error = standard_error(rates, drafts)
    if error is None:
        error = (mean * (1 + mean) / drafts) ** 0.5
    return max(1.0, length.low - 1.96 * error), length.high + 1.96 * error


def _measured(figures: Figures, name: str) -> tuple[float | None, str]:
    row = figures.confounder(name)
    if row is None or row.kept is None:
        return None, ""
    return sum(row.kept) / 2, f"{row.source}, {row.harness}"


def _thinking(given: _Seen) -> Confounder | None:
    kept, source = _measured(given.figures, "thinking")
    said = given.symptom.setting("thinking")
    if said == "off":
        return None
    for name, seen in (
        ("thinking", "enable_thinking is true"),
        ("think-text", "<think> stands in the text"),
        ("reasoning-parser", "a reasoning parser is set, so the target may think"),
    ):
        if (line := given.symptom.where(name)) is not None:
            return Confounder(
                name="thinking mode",
                seen=seen,
                effect="the published figures are without thinking, on which these drafters were trained",
                line=line,
                kept=kept,
                source=source,
            )
    return None


def _language(given: _Seen) -> Confounder | None:
    said = given.symptom.setting("language")
    if said is None:
        return None
    kept, source = _measured(given.figures, "language")
    return Confounder(
        name="language",
        seen=said,
        effect="drafters trained mostly on English accept less in other languages",
        line=given.symptom.where("language"),
        kept=kept,
        source=source,
    )


def _random_prompts(given: _Seen) -> Confounder | None:
    said = given.symptom.setting("dataset")
    if said is None or not said.lower().startswith("random"):
        return None
    return Confounder(
        name="random prompts",
        seen=f"data set '{said}'",
        effect="prompts of random tokens have no continuation to predict; no drafter can be judged on them",
        line=given.symptom.where("dataset"),
    )


def _sampling(given: _Seen) -> Confounder | None:
    said = given.symptom.setting("temperature")
    try:
        warm = said is not None and float(said) > 0
    except ValueError:
        warm = False
    if not warm:
        return None
    return Confounder(
        name="sampling",
        seen=f"temperature {said}",
        effect="most published figures are greedy; sampled tokens are harder to meet",
        line=given.symptom.where("temperature"),
    )


def _limited(given: _Seen) -> Confounder | None:
    """Fewer tokens drafted than the block holds, by configuration or in effect."""
    best = given.symptom.best
    counters = best.counters if best else None
    configured = draft_tokens(given.symptom) or len(given.symptom.per_position) or None
    if counters and counters.drafts and counters.draft_tokens and configured:
        each = counters.draft_tokens / counters.drafts
        if each < 0.95 * configured:
            return Confounder(
                name="limited draft tokens",
                seen=f"{each:.1f} tokens a draft were verified on average, of {configured} configured",
                effect="positions behind that were often not tried, so their rates are low for no fault",
            )
    full = given.block_size - 1 if given.block_size else None
    if configured and full and configured < full:
        return Confounder(
            name="limited draft tokens",
            seen=f"{configured} tokens a draft, where the drafter's block holds {full} behind its anchor",
            effect=(
                f"AL cannot exceed {configured + 1}; published figures are brought down to that before "
                "comparing"
            ),
            line=given.symptom.where("draft-tokens") or given.symptom.where("block-size"),
        )
    return None


def _few(given: _Seen) -> Confounder | None:
    best = given.symptom.best
    drafts = best.counters.drafts if best else None
    if best is None or drafts is None:
        return None
    low, high = interval(best, given.symptom.per_position)
    accepted = best.length.value - 1
    if drafts >= MIN_DRAFTS and (high - low) / 2 <= UNSURE * max(accepted, 0.1):
        return None
    return Confounder(
        name="few drafts",
        seen=f"{drafts} drafts: AL lies in {low:.2f} to {high:.2f} (95 %), if drafts were independent",
        effect="a longer run would say more",
        line=best.first_line,
    )


def _ratio(given: _Seen) -> Confounder | None:
    best = given.symptom.best
    if best is None or "×" not in best.length.arithmetic:
        return None
    return Confounder(
        name="ratio against length",
        seen="the input gives accepted ÷ drafted tokens, not a length",
        effect="the same drafter shows a smaller ratio with more draft tokens; it was multiplied back",
        line=best.first_line,
    )


def _mean_of_requests(given: _Seen) -> Confounder | None:
    best = given.symptom.best
    if best is None or "mean over requests" not in best.length.given_as:
        return None
    return Confounder(
        name="mean of requests",
        seen="the printed length is the mean over requests of each request's mean",
        effect=(
            "short requests weigh as much as long ones; engines pool by drafts, so the two differ a little"
        ),
        line=best.first_line,
    )


def _one_rank(given: _Seen) -> Confounder | None:
    best = given.symptom.best
    if best is None or best.kind is not InputKind.SGLANG_METRICS:
        return None
    return Confounder(
        name="a gauge of one moment",
        seen="SGLang's gauge holds the last log interval only",
        effect="with data parallel ranks, each has its own; a log over minutes says more",
        line=best.first_line,
    )


def _draft_window(given: _Seen) -> Confounder | None:
    window = whole(given.symptom.setting("draft-window"))
    if window is None:
        return None
    return Confounder(
        name="draft window",
        seen=f"the drafter's attention is limited to {window} tokens by a flag",
        effect="that is neither the checkpoint's nor the reference's window unless they say the same",
        line=given.symptom.where("draft-window"),
    )


DETECTORS: tuple[Detector, ...] = (
    _thinking,
    _language,
    _random_prompts,
    _sampling,
    _limited,
    _few,
    _ratio,
    _mean_of_requests,
    _one_rank,
    _draft_window,
)
