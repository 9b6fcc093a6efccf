"""Target configs of this project's own: as much of each family's keys as engines ask for."""

from collections.abc import Mapping

from investigator.checkpoint import ModelConfig
from investigator.checkpoints import model_config
from investigator.model import Json

LAYERS = 32
_PLAIN: Mapping[str, Json] = {
    "num_hidden_layers": LAYERS,
    "hidden_size": 2880,
    "intermediate_size": 8192,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000,
    "vocab_size": 151936,
}
_LATENT: Mapping[str, Json] = {
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "max_position_embeddings": 4096,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "moe_intermediate_size": 2048,
}
_OWN: Mapping[str, tuple[str, Mapping[str, Json]]] = {
    "LlamaForCausalLM": ("llama", {}),
    "Qwen2ForCausalLM": ("qwen2", {}),
    "Qwen3ForCausalLM": ("qwen3", {}),
    "Qwen3MoeForCausalLM": (
        "qwen3_moe",
        {
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 768,
            "decoder_sparse_step": 1,
            "norm_topk_prob": True,
            "mlp_only_layers": [],
        },
    ),
    "DeepseekV3ForCausalLM": ("deepseek_v3", _LATENT),
    "GptOssForCausalLM": (
        "gpt_oss",
        {
            "num_local_experts": 32,
            "num_experts_per_tok": 4,
            "sliding_window": 128,
            "layer_types": ["sliding_attention", "full_attention"] * (LAYERS // 2),
        },
    ),
    "Gemma4ForCausalLM": (
        "gemma4_text",
        {"sliding_window": 1024, "layer_types": ["full_attention"] * LAYERS},
    ),
    "Gemma3ForCausalLM": (
        "gemma3_text",
        {"sliding_window": 1024, "layer_types": ["sliding_attention"] * LAYERS, "head_dim": 256},
    ),
    "Glm4MoeForCausalLM": (
        "glm4_moe",
        {
            "n_routed_experts": 128,
            "num_experts_per_tok": 8,
            "first_k_dense_replace": 1,
            "moe_intermediate_size": 1408,
        },
    ),
    "MiniMaxM2ForCausalLM": ("minimax_m2", {"num_local_experts": 256, "num_experts_per_tok": 8}),
    "MiniMaxM3SparseForCausalLM": ("minimax_m3", {"num_local_experts": 256, "num_experts_per_tok": 8}),
    "MiMoV2ForCausalLM": (
        "mimo_v2",
        {"hybrid_layer_pattern": [0, 1] * (LAYERS // 2), "moe_layer_freq": [0] + [1] * (LAYERS - 1)},
    ),
}
_INNER: Mapping[str, tuple[str, str]] = {
    "KimiK25ForConditionalGeneration": ("kimi_k25", "DeepseekV3ForCausalLM"),
}
"""Wrappers: architecture -> model type, and the architecture of the text model inside."""


def target(architecture: str) -> ModelConfig:
    """A target of this architecture with :data:`LAYERS` layers. Raises KeyError for others."""
    if architecture in _INNER:
        kind, inner = _INNER[architecture]
        raw: dict[str, Json] = {"text_config": _keys(inner), "vision_config": {}, "model_type": kind}
    else:
        raw = _keys(architecture)
    return model_config(
        {**raw, "architectures": [architecture]}, repo="made/target", revision="1", source="target"
    )


def _keys(architecture: str) -> dict[str, Json]:
    kind, own = _OWN[architecture]
    return {**_PLAIN, **own, "model_type": kind, "architectures": [architecture]}
