"""Reference semantics of a DFlash drafter in plain torch, with each fault switchable.

This program stands on torch and safetensors alone: it is copied into experiment folders and
runs where this package is not installed. Models are plain functions over the checkpoint's own
tensors, so that training, reading and writing Hugging Face checkpoints need no classes.

What is meant by the reference: an id ``k`` of ``target_layer_ids`` taps the output of decoder
layer ``k``; each draft layer attends as ``layer_types`` says; sliding layers are causal inside
the block and full layers see all of it; context keys and values are kept. A draft layer rotates
in halves, whatever its target does.

    python reference.py --target DIR --draft DIR --prompts prompts.json --out result.json [--fault ID]
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Weights = Mapping[str, Tensor]

IN_HALVES = ("qwen3",)
IN_PAIRS = ("ernie4_5",)
"""Model types of targets, by how they rotate queries and keys. The second has no norms for either."""


@dataclass(frozen=True)
class Geometry:
    """The sizes of one Qwen3- or Ernie-style decoder, from its ``config.json``.

    ``pairs``: whether it rotates dimension 2i with 2i + 1, not i with i + head_dim / 2.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    eps: float
    rope_theta: float
    pairs: bool = False

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Geometry":
        """Read the keys; ``rope_theta`` stands flat or inside ``rope_parameters``."""
        rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
        return cls(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            heads=config["num_attention_heads"],
            kv_heads=config["num_key_value_heads"],
            head_dim=config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"],
            eps=config.get("rms_norm_eps", 1e-6),
            rope_theta=float(config.get("rope_theta") or rope.get("rope_theta") or 10_000.0),
            pairs=config.get("model_type") in IN_PAIRS,
        )


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


# --- the models ------------------------------------------------------------------------------


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Root-mean-square norm over the last axis, computed in float32."""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return weight * wide.to(x.dtype)


def rotation(positions: Tensor, geometry: Geometry, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosine and sine for ``positions`` [T]: two tensors [T, head_dim]."""
    width = geometry.head_dim
    steps = torch.arange(0, width, 2, device=positions.device, dtype=torch.float32) / width
    angles = positions.float()[:, None] * (1.0 / geometry.rope_theta**steps)[None, :]
    angles = angles.repeat_interleave(2, dim=-1) if geometry.pairs else torch.cat([angles, angles], dim=-1)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x: Tensor, cos: Tensor, sin: Tensor, pairs: bool) -> Tensor:
    """Apply rotary positions to ``x`` [batch, heads, T, head_dim]."""
    if pairs:
        turned = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)
    else:
        half = x.shape[-1] // 2
        turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * cos + turned * sin


def attend(query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None) -> Tensor:
    """Softmax attention; ``visible`` is bool [Q, K], or None for plain causal self-attention.

    Shapes: query [batch, heads, Q, d]; key and value [batch, kv_heads, K, d]. The masked form is
    written out: its gradient is the same on every run, which fused kernels do not promise.
    """
    key, value = share_heads(key, query.shape[1]), share_heads(value, query.shape[1])
    if visible is None:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
    scores = (query @ key.transpose(-1, -2)) * query.shape[-1] ** -0.5
    scores = scores.float().masked_fill(~visible, float("-inf"))
    return scores.softmax(-1).to(value.dtype) @ value


