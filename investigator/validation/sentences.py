"""What an assessment means, in sentences that a person can act on."""

from collections.abc import Iterator

from investigator.validation.assess import BLOCK, BLOCK_TOKENS, Assessment, Effect
from investigator.validation.plan import ALL, AS_RELEASED, NO_SPECULATION, REFERENCE
from investigator.validation.statistics import LEVEL, Estimate


def interval(estimate: Estimate, digits: int = 2, sign: bool = False) -> str:
    """``2.89 [2.71, 3.08]``, or the value alone."""
    form = f"{'+' if sign else ''}.{digits}f"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:{form}}"
    return f"{estimate.value:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]"


def sentences(a: Assessment) -> Iterator[str]:
    """The headline first, then what to do, then what to beware of."""
    yield from _headline(a)
    if a.investigated is not None and a.engine is not None and a.investigated.removeprefix("path:") != a.pair:
        yield f"The findings are about {a.investigated}; what was measured is {a.pair} on the same code."
    ranked = sorted(a.effects, key=lambda e: -_worth(e))
    for rank, effect in enumerate(ranked):
        yield from _effect(effect, first=rank == 0)
        if effect.contract == BLOCK and effect.hits is not None and effect.hits <= 0 and a.whole_blocks:
            yield (
                f"{BLOCK} was not put to the test: a prompt that ends where a block of the cache does "
                "computes its last block anew in any case. Give --prompt-tokens that is no multiple of "
                f"{BLOCK_TOKENS}."
            )
    if a.to_reference is not None:
        yield _reach(a)
    if a.unrepaired:
        yield f"Broken by the findings, and repaired by nothing here: {', '.join(a.unrepaired)}."
    yield from _texts(a)
    for figures in a.figures:
        if figures.status != "done":
            why = figures.error or "no reason given"
            yield f"{figures.variant.name} was not measured: {figures.status}: {why}."
    if a.cut:
        yield f"Left out to fit the budget: {', '.join(a.cut)}."
    for contradiction in a.contradictions:
        yield f"Contradiction: {contradiction}."


def _headline(a: Assessment) -> Iterator[str]:
    def length(name: str) -> Estimate | None:
        figures = a.of(name)
        return figures.acceptance_length if figures else None

    released, repaired, reference = length(AS_RELEASED), length(ALL), length(REFERENCE)
    parts = []
    if released is not None:
        parts.append(f"{interval(released)} as released")
    if repaired is not None:
        parts.append(f"{interval(repaired)} with all repairs")
    if reference is not None:
        parts.append(f"{interval(reference)} in the reference")
    if parts:
        what = f"{a.engine} with {a.pair}" if a.engine else f"Predicted for {a.pair} on {a.place}"
        yield (
            f"{what}: acceptance length {', '.join(parts)} ({LEVEL:.0%} intervals over {a.prompts} prompts)."
        )


def _worth(effect: Effect) -> float:
    found = effect.given_others or effect.alone
    return found.value if found else 0.0


def _effect(effect: Effect, first: bool) -> Iterator[str]:
    alone, others = effect.alone, effect.given_others
    said = []
    if alone is not None:
        also = " and given the others" if alone == others else ""
        said.append(f"alone{also} {interval(alone, sign=True)}")
    if others is not None and others != alone:
        said.append(f"given the others {interval(others, sign=True)}")
    if effect.predicted is not None:
        said.append(f"predicted by the reference {interval(effect.predicted, sign=True)}")
    if effect.hits is not None and abs(effect.hits) > 1e-9:
        said.append(f"prefix-cache hits {effect.hits:+.2%} of the prompt tokens")
    if not said:
        return
    found = others or alone
    if found is not None and found.decided == "gain":
        advice = "repair this first" if first else "worth repairing"
        if alone is not None and alone.decided != "gain":
            advice = "worth repairing together with the others; alone it brings nothing"
    elif found is not None and found.decided == "loss":
        advice = "do not repair this on these figures"
    elif found is None and not effect.hits:
        advice = "no repair of it was measured"
    elif effect.hits:
        advice = "no effect on acceptance was seen; what it changes is reuse"
    else:
        advice = "no effect was seen on this pair and these prompts"
    yield f"{effect.contract}: {', '.join(said)}: {advice}."


def _reach(a: Assessment) -> str:
    assert a.to_reference is not None
    share = a.to_reference
    spread = "" if share.low is None or share.high is None else f" [{share.low:.0%}, {share.high:.0%}]"
    what = "With all repairs the engine" if a.of(ALL) else "The engine"
    return f"{what} reaches {share.value:.0%}{spread} of the reference's acceptance length."


def _texts(a: Assessment) -> Iterator[str]:
    same = a.sameness or {}
    if not same:
        return
    parted = [s for s in same.values() if s.identical < s.prompts]
    if not parted:
        yield "All variants wrote the same text, so their drafts were checked against the same tokens."
        return
    fewest = min(parted, key=lambda s: s.identical)
    where = min(s.parted_at for s in parted if s.parted_at is not None)
    yield (
        f"Texts part ways between variants (at least {fewest.identical} of {fewest.prompts} stay "
        f"identical, of the others half part only after token {where}): greedy decoding in bfloat16 breaks "
        "near-ties by how many tokens are verified at once. So acceptance lengths are compared over "
        "prompts, with intervals."
    )
    if NO_SPECULATION in same and same[NO_SPECULATION].identical == same[NO_SPECULATION].prompts:
        yield "Without speculation the engine writes the same text as with it."
