"""How wide a reference's draft pass is: followed through generation loops of several shapes."""

import pytest

from investigator.code.program import Program
from investigator.model import Known, NotKnown
from investigator.references.reading import ask
from tests.support.builders import TextTree, source
from tests.support.miniature_vllm import checkpoint

MODEL = """\
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, config, layer):
        sliding = config.layer_types[layer] == "sliding_attention"
        self.sliding_window = config.sliding_window if sliding else None
        self.is_causal = False


class DFlashDraftModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList([Attention(config, i) for i in range(config.num_hidden_layers)])
        self.block_size = config.block_size

"""
METHOD = """\
    def generate(self, target, input_ids, max_new_tokens):
        size = self.block_size
        ids = torch.full((1, input_ids.shape[1] + max_new_tokens + size), 9)
        start = input_ids.shape[1]
        while start < max_new_tokens:
            block = ids[:, start : start + size].clone()
            hidden = self(noise_embedding=target.model.embed(block), use_cache=True)
            start += 1 + accepted(hidden)
"""
FUNCTION = """\
def embed(target, ids, scale):
    return F.embedding(ids, target.weight) * scale


def generate(draft, target, input_ids, max_new_tokens, block_size=None):
    block_size = draft.block_size if block_size is None else block_size
    end = input_ids.shape[1] + max_new_tokens
    ids = torch.full((1, end + 1), 9)
    start = input_ids.shape[1]
    while start + 1 < end:
        size = min(block_size, end - start)
        block = ids[:, start : start + size].clone()
        if size > 1:
            noise = embed(target, block, 2.0)
            hidden = draft(noise_embedding=noise)
        start += 1
"""


def width(text: str) -> object:
    tree = TextTree(source("reference"), {"ref/model.py": text})
    told = ask("lookahead", Program(tree), checkpoint())
    assert told is not None
    return told.outcome


@pytest.mark.parametrize("text", [MODEL + METHOD, MODEL + FUNCTION], ids=["method", "function"])
def test_the_draft_pass_is_given_the_whole_block(text: str) -> None:
    assert width(text) == Known(4)


def test_a_pass_without_the_anchor_is_one_narrower() -> None:
    assert width((MODEL + METHOD).replace("start : start + size", "start + 1 : start + size")) == Known(3)


def test_a_reference_without_a_draft_pass_is_not_known() -> None:
    assert isinstance(width(MODEL), NotKnown)
