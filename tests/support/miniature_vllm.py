"""A vLLM of a few lines: the classes that every question needs, and a small pair to put on it.

A test lays its own files over these. Everything here is this project's own writing.
"""

from collections.abc import Mapping

from investigator.checkpoint import Checkpoint
from investigator.checkpoints import model_config, read_checkpoint
from investigator.code.program import Program
from investigator.engines.vllm.world import World
from investigator.model import Json, Source
from tests.support.builders import TextTree, source

CONFIG = {
    "vllm/config/speculative.py": """\
class SpeculativeConfig:
    method = None

    def use_eagle(self):
        return self.method in ("eagle", "dflash")

    def use_dflash(self):
        return self.method == "dflash"

    def uses_draft_model(self):
        return self.method == "draft_model"
""",
    "vllm/config/model.py": """\
class ModelConfig:
    def get_num_layers(self, parallel_config):
        return self.hf_text_config.num_hidden_layers
""",
    "vllm/config/cache.py": "class CacheConfig:\n    block_size = 16\n",
    "vllm/config/parallel.py": "class ParallelConfig:\n    pass\n",
    "vllm/config/scheduler.py": "class SchedulerConfig:\n    pass\n",
    "vllm/config/vllm.py": """\
import os


class VllmConfig:
    @property
    def use_v2_model_runner(self):
        return bool(int(os.environ.get("VLLM_USE_V2_MODEL_RUNNER", "0")))

    def __post_init__(self):
        pass
""",
    "vllm/model_executor/models/registry.py": """\
_MODELS = {
    "MiniTargetForCausalLM": ("mini_target", "MiniTargetForCausalLM"),
    "MiniPictures": ("mini_target", "MiniPictures"),
    "DFlashDraftModel": ("mini_draft", "MiniDraft"),
}
""",
}

DRAFT_MODEL = {
    "vllm/model_executor/layers/attention/attention.py": """\
class Attention:
    def __init__(self, heads, head_size, cache_config=None, per_layer_sliding_window=None, prefix=""):
        self.sliding_window = None
        if per_layer_sliding_window is not None:
            self.sliding_window = per_layer_sliding_window
        elif cache_config is not None:
            self.sliding_window = cache_config.sliding_window
        self.layer_name = prefix
""",
    "vllm/v1/attention/backends/flash_attn.py": """\
from torch import Tensor

from vllm.kernels import flash_attn_varlen_func


class FlashAttentionImpl:
    def __init__(self, num_heads, sliding_window, attn_type="decoder"):
        if sliding_window is None:
            self.sliding_window = (-1, -1)
        elif attn_type == "encoder":
            self.sliding_window = (sliding_window - 1, sliding_window - 1)
        else:
            self.sliding_window = (sliding_window - 1, 0)

    def forward(self, layer, query, kv_cache, attn_metadata):
        window = list(self.sliding_window)
        return flash_attn_varlen_func(q=query, window_size=window, block_table=attn_metadata.block_table)
""",
    "vllm/model_executor/layers/rotary_embedding/__init__.py": """\
def get_rope(head_size, max_position, is_neox_style=True, rope_parameters=None):
    raise NotImplementedError
""",
    "vllm/model_executor/models/mini_draft.py": """\
from torch import nn

from vllm.model_executor.layers.attention.attention import Attention
from vllm.model_executor.layers.rotary_embedding import get_rope


def layer_is_causal(config, i):
    asked = (getattr(config, "dflash_config", None) or {}).get("causal")
    return asked if asked is not None else config.layer_types[i] == "sliding_attention"


def some_layer_is_not_causal(config):
    return not all(layer_is_causal(config, i) for i in range(config.num_hidden_layers))


class MiniAttention(nn.Module):
    def __init__(self, config, i, prefix):
        self.rotary_emb = get_rope(8, 1024, rope_parameters=config.rope_parameters)
        sliding = config.layer_types[i] == "sliding_attention"
        window = config.sliding_window if sliding else None
        self.attn = Attention(config.num_attention_heads, 8, per_layer_sliding_window=window, prefix=prefix)
        self.causal = layer_is_causal(config, i)


class MiniLayer(nn.Module):
    def __init__(self, config, i, prefix):
        super().__init__()
        self.self_attn = MiniAttention(config, i, prefix=f"{prefix}.self_attn.attn")


class MiniModel(nn.Module):
    def __init__(self, vllm_config, prefix):
        super().__init__()
        config = vllm_config.speculative_config.draft_model_config.hf_config
        self.layers = nn.ModuleList(
            [MiniLayer(config, i, f"{prefix}layers.{i}") for i in range(config.num_hidden_layers)]
        )


class MiniDraft(nn.Module):
    draft_id_to_target_id = None

    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.config = vllm_config.speculative_config.draft_model_config.hf_config
        self.model = MiniModel(vllm_config, prefix)
        self.lm_head = nn.Linear(self.config.hidden_size, self.config.vocab_size)

    def get_draft_kv_cache_layer_names(self):
        return [layer.self_attn.attn.layer_name for layer in self.model.layers]

    def get_draft_attn_causal(self):
        return [layer.self_attn.causal for layer in self.model.layers]
""",
}
"""A draft model whose layers get their windows."""

