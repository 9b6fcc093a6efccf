"""A miniature reference: a block drafter's training code in a page, of this project's own writing."""

from investigator.sources.text_tree import TextTree
from tests.support.builders import source

PICKER = """\
import torch


def pick_features(hidden_states, layer_ids):
    embedding = 1
    return torch.cat([hidden_states[number + embedding] for number in layer_ids], dim=-1)
"""
MODEL = """\
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, config, index):
        super().__init__()
        kind = config.layer_types[index] if getattr(config, "layer_types", None) else "full_attention"
        self.sliding_window = config.sliding_window if kind == "sliding_attention" else None
        self.is_causal = kind == "sliding_attention"
        self.k_proj = nn.Linear(config.hidden_size, config.num_key_value_heads * config.head_dim)

    def forward(self, hidden, target_hidden):
        context = self.k_proj(target_hidden)
        block = self.k_proj(hidden)
        return torch.cat([context, block], dim=1)


class DFlashDraftModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.block_size = config.block_size
        self.mask_token_id = config.dflash_config.get("mask_token_id")
        self.layers = nn.ModuleList([Attention(config, index) for index in range(config.num_hidden_layers)])

    def generate(self, target, input_ids, max_new_tokens):
        size = self.block_size
        ids = torch.full((1, input_ids.shape[1] + max_new_tokens + size), self.mask_token_id)
        start = input_ids.shape[1]
        while start < max_new_tokens:
            block = ids[:, start : start + size].clone()
            hidden = self(noise_embedding=target.model.embed(block))
            start += 1 + accepted(hidden)
"""
FILES = {"drafter/__init__.py": "", "drafter/features.py": PICKER, "drafter/model.py": MODEL}


def tree_of(**changed: str) -> TextTree:
    """The miniature reference, or with another ``features`` or ``model`` module."""
    files = {**FILES, **{f"drafter/{name}.py": text for name, text in changed.items()}}
    return TextTree(source("dflash"), {path: text.encode() for path, text in files.items()})


REFERENCE = tree_of()
