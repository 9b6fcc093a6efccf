"""TinyLLM's own code, in two releases: the first taps one layer early and knows no windows."""

from pathlib import Path

from investigator.model import Json

CONFIG = {
    "1.0": """\
def plan_taps(config):
    return list(config.dflash_config["target_layer_ids"])


def windows(config):
    return [None for _ in range(config.num_hidden_layers)]
""",
    "2.0": """\
def plan_taps(config):
    return [number + 1 for number in config.dflash_config["target_layer_ids"]]


def windows(config):
    wide = config.sliding_window
    return [wide if kind == "sliding_attention" else None for kind in config.layer_types]
""",
}
MODEL = """\
class Stack:
    def __init__(self, taps):
        self.taps = taps
        self.layers = []

    def run(self, stream):
        kept = []
        for number, layer in enumerate(self.layers):
            if number in self.taps:
                kept.append(stream)
            stream = layer(stream)
        if len(self.layers) in self.taps:
            kept.append(stream)
        return kept
"""
DRAFT: dict[str, Json] = {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "num_hidden_layers": 2,
    "num_target_layers": 6,
    "hidden_size": 8,
    "head_dim": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "layer_types": ["sliding_attention", "full_attention"],
    "sliding_window": 32,
    "use_sliding_window": True,
    "block_size": 4,
    "dflash_config": {"target_layer_ids": [1, 3], "mask_token_id": 9},
}
"""A drafter's config: one sliding layer, two taps."""
TARGET: dict[str, Json] = {
    "architectures": ["TinyForCausalLM"],
    "num_hidden_layers": 6,
    "hidden_size": 8,
    "vocab_size": 64,
}


def write(folder: Path, version: str) -> Path:
    """One release as a folder."""
    package = folder / "tinyllm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f'__version__ = "{version}"\n')
    (package / "config.py").write_text(CONFIG[version])
    (package / "model.py").write_text(MODEL)
    return folder