TARGET_MODEL = {
    "vllm/model_executor/models/interfaces.py": """\
class SupportsMultiModal:
    supports_multimodal = True

    def get_language_model(self):
        return self.the_part_that_was_marked()
""",
    "vllm/model_executor/models/utils.py": """\
def make_layers(count, layer_fn, prefix):
    raise NotImplementedError
""",
    "vllm/model_executor/models/mini_target.py": """\
from torch import nn

from vllm.model_executor.layers.rotary_embedding import get_rope
from vllm.model_executor.models.interfaces import SupportsMultiModal
from vllm.model_executor.models.utils import make_layers


class Head(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.size = config.vocab_size

    def tie_weights(self, embedding):
        self.weight = embedding.weight
        return self


class TargetAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.rotary_emb = get_rope(8, 1024)


class TargetLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attn = TargetAttention(config)


class TargetModel(nn.Module):
    def __init__(self, vllm_config):
        super().__init__()
        config = vllm_config.model_config.hf_text_config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.start, self.end, self.layers = make_layers(
            config.num_hidden_layers, lambda prefix: TargetLayer(config), prefix="layers"
        )


class MiniTargetForCausalLM(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        config = vllm_config.model_config.hf_text_config
        self.model = TargetModel(vllm_config)
        self.lm_head = Head(config)
        if config.tie_word_embeddings:
            self.lm_head = self.lm_head.tie_weights(self.model.embed_tokens)


class MiniPictures(nn.Module, SupportsMultiModal):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.vision = nn.Module()
        with self._mark_language_model(vllm_config):
            self.language_model = MiniTargetForCausalLM(vllm_config=vllm_config, prefix="language_model")
""",
}
"""A target that is its own language model, and one that wraps it."""

RUNNERS = {
    "vllm/v1/worker/gpu_worker.py": """\
class Worker:
    def __init__(self, vllm_config):
        self.vllm_config = vllm_config
        self.use_v2_model_runner = vllm_config.use_v2_model_runner

    def init_device(self):
        if self.use_v2_model_runner:
            from vllm.v1.worker.gpu.model_runner import Runner as SecondRunner

            self.model_runner = SecondRunner(self.vllm_config)
        else:
            from vllm.v1.worker.gpu_model_runner import Runner as FirstRunner

            self.model_runner = FirstRunner(self.vllm_config)
""",
    "vllm/v1/worker/gpu_model_runner.py": """\
from vllm.v1.spec_decode.ngram import NgramProposer
from vllm.v1.spec_decode.block import BlockProposer


class Runner:
    def __init__(self, vllm_config):
        self.speculative_config = vllm_config.speculative_config
        if self.speculative_config is not None:
            if self.speculative_config.method == "ngram":
                self.drafter = NgramProposer(vllm_config)
            elif self.speculative_config.use_dflash():
                self.drafter = BlockProposer(vllm_config, self)

    def execute_model(self, batch):
        return self.drafter.propose(batch)
""",
    "vllm/v1/worker/gpu/model_runner.py": """\
from vllm.v1.worker.gpu.spec_decode import init_speculator


class Runner:
    def __init__(self, vllm_config):
        self.speculator = None
        if vllm_config.speculative_config is not None:
            self.speculator = init_speculator(vllm_config)

    def execute_model(self, batch):
        return self.speculator.propose(batch)
""",
    "vllm/v1/worker/gpu/spec_decode/__init__.py": """\
def init_speculator(vllm_config):
    if vllm_config.speculative_config.method == "dflash":
        from vllm.v1.worker.gpu.spec_decode.block import BlockSpeculator

        return BlockSpeculator(vllm_config)
    raise NotImplementedError(vllm_config.speculative_config.method)
""",
}
"""A worker, both model runners, and the way from each to its drafter."""

DRAFT: dict[str, Json] = {
    "architectures": ["DFlashDraftModel"],
    "block_size": 4,
    "dflash_config": {"mask_token_id": 9, "target_layer_ids": [1, 3]},
    "head_dim": 8,
    "hidden_size": 32,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "num_key_value_heads": 2,
    "num_target_layers": 6,
    "rope_theta": 10000,
    "sliding_window": 8,
    "use_sliding_window": True,
    "vocab_size": 64,
}
TARGET: dict[str, Json] = {
    "architectures": ["MiniTargetForCausalLM"],
    "hidden_size": 32,
    "num_hidden_layers": 6,
    "tie_word_embeddings": False,
    "vocab_size": 64,
}


def checkpoint(target: str = "MiniTargetForCausalLM", /, **draft: Json) -> Checkpoint:
    """A drafter of three layers, two sliding (window 8) and one full; block of 4; keys to change.

    ``target``: the target's architecture.
    """
    config = {**DRAFT, **draft}
    on = {**TARGET, "architectures": [target]}
    return read_checkpoint(
        model_config(config, repo="mini/draft", revision="1", source="draft", complete=True),
        model_config(on, repo="mini/target", revision="1", source="target", complete=True),
    )


def all_full() -> Checkpoint:
    """The same drafter with full attention in every layer."""
    return checkpoint(layer_types=["full_attention"] * 3, sliding_window=None, use_sliding_window=False)


def world(files: Mapping[str, str], case: Checkpoint | None = None) -> World:
    """The miniature with these files laid over it, and a drafter on it (the mixed one)."""
    tree = TextTree(vllm_source(), {**CONFIG, **files})
    return World(Program(tree), case or checkpoint())


def vllm_source() -> Source:
    """Where the miniature says it comes from."""
    return source("vllm")
