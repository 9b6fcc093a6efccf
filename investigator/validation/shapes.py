"""The tensors of a pair: their names and shapes, and what they hold before training."""

import math

import torch
from torch import Tensor

from investigator.validation.specs import PairSpec


def initial(shapes: dict[str, tuple[int, ...]], seed: int, layers: int, device: str) -> dict[str, Tensor]:
    """Float32 parameters: ones for norms, small normals else, smaller where a residual is written."""
    source = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in shapes.items():
        if len(shape) == 1:
            value = torch.ones(shape)
        else:
            scale = (
                0.02 / math.sqrt(2 * layers) if name.endswith(("o_proj.weight", "down_proj.weight")) else 0.02
            )
            value = torch.randn(shape, generator=source) * scale
        weights[name] = value.to(device).requires_grad_()
    return weights


def layer_shapes(spec: PairSpec, prefix: str, count: int, *, norms: bool) -> dict[str, tuple[int, ...]]:
    """Names and shapes of ``count`` decoder layers, with norms for queries and keys or without."""
    hidden, wide, narrow = spec.hidden, spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
    one = {
        "input_layernorm": (hidden,),
        "post_attention_layernorm": (hidden,),
        **({"self_attn.q_norm": (spec.head_dim,), "self_attn.k_norm": (spec.head_dim,)} if norms else {}),
        "self_attn.q_proj": (wide, hidden),
        "self_attn.k_proj": (narrow, hidden),
        "self_attn.v_proj": (narrow, hidden),
        "self_attn.o_proj": (hidden, wide),
        "mlp.gate_proj": (spec.intermediate, hidden),
        "mlp.up_proj": (spec.intermediate, hidden),
        "mlp.down_proj": (hidden, spec.intermediate),
    }
    return {f"{prefix}{i}.{name}.weight": shape for i in range(count) for name, shape in one.items()}


def target_shapes(spec: PairSpec) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the target's tensors."""
    return {
        "model.embed_tokens.weight": (spec.vocabulary, spec.hidden),
        **layer_shapes(spec, "model.layers.", spec.target_layers, norms=not spec.rotates_pairs),
        "model.norm.weight": (spec.hidden,),
        "lm_head.weight": (spec.vocabulary, spec.hidden),
    }


def draft_shapes(spec: PairSpec) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the drafter's tensors; embeddings and head are the target's."""
    return {
        "fc.weight": (spec.hidden, spec.hidden * len(spec.target_layer_ids)),
        "hidden_norm.weight": (spec.hidden,),
        **layer_shapes(spec, "layers.", len(spec.windows), norms=True),
        "norm.weight": (spec.hidden,),
    }
