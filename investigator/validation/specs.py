"""The pairs that this project trains: their sizes, and their configs in Hugging Face's form."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from investigator.model import Json

MASK_TOKEN = "<|mask|>"
END_TOKEN = "<|endoftext|>"
SPECIAL_TOKENS = (END_TOKEN, MASK_TOKEN)


@dataclass(frozen=True, kw_only=True)
class PairSpec:
    """Sizes of a target and its DFlash drafter, and how long they are trained.

    The target is Qwen3-style; with ``rotates_pairs`` Ernie-style, which rotates queries and keys in
    pairs and has no norms for them. The drafter is Qwen3-style beside either.

    ``windows``: one entry per draft layer, None for full attention. ``sequence`` is in tokens,
    ``batch`` in sequences a step. ``prompt_tokens`` and ``new_tokens`` are what a validation of
    this pair uses; together they stay inside ``sequence``.
    """

    name: str
    vocabulary: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    target_layers: int
    windows: tuple[int | None, ...]
    target_layer_ids: tuple[int, ...]
    block_size: int
    sequence: int
    batch: int
    prompt_tokens: int
    new_tokens: int
    target_steps: int
    draft_steps: int
    blocks: int = 48
    learning_rate: float = 2e-3
    corpus_bytes: int = 100_000_000
    rope_theta: float = 10_000.0
    rotates_pairs: bool = False

    @property
    def causal(self) -> tuple[bool, ...]:
        """Sliding layers are causal inside the block, full layers are not."""
        return tuple(window is not None for window in self.windows)

    def _common(self, layers: int) -> dict[str, Json]:
        return {
            "attention_bias": False,
            "attention_dropout": 0.0,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "hidden_size": self.hidden,
            "initializer_range": 0.02,
            "intermediate_size": self.intermediate,
            "max_position_embeddings": 4096,
            "model_type": "qwen3",
            "num_attention_heads": self.heads,
            "num_hidden_layers": layers,
            "num_key_value_heads": self.kv_heads,
            "rms_norm_eps": 1e-6,
            "rope_theta": self.rope_theta,
            "tie_word_embeddings": False,
            "torch_dtype": "bfloat16",
            "vocab_size": self.vocabulary,
        }

    def target_config(self) -> Mapping[str, Json]:
        """``config.json`` of the target."""
        if self.rotates_pairs:
            return {
                **self._common(self.target_layers),
                "architectures": ["Ernie4_5ForCausalLM"],
                # vLLM has one rotary embedding for all layers with the same settings, and writes its
                # own layout into an Ernie target's: another length keeps it from being the drafter's.
                "max_position_embeddings": 8192,
                "model_type": "ernie4_5",
                "use_bias": False,
            }
        return {
            **self._common(self.target_layers),
            "architectures": ["Qwen3ForCausalLM"],
            "use_sliding_window": False,
            "sliding_window": None,
        }

    def draft_config(self) -> Mapping[str, Json]:
        """``config.json`` of the drafter, in the layout of the z-lab checkpoints."""
        window = next((w for w in self.windows if w is not None), None)
        return {
            **self._common(len(self.windows)),
            "architectures": ["DFlashDraftModel"],
            "block_size": self.block_size,
            "dflash_config": {
                "mask_token_id": SPECIAL_TOKENS.index(MASK_TOKEN),
                "target_layer_ids": list(self.target_layer_ids),
            },
            "layer_types": ["full_attention" if w is None else "sliding_attention" for w in self.windows],
            "max_window_layers": len(self.windows),
            "num_target_layers": self.target_layers,
            "sliding_window": window,
            "use_sliding_window": window is not None,
        }


MICRO = PairSpec(
    name="micro", vocabulary=512, hidden=112, heads=4, kv_heads=2, head_dim=32, intermediate=288,
    target_layers=8, windows=(32, 32, 32, None), target_layer_ids=(1, 2, 4, 5), block_size=8,
    sequence=512, batch=96, prompt_tokens=256, new_tokens=96, target_steps=1700, draft_steps=1700,
)  # fmt: skip

MICRO_FULL = replace(MICRO, name="micro-full", windows=(None,), draft_steps=1700)

TINY = PairSpec(
    name="tiny", vocabulary=2048, hidden=256, heads=4, kv_heads=2, head_dim=64, intermediate=768,
    target_layers=8, windows=(16, 16, 16, 16, None), target_layer_ids=(1, 2, 3, 4, 5), block_size=8,
    sequence=1280, batch=32, prompt_tokens=1000, new_tokens=64, target_steps=1900, draft_steps=2200,
)  # fmt: skip

MICRO_PAIRS = replace(MICRO, name="micro-pairs", rotates_pairs=True)
MICRO_PAIRS_FULL = replace(MICRO_FULL, name="micro-pairs-full", rotates_pairs=True)

SPECS: Mapping[str, PairSpec] = {
    spec.name: spec for spec in (MICRO, MICRO_FULL, TINY, MICRO_PAIRS, MICRO_PAIRS_FULL)
}
