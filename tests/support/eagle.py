"""EAGLE-3 heads of this project's own, and targets for them."""

from collections.abc import Sequence

from investigator.checkpoint import ModelConfig
from investigator.checkpoints import model_config
from investigator.model import Json

HIDDEN = 2880


def eagle3_head(ids: Sequence[int] | None = None, **keys: Json) -> ModelConfig:
    """A head of one Llama layer; ``ids`` None: its config names no layers."""
    section: dict[str, Json] = {"use_aux_hidden_state": True}
    if ids is not None:
        section["eagle_aux_hidden_state_layer_ids"] = list(ids)
    raw: dict[str, Json] = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "num_hidden_layers": 1,
        "hidden_size": HIDDEN,
        "intermediate_size": 8192,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "rms_norm_eps": 1e-5,
        "vocab_size": 201088,
        "draft_vocab_size": 32000,
        "eagle_config": section,
        **keys,
    }
    return model_config(raw, repo="made/head", revision="1", source="draft")


def gpt_oss(layers: int = 24) -> ModelConfig:
    """A target of GPT-OSS's architecture."""
    return _target("GptOssForCausalLM", "gpt_oss", layers)


def llama(layers: int = 32) -> ModelConfig:
    """A target of Llama's architecture."""
    return _target("LlamaForCausalLM", "llama", layers)


def _target(architecture: str, kind: str, layers: int) -> ModelConfig:
    raw: dict[str, Json] = {
        "architectures": [architecture],
        "model_type": kind,
        "num_hidden_layers": layers,
        "hidden_size": HIDDEN,
        "intermediate_size": 8192,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "rms_norm_eps": 1e-5,
        "vocab_size": 201088,
    }
    return model_config(raw, repo="made/target", revision="1", source="target")
