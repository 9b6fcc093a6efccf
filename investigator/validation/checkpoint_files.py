"""Writing a model as Hugging Face does: config.json, sharded safetensors, tokenizer files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from investigator.model import Json
from investigator.validation.specs import END_TOKEN, MASK_TOKEN

SHARD_BYTES = 900_000
"""Weights of small pairs are cut so that no file of a repository reaches a megabyte."""


def _shards(sizes: Mapping[str, int], limit: int) -> list[list[str]]:
    shards: list[list[str]] = [[]]
    used = 0
    for name, size in sizes.items():
        if shards[-1] and used + size > limit:
            shards.append([])
            used = 0
        shards[-1].append(name)
        used += size
    return shards


def write_json(path: Path, value: Json) -> None:
    """Indented, keys in the order given, a newline at the end."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def write_checkpoint(folder: Path, config: Mapping[str, Json], weights: Mapping[str, Any]) -> None:
    """``weights`` (torch tensors) in bfloat16, in shards when they exceed a shard's size."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config)
    small = {name: weight.to("cpu", torch.bfloat16).contiguous() for name, weight in weights.items()}
    sizes = {name: weight.numel() * 2 for name, weight in small.items()}
    total = sum(sizes.values())
    # A large model is one file: shards exist for repositories, and that one is never committed.
    shards = _shards(sizes, SHARD_BYTES if total < 8 * SHARD_BYTES else total)
    where: dict[str, Json] = {}
    for number, names in enumerate(shards, start=1):
        file = (
            "model.safetensors" if len(shards) == 1 else f"model-{number:05}-of-{len(shards):05}.safetensors"
        )
        save_file({name: small[name] for name in names}, folder / file, metadata={"format": "pt"})
        where |= dict.fromkeys(names, file)
    if len(shards) > 1:
        write_json(
            folder / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": where}
        )


def write_tokenizer(folder: Path, tokenizer: Any) -> None:
    """``tokenizer.json`` and ``tokenizer_config.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": END_TOKEN,
            "pad_token": END_TOKEN,
            "mask_token": MASK_TOKEN,
            "model_max_length": 4096,
        },
    )


def read_tokenizer(folder: Path) -> Any:
    """The tokenizer of a checkpoint folder."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder / "tokenizer.json"))
