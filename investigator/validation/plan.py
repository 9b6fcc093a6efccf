"""Which variants tell what each repair is worth, what they cost, and what fits a budget."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from investigator.errors import UsageError
from investigator.validation.reference.semantics import FAULTS

MODELLED = tuple(FAULTS)
"""Contracts whose fault the reference can be run with."""

AS_RELEASED = "as-released"
ALL = "all-repairs"
NO_SPECULATION = "no-speculation"
REFERENCE = "reference"


class Kind(StrEnum):
    """What a variant runs on."""

    ENGINE = "engine"
    REFERENCE = "reference"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One thing to measure. ``repaired``: contracts whose patch is in (or whose fault is not
    switched on, for a reference variant); ``faults``: faults of the reference that are on."""

    name: str
    kind: Kind
    repaired: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    speculation: bool = True


def only(contract: str) -> str:
    """The variant with this repair and no other."""
    return f"only-{contract}"


def without(contract: str) -> str:
    """The variant with every repair but this one."""
    return f"without-{contract}"


def broken_reference(contract: str) -> str:
    """The reference with this one fault: what the finding predicts."""
    return f"reference-with-{contract}-broken"


def engine_variants(
    repairs: Sequence[str], reference: bool, broken: Sequence[str] = ()
) -> tuple[Variant, ...]:
    """The experiment on an engine, most telling variants first.

    With two repairs, leaving one out is the other alone, so that is measured once. The reference
    has each fault that is repaired, and each of ``broken`` that nothing repairs: what an engine
    keeps losing can then be told by its likeness to one of them.
    """
    every = tuple(repairs)
    found = [Variant(name=AS_RELEASED, kind=Kind.ENGINE)]
    if every:
        found.append(Variant(name=ALL, kind=Kind.ENGINE, repaired=every))
    if reference:
        found.append(Variant(name=REFERENCE, kind=Kind.REFERENCE))
    if len(every) > 1:
        found += [Variant(name=only(c), kind=Kind.ENGINE, repaired=(c,)) for c in every]
    if len(every) > 2:
        found += [
            Variant(name=without(c), kind=Kind.ENGINE, repaired=tuple(o for o in every if o != c))
            for c in every
        ]
    found.append(Variant(name=NO_SPECULATION, kind=Kind.ENGINE, repaired=every, speculation=False))
    if reference:
        found += [
            Variant(name=broken_reference(c), kind=Kind.REFERENCE, faults=(c,))
            for c in dict.fromkeys((*every, *broken))
            if c in MODELLED
        ]
    return tuple(found)


def reference_variants(broken: Sequence[str]) -> tuple[Variant, ...]:
    """The same experiment predicted: the reference with the faults that are not repaired."""
    faults = tuple(c for c in MODELLED if c in broken)
    found = [
        Variant(name=REFERENCE, kind=Kind.REFERENCE, repaired=faults),
        Variant(name=AS_RELEASED, kind=Kind.REFERENCE, faults=faults),
    ]
    if len(faults) > 1:
        found += [
            Variant(
                name=only(c), kind=Kind.REFERENCE, repaired=(c,), faults=tuple(o for o in faults if o != c)
            )
            for c in faults
        ]
    if len(faults) > 2:
        found += [
            Variant(
                name=without(c), kind=Kind.REFERENCE, repaired=tuple(o for o in faults if o != c), faults=(c,)
            )
            for c in faults
        ]
    return tuple(found) if faults else (found[0],)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What every variant does: how much text, and how large the models are (bytes on disk)."""

    prompts: int
    prompt_tokens: int
    new_tokens: int
    weight_bytes: int
    speculative_tokens: int


@dataclass(frozen=True, kw_only=True)
class Place:
    """How fast a place is, in rough figures: they size a plan and never reach a result.

    ``step_seconds``: one draft with its verification. ``batched``: all prompts at once.
    """

    name: str
    start_seconds: float
    step_seconds: float
    overhead_bytes: int
    batched: bool
    parallel: int = 1


GPU = Place(name="gpu", start_seconds=45, step_seconds=0.02, overhead_bytes=5 << 30, batched=True, parallel=4)
GPU_REFERENCE = Place(
    name="gpu", start_seconds=10, step_seconds=0.012, overhead_bytes=1 << 30, batched=False, parallel=4
)
CPU = Place(
    name="cpu", start_seconds=3, step_seconds=0.007, overhead_bytes=400 << 20, batched=False, parallel=2
)
CPU_ENGINE = Place(
    name="cpu-engine", start_seconds=60, step_seconds=0.2, overhead_bytes=4 << 30, batched=True
)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Roughly what one variant costs."""

    seconds: float
    memory_bytes: int


def estimate(variant: Variant, work: Workload, place: Place) -> Estimate:
    """Seconds and memory of one variant; an unrepaired engine is taken to accept nothing."""
    length = 1.0 if variant.faults or not variant.repaired else 2.5
    if variant.name == REFERENCE:
        length = 2.5
    steps = work.new_tokens / (length if variant.speculation else 1.0)
    if place.batched:
        steps *= 2  # the second pass, over a warm prefix cache
    else:
        steps *= work.prompts
    scale = max(1.0, work.weight_bytes / (64 << 20)) ** 0.5
    return Estimate(
        seconds=place.start_seconds + steps * place.step_seconds * scale,
        memory_bytes=place.overhead_bytes + 2 * work.weight_bytes,
    )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What will be measured, what was left out to fit, and about how long it takes."""

    variants: tuple[Variant, ...]
    estimates: Mapping[str, Estimate]
    seconds: float
    parallel: int
    cut: tuple[str, ...] = ()


def make_plan(
    variants: Sequence[Variant], work: Workload, places: Mapping[Kind, Place], budget: float | None = None
) -> Plan:
    """Keep variants in their order for as long as they fit ``budget`` seconds.

    Raises UsageError when not even the first two fit: one variant compares with nothing.
    """
    estimates = {v.name: estimate(v, work, places[v.kind]) for v in variants}
    parallel = min(place.parallel for place in places.values())
    kept: list[Variant] = []
    total = 0.0
    for variant in variants:
        cost = estimates[variant.name].seconds / parallel
        if budget is not None and total + cost > budget:
            break
        kept.append(variant)
        total += cost
    if budget is not None and len(kept) < min(2, len(variants)):
        need = sum(estimates[v.name].seconds for v in variants[:2]) / parallel
        raise UsageError(
            f"a budget of {budget:.0f} s holds no comparison; the two first variants take about {need:.0f} s",
            f"give --budget {int(need / 60) + 1}m or fewer --prompts",
        )
    return Plan(
        variants=tuple(kept),
        estimates=estimates,
        seconds=total,
        parallel=parallel,
        cut=tuple(v.name for v in variants[len(kept) :]),
    )


_BUDGET = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?\Z")


def parse_budget(text: str) -> float:
    """``90``, ``90s``, ``10m``, ``1h30m`` in seconds. Raises UsageError."""
    match = _BUDGET.match(text.strip())
    if not match or not any(match.groups()):
        raise UsageError(f"cannot read the budget {text!r}", "write 90s, 10m or 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(3600 * hours + 60 * minutes + seconds)
