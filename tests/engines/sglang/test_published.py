"""Published drafters on real releases, against values that were worked out by hand.

An id ``k`` is the stream after ``k + 1`` layers: for MiMo's target that is captured from 0.5.20 on, by the
layer that comes next, and after the loop where ``k`` is the last layer; before, its class has no setter.
"""

import pytest

from investigator.checkpoints import read_checkpoint
from investigator.code.program import Program
from investigator.engines.sglang.engine import SglangEngine
from investigator.model import Known, Outcome, Refused, Unsupported
from investigator.sources.open import Workspace, open_release
from tests.support.eagle import eagle3_head, gpt_oss
from tests.support.made_up import shared_store
from tests.support.releases import pair

pytestmark = [pytest.mark.network, pytest.mark.slow]

RELEASES = ("0.5.11", "0.5.19", "0.5.20", "0.5.23")
MIMO = "XiaomiMiMo/MiMo-V2.5-Pro-FP4-DFlash"
DFLASH2 = "z-lab/Qwen3.8-27B-DFlash2"
SPECULATORS = "RedHatAI/Qwen3-8B-speculator.dflash"
TAPPED = {
    "z-lab/Qwen3.5-9B-DFlash": [2, 9, 16, 23, 30],
    "z-lab/Qwen3.6-35B-A3B-DFlash": [2, 7, 12, 17, 23, 28, 33, 38],
    DFLASH2: [6, 20, 34, 48, 62],
    MIMO: [1, 16, 32, 48, 70],
}
SINCE = {DFLASH2: "0.5.19", MIMO: "0.5.20"}
"""The first of the releases here that has the drafter's class, or the target's setter."""


@pytest.mark.parametrize("release", RELEASES)
def test_what_a_published_drafter_gets(release: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    workspace = Workspace.open(cache_dir=shared_store(tmp_path_factory))
    program = Program(open_release("sglang", release, workspace))

    def ask(draft: str, contract: str) -> Outcome:
        return SglangEngine(program, pair(draft)).ask(contract, None).outcome

    for draft, depths in TAPPED.items():
        found = ask(draft, "target-layer-offset")
        if release >= SINCE.get(draft, RELEASES[0]):
            assert found == Known(depths), draft
        else:
            assert isinstance(found, Unsupported if draft == DFLASH2 else Refused), draft
    # use_swa stands in dflash_config alone, and Hugging Face's class makes every layer full.
    assert ask(MIMO, "layer-types") == Known([None] * 5)
    assert isinstance(ask(SPECULATORS, "target-layer-offset"), Unsupported)
    width = ask(MIMO, "feature-width")
    assert (
        width == Known({"expects": 30720, "given": 30720})
        if release >= SINCE[MIMO]
        else isinstance(width, Refused)
    )


@pytest.mark.parametrize("release", RELEASES)
def test_whose_head_an_eagle_drafter_has(release: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A head with a vocabulary of its own keeps its output head; one that names none wants the target's."""
    workspace = Workspace.open(cache_dir=shared_store(tmp_path_factory))
    program = Program(open_release("sglang", release, workspace))

    def ask(**keys: None) -> Outcome:
        case = read_checkpoint(eagle3_head(ids=[2, 12, 23], **keys), gpt_oss())
        return SglangEngine(program, case).ask("head-sharing", None).outcome

    assert ask() == Known("draft")
    assert ask(draft_vocab_size=None) == Known("target")
