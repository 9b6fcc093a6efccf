"""From counters to judgements: effects with intervals, contradictions, sentences to act on."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from investigator.validation.plan import (
    ALL,
    AS_RELEASED,
    MODELLED,
    NO_SPECULATION,
    REFERENCE,
    Kind,
    Variant,
    broken_reference,
    only,
    without,
)
from investigator.validation.results import Pass, VariantResult
from investigator.validation.statistics import Estimate, Sameness, Sample, compare_outputs

NEAR = 0.95
"""A repaired engine below this share of the reference has something left unexplained."""

BLOCK = "cache-drop"
"""The contract whose effect is on prefix-cache hits and not on acceptance."""

BLOCK_TOKENS = 16
"""vLLM's block sizes are multiples of it."""

NO_GAP = (BLOCK, "lookahead", "config-coverage")
"""Contracts that explain no gap: they cost no acceptance or little, or are another finding's shadow."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One variant in numbers. ``hit_rate``: share of prompt tokens found in the warm prefix cache."""

    variant: Variant
    status: str
    error: str | None = None
    acceptance_length: Estimate | None = None
    per_position: tuple[Estimate, ...] = ()
    reuse_acceptance_length: Estimate | None = None
    drafts: int | None = None
    draft_tokens: int | None = None
    accepted: int | None = None
    hit_rate: float | None = None
    seconds: float | None = None
    tokens_per_second: float | None = None
    load_seconds: float | None = None
    peak_memory_bytes: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What one repair does to acceptance length: alone, and on top of all the others.

    ``predicted``: what the reference loses with this fault. ``hits``: the same two for the share
    of prompt tokens found in the prefix cache, where it was read.
    """

    contract: str
    alone: Estimate | None = None
    given_others: Estimate | None = None
    predicted: Estimate | None = None
    hits: float | None = None


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """Everything that one experiment says."""

    place: str
    engine: str | None
    pair: str
    prompts: int
    figures: tuple[Figures, ...]
    effects: tuple[Effect, ...]
    investigated: str | None = None
    """The drafter that the findings are about."""
    to_reference: Estimate | None = None
    """AL of the repaired engine ÷ AL of the reference."""
    released_to_reference: Estimate | None = None
    sameness: Mapping[str, Sameness] | None = None
    """Variant -> how far its text is that of the same engine as released."""
    unrepaired: tuple[str, ...] = ()
    """Contracts that the findings call broken and that nothing here repairs: those that the reference
    cannot be run with, and one with whose fault it loses what the engine does. What they cost is in
    every variant."""
    contradictions: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    whole_blocks: bool = False
    """Whether every prompt ends where a block of the KV cache does: see :func:`_whole_blocks`."""

    def of(self, name: str) -> Figures | None:
        """A variant's figures, when it was measured."""
        return next((f for f in self.figures if f.variant.name == name), None)


def assess(
    variants: Sequence[Variant],
    results: Mapping[str, VariantResult],
    *,
    place: str,
    engine: str | None,
    pair: str,
    broken: Sequence[str] = (),
    kept: Sequence[str] = (),
    cut: Sequence[str] = (),
    investigated: str | None = None,
    seed: int = 0,
) -> Assessment:
    """Judge an experiment. ``broken``: what the findings say of the engine as released; ``kept``: the
    contracts that are honoured with the repairs, by their proofs, besides those they are for."""
    fresh = _sample(results, "fresh", seed)
    reuse = _sample(results, "reuse", seed)
    figures = tuple(_figures(v, results[v.name], fresh, reuse) for v in variants)
    contracts = list(dict.fromkeys(c for v in variants for c in (*v.repaired, *v.faults)))
    repaired = {c for v in variants for c in v.repaired}
    by_name = {f.variant.name: f for f in figures}
    effects = tuple(_effect(c, repaired, fresh, by_name) for c in contracts)
    reference = REFERENCE if by_name.get(REFERENCE) and by_name[REFERENCE].acceptance_length else None
    measured = any(v.kind is Kind.ENGINE for v in variants)
    best = ALL if ALL in by_name else AS_RELEASED
    assessment = Assessment(
        place=place,
        engine=engine,
        pair=pair,
        prompts=len(fresh.prompts) if fresh else 0,
        figures=figures,
        effects=effects,
        to_reference=fresh.proportion(best, REFERENCE)
        if fresh and reference and measured and _known(by_name, best)
        else None,
        released_to_reference=fresh.proportion(AS_RELEASED, REFERENCE)
        if fresh and reference and _known(by_name, AS_RELEASED)
        else None,
        sameness=_sameness(variants, results),
        cut=tuple(cut),
        investigated=investigated,
        whole_blocks=_whole_blocks(results.get(AS_RELEASED), len(fresh.prompts) if fresh else 0),
    )
    like = _like_a_fault(assessment)
    left = [c for c in broken if c not in (*repaired, *kept, *NO_GAP) and (c not in MODELLED or c == like)]
    assessment = replace(assessment, unrepaired=tuple(left))
    contradictions = tuple(_contradictions(assessment, broken)) if measured else ()
    return replace(assessment, contradictions=contradictions)


