"""Which streams each target hands to a drafter, against what was read by hand.

``undecided`` in the truth names what a reading of the text leaves open: there the answer may be
"not known", and must be no other one.
"""

import json
from pathlib import Path

import pytest

from investigator.checkpoint import Checkpoint
from investigator.checkpoints import model_config, read_checkpoint
from investigator.code.program import Program
from investigator.engines.sglang.engine import SglangEngine
from investigator.model import Json, Known, NotKnown, Refused
from investigator.sources.open import Workspace, open_release
from tests.support.eagle import eagle3_head
from tests.support.made_up import shared_store
from tests.support.releases import FULL, pair
from tests.support.targets import LAYERS, target

pytestmark = [pytest.mark.network, pytest.mark.slow]

TRUTH = json.loads((Path(__file__).parents[2] / "truth" / "sglang_targets.json").read_text())
RELEASES = tuple(dict.fromkeys(row["release"] for row in TRUTH))


def case(architecture: str, method: str, ids: list[int]) -> Checkpoint:
    """A drafter that names these layers, on a target of this architecture."""
    if method == "eagle3":
        return read_checkpoint(eagle3_head(ids=ids), target(architecture))
    own: dict[str, Json] = {"mask_token_id": 5, "target_layer_ids": [*ids]}
    raw = {**pair(FULL).draft.raw, "num_target_layers": LAYERS, "dflash_config": own}
    draft = model_config(raw, repo="made/draft", revision="1", source="draft")
    return read_checkpoint(draft, target(architecture))


@pytest.mark.parametrize("release", RELEASES)
def test_each_target_is_tapped_where_its_text_says(
    release: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    workspace = Workspace.open(cache_dir=shared_store(tmp_path_factory))
    program = Program(open_release("sglang", release, workspace))
    wrong = []
    for row in (row for row in TRUTH if row["release"] == release):
        engine = SglangEngine(program, case(row["target"], row["method"], row["ids"]))
        found = engine.ask("target-layer-offset", None).outcome
        right = (isinstance(found, Refused) if "outcome" in row else found == Known(row["depths"])) or (
            isinstance(found, NotKnown) and "undecided" in row
        )
        if not right:
            wrong.append(f"{row}: {found}")
    assert not wrong


def test_the_truth_covers_what_it_says() -> None:
    assert RELEASES == ("0.5.11", "0.5.16", "0.5.23")
    assert len({row["target"] for row in TRUTH}) == 13
    assert {row["outcome"] for row in TRUTH if "outcome" in row} == {"refused"}
