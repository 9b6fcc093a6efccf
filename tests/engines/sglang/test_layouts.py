"""Which layouts of a drafter's config SGLang reads, on a tree of this project's own."""

from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.engines.sglang.engine import SglangEngine
from investigator.model import NotKnown, Unsupported
from investigator.sources.interface import Tree
from tests.code.trees import MemoryTree
from tests.support.releases import FULL, pair

SPECULATORS = "RedHatAI/Qwen3-8B-speculator.dflash"
MODEL = b"""
from torch import nn

class DFlashDraftModel(nn.Module):
    def __init__(self, config, quant_config=None, prefix=""):
        self.width = config.hidden_size

EntryClass = DFlashDraftModel
"""
LOADING = b"def get_config(path):\n    return read(path)\n"
UNFOLDING = b"def get_config(path):\n    return read(path)['transformer_layer_config']\n"


def engine(loading: bytes, checkpoint: Checkpoint) -> SglangEngine:
    tree: Tree = MemoryTree(
        {
            "sglang/srt/models/dflash.py": MODEL,
            "sglang/srt/utils/hf_transformers/config.py": loading,
        }
    )  # type: ignore[assignment]
    return SglangEngine(Program(tree), checkpoint)


def test_a_file_whose_layers_nothing_reads_is_not_supported() -> None:
    told = engine(LOADING, pair(SPECULATORS)).ask("mask-token", None)

    assert told.outcome == Unsupported(
        "neither DFlashDraftModel nor what loads configs reads transformer_layer_config, "
        "where a speculators file keeps its layers"
    )
    assert [(step.place.path, step.place.line) for step in told.steps] == [("sglang/srt/models/dflash.py", 4)]


def test_a_file_that_is_unfolded_where_configs_are_loaded_is_followed() -> None:
    told = engine(UNFOLDING, pair(SPECULATORS)).ask("mask-token", None)

    assert isinstance(told.outcome, NotKnown)


def test_layers_at_the_top_need_no_such_key() -> None:
    told = engine(LOADING, pair(FULL)).ask("mask-token", None)

    assert isinstance(told.outcome, NotKnown)
