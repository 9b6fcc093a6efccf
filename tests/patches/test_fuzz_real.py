"""The files that repairs touch in real releases, changed at random: edits that hold, or a reason."""

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from investigator.code.program import Program
from investigator.model import Json
from investigator.patches.diff import diff_edits, unified
from investigator.patches.edits import by_path, edited_files
from investigator.patches.repairs import REPAIRS, CannotRepair, repair
from investigator.patches.verify import try_patch
from investigator.sources.interface import Tree
from investigator.sources.open import Workspace, open_release
from investigator.sources.overlay_tree import PatchedTree
from tests.patches import miniature
from tests.patches.test_fuzz import DISGUISES, MUTATIONS, valid

pytestmark = [pytest.mark.network, pytest.mark.slow]

VERSIONS = ("0.20.1", "0.24.0", "0.30.0")
PATHS = (
    "vllm/config/speculative.py",
    "vllm/v1/core/sched/scheduler.py",
    "vllm/v1/core/kv_cache_utils.py",
    "vllm/v1/worker/gpu_model_runner.py",
    "vllm/transformers_utils/configs/speculators/algos.py",
    "vllm/model_executor/models/qwen3_dflash.py",
    "vllm/v1/spec_decode/dflash.py",
)
WORDS = ("target_layer_ids", "use_eagle", "lookahead", "Attention(", "causal", "layer_idx", "is_eagle_group")


@cache
def release(version: str) -> Tree:
    tree = open_release("vllm", version, Workspace.open())
    tree.prefetch(PATHS)
    return tree


@pytest.fixture(scope="module", autouse=True)
def _fetched() -> None:
    """Fetch before anything is drawn."""
    for version in VERSIONS:
        release(version)


@st.composite
def changed(draw: st.DrawFn) -> Tree:
    """A release with up to four changes on lines that the repairs look at."""
    tree = release(draw(st.sampled_from(VERSIONS)))
    files: dict[str, str] = {}
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(PATHS))
        lines = files.get(path, tree.read(path).decode()).split("\n")
        places = [n for n, line in enumerate(lines) if any(word in line for word in WORDS)]
        at = draw(st.sampled_from(places)) + draw(st.integers(-1, 2))
        mutate = draw(st.sampled_from(MUTATIONS))
        text = "\n".join(mutate(lines, min(max(at, 0), len(lines) - 1), draw(st.integers(0, 9))))
        if valid(text):
            files[path] = text
    return PatchedTree(tree, {path: draw(st.sampled_from(DISGUISES))(text) for path, text in files.items()})


@given(changed(), st.sampled_from(list(REPAIRS)))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_edits_hold_or_a_reason_is_given(tree: Tree, contract: str) -> None:
    keys: dict[str, Json] = {"is_causal": True} if contract == "in-block-causality" else {}
    made = repair(Program(tree), miniature.fault(contract, **keys))
    if isinstance(made, CannotRepair):
        assert made.reason
        assert made.instead
        return
    before = {path: tree.read(path) for path in by_path(made)}
    after = edited_files(made, before)
    assert all(valid(content.decode("latin-1").lstrip("\xef\xbb\xbf")) for content in after.values())
    if made:
        assert try_patch(unified(diff_edits(made, before)), before, after).holds
