"""The window of a layer that is given one ends at the query, also where a backend would widen it."""

from typing import Any

import pytest

from investigator.code.program import Program
from investigator.model import Json
from investigator.patches.edits import by_path, edited_files
from investigator.patches.repairs import CannotRepair, repair
from investigator.patches.repairs.window_end import MARK
from investigator.sources.overlay_tree import PatchedTree
from investigator.sources.text_tree import TextTree
from tests.patches import miniature
from tests.patches.miniature import FILES, Thing

PATH = "vllm/v1/attention/backends/flash_attn.py"
BACKEND = """\
def attend(*, window_size, block_table):
    return window_size


class FlashAttentionImpl:
    def __init__(self, window):
        self.sliding_window = (-1, -1) if window is None else (window - 1, 0)

    def forward(self, layer, attn_metadata):
        window = list(self.sliding_window)
        causal = attn_metadata.causal
        if (
            window[1] == 0
            and causal is False
        ):
            window = [window[0], window[0]]
        return attend(window_size=window, block_table=None)
"""
ONE_LINE = BACKEND.replace(
    """(
            window[1] == 0
            and causal is False
        )""",
    "(window[1] == 0 and causal is False)",
)
WIDE = {**FILES, PATH: BACKEND}


def after(files: dict[str, str], **keys: Json) -> TextTree | PatchedTree:
    tree = miniature.tree(files)
    edits = repair(Program(tree), miniature.fault("layer-types", **keys))
    assert not isinstance(edits, CannotRepair), edits
    return PatchedTree(tree, dict(edited_files(edits, {path: tree.read(path) for path in by_path(edits)})))


def windows(tree: TextTree | PatchedTree, causal: bool, **keys: Json) -> list[Any]:
    """What the kernel is handed for each of the three layers."""
    config = Thing(**miniature.checkpoint(**keys).draft.normalised)
    with miniature.imported(tree) as load:
        layers = load("vllm.model_executor.models.qwen3_dflash").DFlashModel(config).layers
        impl = load("vllm.v1.attention.backends.flash_attn").FlashAttentionImpl
        return [
            impl(layer.self_attn.attn.impl.window).forward(layer.self_attn.attn, Thing(causal=causal))
            for layer in layers
        ]


@pytest.mark.parametrize("backend", [BACKEND, ONE_LINE], ids=["over lines", "one line"])
def test_a_windowed_layer_sees_no_later_token_of_the_block(backend: str) -> None:
    tree = after({**FILES, PATH: backend})

    assert windows(tree, causal=False) == [[7, 0], [7, 0], [-1, -1]]
    assert windows(tree, causal=True) == [[7, 0], [7, 0], [-1, -1]]


@pytest.mark.parametrize(
    "keys", [{"is_causal": False}, {"dflash_config": {"target_layer_ids": [1, 4], "causal": False}}]
)
def test_a_drafter_that_asks_for_both_sides_has_both(keys: dict[str, Json]) -> None:
    assert windows(after(WIDE), causal=False, **keys) == [[7, 7], [7, 7], [-1, -1]]


def test_other_models_are_served_as_before() -> None:
    with miniature.imported(after(WIDE)) as load:
        impl = load("vllm.v1.attention.backends.flash_attn").FlashAttentionImpl(8)
        assert impl.forward(Thing(), Thing(causal=False)) == [7, 7]


def test_a_backend_that_widens_nothing_is_left_alone() -> None:
    plain = BACKEND.replace("window = [window[0], window[0]]", "pass")
    assert plain != BACKEND

    tree = after({**FILES, PATH: plain})

    assert tree.read(PATH) == plain.encode()
    assert MARK.encode() not in tree.read("vllm/model_executor/models/qwen3_dflash.py")


def test_a_condition_in_another_shape_is_refused() -> None:
    other = BACKEND.replace("            and causal is False", "            or causal is False")

    found = repair(Program(miniature.tree({**FILES, PATH: other})), miniature.fault("layer-types"))

    assert isinstance(found, CannotRepair)
    assert "widens a window under a condition in another shape" in found.reason