def _sample(results: Mapping[str, VariantResult], which: str, seed: int) -> Sample | None:
    passes = {name: getattr(result, which) for name, result in results.items()}
    counts = {name: p.prompts for name, p in passes.items() if p is not None and p.prompts}
    return Sample(counts, seed) if counts else None


def _figures(variant: Variant, result: VariantResult, fresh: Sample | None, reuse: Sample | None) -> Figures:
    run = result.fresh
    if run is None:
        return Figures(variant=variant, status=result.status, error=result.error, notes=result.notes)
    tokens = sum(len(output) for output in run.outputs)
    return Figures(
        variant=variant,
        status=result.status,
        error=result.error,
        acceptance_length=_length(variant.name, run, fresh),
        per_position=_positions(variant.name, run, fresh),
        reuse_acceptance_length=_length(variant.name, result.reuse, reuse) if result.reuse else None,
        drafts=run.total.drafts,
        draft_tokens=run.total.draft_tokens,
        accepted=run.total.accepted,
        hit_rate=_hit_rate(result.reuse),
        seconds=run.seconds,
        tokens_per_second=tokens / run.seconds if run.seconds else None,
        load_seconds=result.load_seconds,
        peak_memory_bytes=result.peak_memory_bytes,
        notes=result.notes + ((run.note,) if run.note else ()),
    )


def _length(name: str, run: Pass, sample: Sample | None) -> Estimate | None:
    if sample is not None and run.prompts:
        return sample.acceptance_length(name)
    length = run.total.acceptance_length
    return None if length is None else Estimate(length)


def _positions(name: str, run: Pass, sample: Sample | None) -> tuple[Estimate, ...]:
    if sample is not None and run.prompts:
        return sample.per_position(name)
    return tuple(Estimate(n / run.total.drafts) for n in run.total.per_position) if run.total.drafts else ()


def _hit_rate(run: Pass | None) -> float | None:
    if run is None or not run.prefix_queries or run.prefix_hits is None:
        return None
    return run.prefix_hits / run.prefix_queries


def _whole_blocks(released: VariantResult | None, prompts: int) -> bool:
    """Whether a prompt's length is a multiple of the block's. Such a prompt, asked again, computes its
    last block anew in any case, since one token must be left to compute; an engine that matches that
    block first, to drop it, then loses nothing by the drop (vLLM from 0.32.0)."""
    asked = released.reuse.prefix_queries if released is not None and released.reuse else None
    return bool(asked and prompts and asked % (prompts * BLOCK_TOKENS) == 0)


def _known(by_name: Mapping[str, Figures], name: str) -> bool:
    found = by_name.get(name)
    return found is not None and found.acceptance_length is not None