def share_heads(x: Tensor, heads: int) -> Tensor:
    """Let ``heads`` query heads see the fewer heads of ``x`` [batch, kv_heads, K, d], group by group."""
    batch, kv_heads, length, width = x.shape
    if kv_heads == heads:
        return x
    shared = x[:, :, None].expand(batch, kv_heads, heads // kv_heads, length, width)
    return shared.reshape(batch, heads, length, width)


class KeyValues:
    """Keys and values of the tokens seen so far, one pair a layer."""

    def __init__(self, layers: int) -> None:
        self._kept: list[tuple[Tensor, Tensor] | None] = [None] * layers

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append along the token axis and return everything kept for ``layer``."""
        kept = self._kept[layer]
        if kept is not None:
            key, value = torch.cat([kept[0], key], dim=2), torch.cat([kept[1], value], dim=2)
        self._kept[layer] = (key, value)
        return key, value

    def crop(self, length: int) -> None:
        """Forget everything past the first ``length`` tokens."""
        self._kept = [kv and (kv[0][:, :, :length], kv[1][:, :, :length]) for kv in self._kept]


def decoder_layer(
    weights: Weights,
    prefix: str,
    geometry: Geometry,
    x: Tensor,
    *,
    cos: Tensor,
    sin: Tensor,
    visible: Tensor | None,
    context: Tensor | None = None,
    cache: KeyValues | None = None,
    layer: int = 0,
) -> Tensor:
    """One layer over ``x`` [batch, Q, hidden]; queries and keys are normed where weights for it are.

    ``context`` [batch, C, hidden] holds states whose keys and values stand before those of ``x``
    (a drafter's context); ``cos`` and ``sin`` then cover C + Q positions.
    """
    batch, length, _ = x.shape

    def project(name: str, states: Tensor) -> Tensor:
        out = F.linear(states, weights[f"{prefix}.self_attn.{name}_proj.weight"])
        out = out.view(batch, states.shape[1], -1, geometry.head_dim)
        norm = weights.get(f"{prefix}.self_attn.{name}_norm.weight")
        if norm is not None:
            out = rms_norm(out, norm, geometry.eps)
        return out.transpose(1, 2)

    normed = rms_norm(x, weights[f"{prefix}.input_layernorm.weight"], geometry.eps)
    states = normed if context is None else torch.cat([context, normed], dim=1)
    query = rotate(project("q", normed), cos[-length:], sin[-length:], geometry.pairs)
    key, value = rotate(project("k", states), cos, sin, geometry.pairs), project("v", states)
    if cache is not None:
        key, value = cache.extend(layer, key, value)
    mixed = attend(query, key, value, visible).transpose(1, 2).reshape(batch, length, -1)
    x = x + F.linear(mixed, weights[f"{prefix}.self_attn.o_proj.weight"])
    normed = rms_norm(x, weights[f"{prefix}.post_attention_layernorm.weight"], geometry.eps)
    gate = F.silu(F.linear(normed, weights[f"{prefix}.mlp.gate_proj.weight"]))
    up = F.linear(normed, weights[f"{prefix}.mlp.up_proj.weight"])
    return x + F.linear(gate * up, weights[f"{prefix}.mlp.down_proj.weight"])


def target_states(
    weights: Weights, geometry: Geometry, ids: Tensor, start: int = 0, cache: KeyValues | None = None
) -> list[Tensor]:
    """Hidden states of ``ids`` [batch, T] that stand at positions ``start``...: embeddings, then
    the output of every decoder layer (the last one before the final norm)."""
    positions = torch.arange(start, start + ids.shape[1], device=ids.device)
    x = F.embedding(ids, weights["model.embed_tokens.weight"])
    cos, sin = rotation(positions, geometry, x.dtype)
    visible = None
    if start:
        visible = torch.arange(start + ids.shape[1], device=ids.device)[None, :] <= positions[:, None]
    states = [x]
    for layer in range(geometry.layers):
        x = decoder_layer(
            weights, f"model.layers.{layer}", geometry, x,
            cos=cos, sin=sin, visible=visible, cache=cache, layer=layer,
        )  # fmt: skip
        states.append(x)
    return states


def target_head(weights: Weights, geometry: Geometry, state: Tensor) -> Tensor:
    """Logits of the last layer's output."""
    normed = rms_norm(state, weights["model.norm.weight"], geometry.eps)
    return head(weights, normed)


def head(weights: Weights, normed: Tensor) -> Tensor:
    """The output head, which a tied checkpoint shares with its embeddings."""
    matrix = weights.get("lm_head.weight")
    return F.linear(normed, weights["model.embed_tokens.weight"] if matrix is None else matrix)


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


# --- speculative generation ------------------------------------------------------------------


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


def continue_greedily(pair: Pair, prompt: Sequence[int], new_tokens: int) -> list[int]:
    """The target alone: what speculation must not change."""
    cache = KeyValues(pair.target_geometry.layers)
    device = pair.target["model.embed_tokens.weight"].device
    ids, start = torch.tensor([list(prompt)], device=device), 0
    output: list[int] = []
    with torch.inference_mode():
        while len(output) < new_tokens:
            states = target_states(pair.target, pair.target_geometry, ids, start, cache)
            start += ids.shape[1]
            token = int(target_head(pair.target, pair.target_geometry, states[-1][:, -1]).argmax(-1))
            output.append(token)
            ids = torch.tensor([[token]], device=device)
    return output


# --- checkpoints and the command line --------------------------------------------------------


def read_weights(folder: Path, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Weights:
    """Every tensor of a folder's safetensors files."""
    from safetensors.torch import load_file

    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise FileNotFoundError(f"{folder} holds no safetensors file")
    return {
        name: tensor.to(device=device, dtype=dtype)
        for file in files
        for name, tensor in load_file(file).items()
    }


def load_pair(target: Path, draft: Path, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Pair:
    """Read two Hugging Face folders. Raises ValueError for a target of another architecture."""
    target_config = json.loads((target / "config.json").read_text())
    kind, known = target_config.get("model_type"), (*IN_HALVES, *IN_PAIRS)
    if kind not in known:
        raise ValueError(f"reference semantics are written for {' and '.join(known)} targets, this is {kind}")
    return Pair(
        target=read_weights(target, device, dtype),
        draft=read_weights(draft, device, dtype),
        target_geometry=Geometry.of(target_config),
        draft_config=json.loads((draft / "config.json").read_text()),
    )


def measure(
    pair: Pair,
    prompts: Sequence[Sequence[int]],
    new_tokens: int,
    semantics: Semantics,
    speculative_tokens: int | None,
    time_limit: float | None = None,
) -> dict[str, Any]:
    """One variant over all prompts, in the shape that the harness writes for a pass."""
    began, rows, outputs = time.monotonic(), [], []
    for index, prompt in enumerate(prompts):
        if time_limit is not None and time.monotonic() - began > time_limit:
            raise TimeoutError(f"{index} of {len(prompts)} prompts done in {time_limit:.0f} s")
        done = generate(pair, prompt, new_tokens, semantics, speculative_tokens)
        rows.append({"prompt": index, **asdict(done.counters)})
        outputs.append(done.output)
    return {"seconds": time.monotonic() - began, "prompts": rows, "outputs": outputs}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one variant and write its result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path, required=True)
    parser.add_argument("--prompts", type=Path, required=True, help="JSON: a list of lists of token ids")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variant", default="reference")
    parser.add_argument("--fault", action="append", default=[], choices=sorted(FAULTS))
    parser.add_argument("--new-tokens", type=int, default=96)
    parser.add_argument("--speculative-tokens", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    dtype = getattr(torch, options.dtype)
    began = time.monotonic()
    pair = load_pair(options.target, options.draft, options.device, dtype)
    loaded = time.monotonic() - began
    fresh = measure(
        pair,
        json.loads(options.prompts.read_text()),
        options.new_tokens,
        combine(options.fault),
        options.speculative_tokens,
    )
    on_gpu = options.device.startswith("cuda")
    result = {
        "variant": options.variant,
        "status": "done",
        "engine": {"name": "reference", "version": torch.__version__, "device": options.device},
        "options": {"dtype": options.dtype, "faults": options.fault},
        "load_seconds": loaded,
        "peak_memory_bytes": torch.cuda.max_memory_allocated()
        if on_gpu
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "passes": {"fresh": fresh},
    }
    options.out.write_text(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
