"""Reading configs: strict JSON, Hugging Face's rewrites, every drafter layout, and line numbers."""

from investigator.checkpoints.locate import Lines, key_lines
from investigator.checkpoints.normalise import normalise
from investigator.checkpoints.read import model_config, read_checkpoint, target_layers
from investigator.checkpoints.strict_json import read_json, read_object

__all__ = [
    "Lines",
    "key_lines",
    "model_config",
    "normalise",
    "read_checkpoint",
    "read_json",
    "read_object",
    "target_layers",
]
