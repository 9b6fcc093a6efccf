"""How a drafter's config is understood: the reference, and what an engine that breaks a promise does."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Semantics:
    """How a drafter's config is understood. The defaults are the reference."""

    tap_shift: int = 1
    """Added to an id of ``target_layer_ids`` to index the tuple (embeddings, layer 0, layer 1, ...)."""
    windows: bool = True
    """Whether sliding layers have their window."""
    sliding_causal: bool = True
    full_causal: bool = False
    mask_shift: int = 0
    """Added to the mask token's id."""
    pairs: bool = False
    """Whether the draft layers rotate in pairs, as some targets do."""
    sorted_taps: bool = False
    """Whether ids are sorted and duplicates dropped before features are joined."""


REFERENCE = Semantics()

FAULTS: Mapping[str, Semantics] = {
    "target-layer-offset": replace(REFERENCE, tap_shift=0),
    # An engine that never reads layer_types has one non-causal mask for the whole drafter.
    "layer-types": replace(REFERENCE, windows=False, sliding_causal=False),
    "in-block-causality": replace(REFERENCE, sliding_causal=False),
    "mask-token": replace(REFERENCE, mask_shift=1),
    # As vLLM 0.28.0 does beside a target that rotates in pairs. Another base is another fault.
    "rope": replace(REFERENCE, pairs=True),
    "feature-width": replace(REFERENCE, sorted_taps=True),
}
"""Contract id -> what an engine that breaks this promise does. A contract that is missing here
(cache-drop, lookahead, ...) does not change what is drafted for one request at a time."""


def combine(faults: Iterable[str]) -> Semantics:
    """Several faults at once. Raises KeyError for a contract without a modelled fault."""
    base = asdict(REFERENCE)
    changed: dict[str, Any] = {}
    for fault in faults:
        changed |= {k: v for k, v in asdict(FAULTS[fault]).items() if v != base[k]}
    return replace(REFERENCE, **changed)
