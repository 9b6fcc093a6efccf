"""Real releases of SGLang, broken in one thing: its verdict turns, with those that rest on it, and no other.

The wheels are fetched at test time.
"""

from collections.abc import Callable
from functools import cache

import pytest
from tree_sitter import Node

from investigator.code.syntax import text
from investigator.sources.open import Workspace
from tests.support import mutator
from tests.support.faults import Change, passing, returning
from tests.support.mutator import Files
from tests.support.releases import MIXED, NO_LAYERS, Release, open_release_files, shared_folder

pytestmark = [pytest.mark.network, pytest.mark.slow]

MODELS = "sglang/srt/models/"
DRAFT = f"{MODELS}dflash.py"
UTILS = "sglang/srt/speculative/dflash_utils.py"
SETTER = b"def set_dflash_layers_to_capture"
SHIFTED = "[val + 1 for val in layer_ids]"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Release]:
    workspace = Workspace.open(cache_dir=shared_folder(tmp_path_factory))
    return cache(lambda version: open_release_files(version, workspace, "sglang"))


def capturing(instead: str) -> Change:
    """Every target keeps other layer numbers than it is asked for."""

    def other(node: Node) -> str | None:
        return instead if text(node) == SHIFTED else None

    def change(files: Files) -> dict[str, bytes]:
        for path, source in files.items():
            if path.startswith(MODELS) and SETTER in source and SHIFTED.encode() in source:
                files = mutator.edit_nodes(files, path, "list_comprehension", other)
        return dict(files)

    return change


def guessing(level: str) -> Change:
    """The guess of layers is logged at a level."""

    def said(value: str) -> str:
        return f'(logger.{level}("guessed"), {value})[1]' if "build_target_layer_ids" in value else value

    return returning(UTILS, "resolve_target_layer_ids", said)


FAULTS: dict[str, tuple[Change, set[str]]] = {
    "ids go on unshifted": (capturing("[val for val in layer_ids]"), {"target-layer-offset"}),
    "one layer less is kept": (
        capturing(f"{SHIFTED}[:-1]"),
        {"target-layer-offset", "target-capture", "feature-width"},
    ),
    # A window that reaches no layer: its keys are as good as unread.
    "no layer gets its window": (
        passing(DRAFT, "sliding_window_size", "-1"),
        {"layer-types", "config-coverage"},
    ),
    "every layer is causal": (passing(DRAFT, "attn_type", "AttentionType.DECODER"), {"in-block-causality"}),
    "the draft rotates by a default base": (passing(DRAFT, "base", "10000"), {"rope"}),
    "the draft rotates in pairs": (passing(DRAFT, "is_neox_style", "False"), {"rope"}),
    "another mask token": (passing(UTILS, "mask_token_id", "mask_token_id + 1"), {"mask-token"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_turns_its_verdict_and_those_that_rest_on_it(
    release: Callable[[str], Release], fault: str
) -> None:
    made = release("0.5.23")
    change, expected = FAULTS[fault]

    before, after = made.verdicts(MIXED), made.verdicts(MIXED, change(made.files))

    turned = {question: after[question] for question in after if after[question] != before[question]}
    assert turned == dict.fromkeys(expected, "broken")


@pytest.mark.parametrize(
    ("level", "verdict"), [("debug", "broken"), ("info", "broken"), ("warning", "honoured")]
)
def test_how_loud_a_guess_is_decides(release: Callable[[str], Release], level: str, verdict: str) -> None:
    made = release("0.5.23")
    before, after = made.verdicts(NO_LAYERS), made.verdicts(NO_LAYERS, guessing(level)(made.files))

    assert before["silent-default"] == "broken"
    assert after == {**before, "silent-default": verdict}
