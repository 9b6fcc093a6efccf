"""A pair read from Hugging Face folders."""

import json
from pathlib import Path

import torch

from investigator.validation.reference.decoder import IN_HALVES, IN_PAIRS, Geometry, Weights
from investigator.validation.reference.generation import Pair


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
