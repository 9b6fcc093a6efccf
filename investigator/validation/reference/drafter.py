"""A DFlash drafter over that decoder: what it taps, what each layer sees, its pass over a block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from investigator.validation.reference.decoder import (
    Geometry,
    KeyValues,
    Weights,
    decoder_layer,
    rms_norm,
    rotation,
)
from investigator.validation.reference.semantics import REFERENCE, Semantics


@dataclass(frozen=True)
class Drafter:
    """What a drafter's config says, understood by some :class:`Semantics`."""

    geometry: Geometry
    taps: tuple[int, ...]
    """Indices into the tuple of hidden states, in the order in which features are joined."""
    windows: tuple[int | None, ...]
    causal: tuple[bool, ...]
    block_size: int
    mask_token: int

    @classmethod
    def of(cls, config: Mapping[str, Any], semantics: Semantics = REFERENCE) -> "Drafter":
        """Read a z-lab style config (``dflash_config`` wins over top-level keys)."""
        own = {**config, **(config.get("dflash_config") or {})}
        geometry = replace(Geometry.of(config), pairs=semantics.pairs)
        types = config.get("layer_types") or ["full_attention"] * geometry.layers
        sliding = [kind == "sliding_attention" for kind in types]
        window = config.get("sliding_window")
        everywhere = own.get("is_causal")
        causal = [
            bool(everywhere) if everywhere is not None
            else semantics.sliding_causal if slides else semantics.full_causal
            for slides in sliding
        ]  # fmt: skip
        ids = own["target_layer_ids"]
        return cls(
            geometry=geometry,
            taps=tuple(i + semantics.tap_shift for i in (sorted(set(ids)) if semantics.sorted_taps else ids)),
            windows=tuple(window if slides and semantics.windows else None for slides in sliding),
            causal=tuple(causal),
            block_size=int(own["block_size"]),
            mask_token=int(own["mask_token_id"]) + semantics.mask_shift,
        )

    def features(self, states: Sequence[Tensor]) -> Tensor:
        """Join the tapped hidden states: [batch, T, taps x hidden]."""
        return torch.cat([states[tap] for tap in self.taps], dim=-1)

    def visible(self, layer: int, context: Tensor, query: Tensor, anchor: Tensor) -> Tensor:
        """Bool [Q, C + Q]: what each query of ``layer`` sees of the context and of the queries.

        ``context`` [C] and ``query`` [Q] are positions; ``anchor`` [Q] is the position of the first
        token of the query's own block: it sees context before that, and queries of that block.
        """
        keys = torch.cat([context, query])
        from_context = (context[None, :] < anchor[:, None]).expand(-1, len(context))
        seen = torch.cat([from_context, anchor[None, :] == anchor[:, None]], dim=1)
        ahead = keys[None, :] - query[:, None]
        window = self.windows[layer]
        if self.causal[layer]:
            seen = seen & (ahead <= 0)
        if window is not None:
            seen = seen & (-ahead < window) & (ahead < window)
        return seen


def draft_states(
    weights: Weights,
    drafter: Drafter,
    features: Tensor,
    noise: Tensor,
    *,
    first: int,
    query: Tensor,
    anchor: Tensor,
    cache: KeyValues | None = None,
) -> Tensor:
    """The drafter's final hidden states for the block tokens ``noise`` [batch, Q, hidden].

    ``features`` [batch, C, taps x hidden] are new context, whose first token stands at position
    ``first``; older context is in ``cache``, which afterwards holds the block as well.
    """
    geometry = drafter.geometry
    context = rms_norm(F.linear(features, weights["fc.weight"]), weights["hidden_norm.weight"], geometry.eps)
    device = noise.device
    end = first + features.shape[1]
    positions = torch.cat([torch.arange(first, end, device=device), query])
    cos, sin = rotation(positions, geometry, noise.dtype)
    everything = torch.arange(0 if cache is not None else first, end, device=device)
    masks: dict[tuple[int | None, bool], Tensor] = {}
    x = noise
    for layer in range(geometry.layers):
        kind = (drafter.windows[layer], drafter.causal[layer])
        if kind not in masks:
            masks[kind] = drafter.visible(layer, everything, query, anchor)
        x = decoder_layer(
            weights, f"layers.{layer}", geometry, x,
            cos=cos, sin=sin, visible=masks[kind], context=context, cache=cache, layer=layer,
        )  # fmt: skip
    return rms_norm(x, weights["norm.weight"], geometry.eps)
