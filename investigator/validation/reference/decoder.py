"""A Qwen3- or Ernie-style decoder as functions over the tensors of its checkpoint."""

from collections.abc import Mapping
from dataclasses import dataclass
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
