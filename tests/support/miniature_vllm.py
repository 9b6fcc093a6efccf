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
    "DFlashDraftModel": ("mini_draft", "MiniDraft"),
}
""",
}

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
    "sliding_window": 8,
    "use_sliding_window": True,
    "vocab_size": 64,
}
TARGET: dict[str, Json] = {
    "architectures": ["MiniTargetForCausalLM"],
    "hidden_size": 32,
    "num_hidden_layers": 6,
    "vocab_size": 64,
}


def checkpoint(**draft: Json) -> Checkpoint:
    """A drafter of three layers, two sliding (window 8) and one full; block of 4; keys to change."""
    config = {**DRAFT, **draft}
    return read_checkpoint(
        model_config(config, repo="mini/draft", revision="1", source="draft", complete=True),
        model_config(TARGET, repo="mini/target", revision="1", source="target", complete=True),
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
