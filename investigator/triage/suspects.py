"""Which broken contracts would produce which shape, and how strongly that is known.

A table, not code: one row says "a fault of this contract shows itself like this", with the
measurement or report it rests on. The strength is how well the shape points to the contract,
not how likely the fault is; whether the engine has it is for the investigation to find.
"""

from dataclasses import dataclass
from enum import StrEnum

from investigator.triage.shape import Shape, ShapeReading
from investigator.triage.symptom import Symptom


class Strength(StrEnum):
    """``strong``: seen with this very shape. ``moderate``: the mechanism gives this shape.
    ``weak``: possible, but its own effect was measured to be smaller or other."""

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A contract whose breach would look like this. ``basis`` says how that is known."""

    contract: str
    strength: Strength
    basis: str


@dataclass(frozen=True)
class Rule:
    """One row of the table. ``needs_prefix_caching``: asleep while prefix caching is off."""

    shape: Shape
    contract: str
    strength: Strength
    basis: str
    needs_prefix_caching: bool = False


_S, _M, _W = Strength.STRONG, Strength.MODERATE, Strength.WEAK

RULES: tuple[Rule, ...] = (
    Rule(Shape.NOTHING, "vocab-mapping", _S, "a mapping built for a padded vocabulary: AL 1.00 (0.24.0, V2)"),
    Rule(Shape.NOTHING, "head-sharing", _S, "the drafter's head not the target's: AL 1.00 (0.24.0, V2)"),
    Rule(Shape.NOTHING, "kv-retention", _M, "context K/V read from a layout it was not written in: AL 1.0"),
    Rule(Shape.NOTHING, "target-capture", _M, "a target layer that is never captured leaves features empty"),
    Rule(Shape.NOTHING, "layer-types", _W, "the collapse that was measured still accepted 3 % at position 1"),
    Rule(
        Shape.NEAR_RANDOM,
        "layer-types",
        _S,
        "sliding layers run as full attention beyond their window: AL 1.03 on a tiny pair (3 % at "
        "position 1), 24 % then 3 % then 0 in a public log of Qwen3.6-27B-DFlash",
    ),
    Rule(
        Shape.NEAR_RANDOM,
        "kv-retention",
        _S,
        "context K/V recycled inside the window: AL 1.34 instead of 5.95",
    ),
    Rule(Shape.NEAR_RANDOM, "silent-default", _S, "guessed target layers: 1.2 % of draft tokens accepted"),
    Rule(
        Shape.NEAR_RANDOM,
        "head-sharing",
        _M,
        "the drafter's head not the target's; AL 1.00 where it was seen",
    ),
    Rule(
        Shape.NEAR_RANDOM,
        "vocab-mapping",
        _M,
        "a mapping built for a padded vocabulary: AL 1.00 (0.24.0, V2)",
    ),
    Rule(
        Shape.NEAR_RANDOM, "target-capture", _M, "a target layer that is never captured leaves features empty"
    ),
    Rule(Shape.NEAR_RANDOM, "mask-token", _M, "another token where the block was trained on its mask token"),
    Rule(Shape.NEAR_RANDOM, "rope", _M, "keys rotated in another layout than the drafter was trained with"),
    Rule(Shape.NEAR_RANDOM, "feature-width", _M, "features cut or padded before the drafter's projection"),
    Rule(
        Shape.NEAR_RANDOM,
        "target-layer-offset",
        _W,
        "alone it leaves 48 % of the accepted tokens on a micro pair and 95 % on Qwen3-8B; it adds to "
        "another fault",
    ),
    Rule(
        Shape.DECAYS_EARLY,
        "in-block-causality",
        _M,
        "a causal block keeps 78 % of the accepted tokens on MT-Bench",
    ),
    Rule(
        Shape.DECAYS_EARLY,
        "target-layer-offset",
        _M,
        "later positions lean more on the context: 61 26 8 3 % instead of 86 59 34 16 % on a micro pair",
    ),
    Rule(Shape.DECAYS_EARLY, "rope", _M, "wrong positions inside the block hurt each further token"),
    Rule(
        Shape.DECAYS_EARLY,
        "layer-types",
        _M,
        "82 61 32 10 % with the window, 3 0 0 0 % without, on a tiny pair",
    ),
    Rule(
        Shape.DECAYS_EARLY,
        "embedding-scale",
        _W,
        "mask embeddings off scale; position 1 has the anchor beside it",
    ),
    Rule(Shape.CUT_OFF, "lookahead", _S, "query slots beyond the reserved ones have no K/V of their own"),
    Rule(
        Shape.CUT_OFF,
        "mask-token",
        _M,
        "masked positions read a wrong embedding, the anchor position does not",
    ),
    Rule(Shape.CUT_OFF, "config-coverage", _M, "a block size that the engine does not read"),
    Rule(Shape.CUT_OFF, "in-block-causality", _M, "positions that may not see the block they belong to"),
    Rule(
        Shape.CUT_OFF,
        "layer-types",
        _W,
        "a public log fell to 0 behind position 5 until the window was honoured",
    ),
    Rule(
        Shape.LONG_CONTEXTS,
        "layer-types",
        _S,
        "full attention beyond a 2,048-token window: 52 % of the accepted tokens left at 16K, 64 % at 6K",
    ),
    Rule(Shape.LONG_CONTEXTS, "kv-retention", _S, "what is recycled first is what long contexts need"),
    Rule(Shape.LONG_CONTEXTS, "rope", _M, "scaling of positions shows where positions are large"),
    Rule(Shape.LONG_CONTEXTS, "lookahead", _W, "draft K/V written into shared prefix blocks", True),
    Rule(
        Shape.NO_PREFIX_HITS,
        "cache-drop",
        _S,
        "the last matched block dropped in every group: hits fall to 0 on hybrid targets",
        True,
    ),
    Rule(Shape.NO_PREFIX_HITS, "lookahead", _W, "blocks rewritten by the drafter are not found again", True),
    Rule(
        Shape.EVENLY_LOW,
        "target-layer-offset",
        _M,
        "features one layer too early: 2.01 instead of 3.12, micro pair",
    ),
    Rule(Shape.EVENLY_LOW, "config-coverage", _M, "a key that the reference reads and the engine does not"),
    Rule(Shape.EVENLY_LOW, "embedding-scale", _M, "input embeddings off scale weaken every position"),
    Rule(Shape.EVENLY_LOW, "in-block-causality", _W, "3.48 instead of 4.16 on MT-Bench"),
    Rule(Shape.EVENLY_LOW, "layer-types", _W, "contexts only a little beyond the window"),
    Rule(
        Shape.HEALTHY,
        "target-layer-offset",
        _W,
        "costs 3 to 6 % of AL on Qwen3-8B, less than benchmarks differ by; a healthy length does not rule "
        "it out",
    ),
)

_RANK = {strength: index for index, strength in enumerate(Strength)}


def suspects_for(symptom: Symptom, shapes: tuple[ShapeReading, ...]) -> tuple[Suspect, ...]:
    """The contracts whose breach would look like this, strongest first, each once."""
    asleep = symptom.setting("prefix-caching") == "False"
    found: dict[str, Suspect] = {}
    for reading in shapes:
        for rule in RULES:
            if rule.shape is not reading.shape or (rule.needs_prefix_caching and asleep):
                continue
            known = found.get(rule.contract)
            if known is None or _RANK[rule.strength] < _RANK[known.strength]:
                found[rule.contract] = Suspect(
                    contract=rule.contract, strength=rule.strength, basis=f"{rule.shape.value}: {rule.basis}"
                )
    return tuple(sorted(found.values(), key=lambda suspect: _RANK[suspect.strength]))
