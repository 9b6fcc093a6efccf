"""How a reference rotates: the base of the draft's config, the layout of its helper."""

import pytest

from investigator.code.program import Program
from investigator.model import Known, NotKnown, Outcome
from investigator.references.reading import ask
from tests.support.builders import TextTree, source
from tests.support.miniature_vllm import checkpoint

REFERENCE = """\
from torch import nn
from transformers.models.qwen3.modeling_qwen3 import Qwen3RotaryEmbedding, {helper}


def turn(q, k, cos, sin):
    return q * cos + {helper}(q) * sin, k * cos + {helper}(k) * sin


class Attention(nn.Module):
    def __init__(self, config, layer):
        self.sliding_window = None

    def forward(self, q, k, cos, sin):
        return turn(q, k, cos, sin)


class DFlashDraftModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList([Attention(config, i) for i in range(config.num_hidden_layers)])
        self.rotary_emb = {made}
"""


def rotates(helper: str = "rotate_half", made: str = "Qwen3RotaryEmbedding(config)") -> Outcome:
    text = REFERENCE.format(helper=helper, made=made)
    told = ask("rope", Program(TextTree(source("reference"), {"ref/model.py": text})), checkpoint())
    assert told is not None
    return told.outcome


@pytest.mark.parametrize(("helper", "layout"), [("rotate_half", "halves"), ("rotate_every_two", "pairs")])
def test_the_helper_names_the_layout(helper: str, layout: str) -> None:
    assert rotates(helper) == Known({"layout": layout, "theta": 10000})


def test_a_helper_nobody_knows_leaves_it_open() -> None:
    assert isinstance(rotates("twist"), NotKnown)


def test_an_embedding_that_is_not_made_of_the_drafts_config_leaves_it_open() -> None:
    assert isinstance(rotates(made="nn.Identity()"), NotKnown)
