"""Greedy speculative generation with one pair, counted as vLLM counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F

from investigator.validation.reference.decoder import (
    Geometry,
    KeyValues,
    Weights,
    head,
    target_head,
    target_states,
)
from investigator.validation.reference.drafter import Drafter, draft_states
from investigator.validation.reference.semantics import REFERENCE, Semantics


@dataclass(frozen=True)
class Pair:
    """A target and its drafter, loaded."""

    target: Weights
    draft: Weights
    target_geometry: Geometry
    draft_config: Mapping[str, Any]


@dataclass
class Counters:
    """What vLLM counts, for one prompt. ``per_position[i]``: drafts that had token i accepted."""

    drafts: int = 0
    draft_tokens: int = 0
    accepted: int = 0
    per_position: list[int] = field(default_factory=list)

    def observe(self, proposed: int, accepted: int) -> None:
        """Count one verified draft."""
        self.drafts += 1
        self.draft_tokens += proposed
        self.accepted += accepted
        self.per_position += [0] * (proposed - len(self.per_position))
        for position in range(accepted):
            self.per_position[position] += 1


@dataclass(frozen=True)
class Generation:
    """One prompt's outcome. ``drafted``: the proposed tokens of each draft."""

    output: list[int]
    counters: Counters
    drafted: list[list[int]]


def generate(
    pair: Pair,
    prompt: Sequence[int],
    new_tokens: int,
    semantics: Semantics = REFERENCE,
    speculative_tokens: int | None = None,
) -> Generation:
    """Greedy speculative generation at batch 1; ``speculative_tokens`` defaults to block size - 1.

    A draft counts as vLLM counts it: in full, also when the output is cut at ``new_tokens``.
    """
    with torch.inference_mode():
        return _generate(pair, prompt, new_tokens, semantics, speculative_tokens)


def _generate(
    pair: Pair,
    prompt: Sequence[int],
    new_tokens: int,
    semantics: Semantics,
    speculative_tokens: int | None,
) -> Generation:
    drafter = Drafter.of(pair.draft_config, semantics)
    proposals = drafter.block_size - 1 if speculative_tokens is None else speculative_tokens
    embed = pair.target["model.embed_tokens.weight"]
    device = embed.device
    target_cache = KeyValues(pair.target_geometry.layers)
    draft_cache = KeyValues(drafter.geometry.layers)
    ids = torch.tensor([list(prompt)], device=device)
    states = target_states(pair.target, pair.target_geometry, ids, 0, target_cache)
    logits = target_head(pair.target, pair.target_geometry, states[-1][:, -1])
    output = [int(logits.argmax(-1))]
    features, first, start = drafter.features(states), 0, len(prompt)
    masks = [drafter.mask_token] * proposals
    counters, drafted = Counters(per_position=[0] * proposals), []
    while len(output) < new_tokens:
        block = torch.tensor([[output[-1], *masks]], device=device)
        query = torch.arange(start, start + 1 + proposals, device=device)
        hidden = draft_states(
            pair.draft, drafter, features, F.embedding(block, embed),
            first=first, query=query, anchor=torch.full_like(query, start), cache=draft_cache,
        )  # fmt: skip
        draft_cache.crop(start)
        proposal = head(pair.target, hidden[:, 1:]).argmax(-1)
        checked = torch.cat([block[:, :1], proposal], dim=1)
        states = target_states(pair.target, pair.target_geometry, checked, start, target_cache)
        choice = target_head(pair.target, pair.target_geometry, states[-1]).argmax(-1)
        wanted, offered = choice[0].tolist(), proposal[0].tolist()
        accepted = next((i for i, token in enumerate(offered) if token != wanted[i]), proposals)
        counters.observe(proposals, accepted)
        drafted.append(offered)
        output += wanted[: accepted + 1]
        features, first = drafter.features(states)[:, : accepted + 1], start
        start += accepted + 1
        target_cache.crop(start)
    return Generation(output=output[:new_tokens], counters=counters, drafted=drafted)