def _effect(
    contract: str, repaired: Set[str], fresh: Sample | None, by_name: Mapping[str, Figures]
) -> Effect:
    def between(better: str, worse: str) -> Estimate | None:
        if fresh is None or not (_known(by_name, better) and _known(by_name, worse)):
            return None
        return fresh.difference(better, worse)

    predicted = between(REFERENCE, broken_reference(contract))
    if contract not in repaired:
        return Effect(contract=contract, predicted=predicted)
    count = len(repaired)
    whole = ALL if ALL in by_name else REFERENCE
    alone = only(contract) if count > 1 else whole
    # With two repairs, all but this one is the other one alone.
    others = [c for name in by_name for c in by_name[name].variant.repaired if name.startswith("only-")]
    rest = without(contract)
    if count == 2:
        rest = next((only(c) for c in others if c != contract), rest)
    elif count == 1:
        rest = AS_RELEASED
    hits = None
    here, there = by_name.get(whole), by_name.get(rest)
    if here and there and here.hit_rate is not None and there.hit_rate is not None:
        hits = here.hit_rate - there.hit_rate
    return Effect(
        contract=contract,
        alone=between(alone, AS_RELEASED),
        given_others=between(whole, rest),
        predicted=predicted,
        hits=hits,
    )


def _sameness(variants: Sequence[Variant], results: Mapping[str, VariantResult]) -> dict[str, Sameness]:
    base = results.get(AS_RELEASED)
    found = {}
    for variant in variants:
        if base is not None and variant.name != AS_RELEASED:
            same = compare_outputs(base, results[variant.name])
            if same is not None:
                found[variant.name] = same
    return found


def _contradictions(a: Assessment, broken: Sequence[str]) -> Iterator[str]:
    """What the measurement and the findings cannot both be right about."""
    costly = [c for c in broken if c in MODELLED]
    for effect in a.effects:
        measured = effect.given_others or effect.alone
        if effect.contract not in broken or measured is None or measured.high is None:
            continue
        if measured.decided == "loss" and measured.high < -0.01:
            yield (
                f"{effect.contract}: the finding says that the engine breaks it, but its repair lowers "
                f"acceptance length by {-measured.value:.2f}"
            )
        predicted = effect.predicted
        masked = bool(a.unrepaired)  # what is left broken may hide what this one brings
        if predicted and predicted.low is not None and measured.high < 0.25 * predicted.low and not masked:
            yield (
                f"{effect.contract}: the reference loses {predicted.value:.2f} with this fault, but its "
                f"repair brings the engine at most {max(0.0, measured.high):.2f}"
            )
        if effect.contract == BLOCK and effect.hits is not None and effect.hits <= 0 and not a.whole_blocks:
            yield f"{BLOCK}: the repair brings no prefix-cache hits ({effect.hits:+.1%} of the prompt tokens)"
    released, repaired = a.released_to_reference, a.to_reference
    if costly and released is not None and released.low is not None and released.low >= 0.99:
        yield (
            f"the findings say that {', '.join(costly)} cost acceptance, but the engine as released "
            f"reaches the reference ({released.value:.0%})"
        )
    like = _like_a_fault(a)
    if repaired is not None and repaired.high is not None and repaired.high < NEAR and not a.unrepaired:
        state = "with every repair" if a.of(ALL) else "which keeps every promise by the findings,"
        yield (
            f"the engine {state} reaches {repaired.value:.0%} of the reference's acceptance length: "
            f"{f'as much as the reference with {like} broken' if like else _NAMELESS}"
        )


_NAMELESS = "something is broken that no finding names"


def _like_a_fault(a: Assessment) -> str | None:
    """The contract with whose fault the reference loses as much as the repaired engine does."""
    measured = a.of(ALL) or a.of(AS_RELEASED)
    for contract in dict.fromkeys(c for f in a.figures for c in f.variant.faults):
        predicted = a.of(broken_reference(contract))
        if measured is not None and predicted is not None and _overlap(measured, predicted):
            return contract
    return None


def _overlap(one: Figures, other: Figures) -> bool:
    a, b = one.acceptance_length, other.acceptance_length
    if a is None or b is None or a.low is None or a.high is None or b.low is None or b.high is None:
        return False
    return a.low <= b.high and b.low <= a.high


def skipped(assessment: Assessment) -> tuple[Figures, ...]:
    """Variants that were to be measured and were not."""
    return tuple(
        f for f in assessment.figures if f.acceptance_length is None and f.variant.name != NO_SPECULATION
    )
