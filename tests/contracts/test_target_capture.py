"""``target-capture``: whether the wanted layers can be tapped on this target, whatever the runner asks."""

import pytest

from investigator.checkpoint import Checkpoint
from investigator.model import Runner, Verdict
from tests.support import mini_vllm as mini
from tests.support.miniature_vllm import checkpoint

LAST = checkpoint(dflash_config={"mask_token_id": 9, "target_layer_ids": [1, 5]})
EVERY = "the target's class captures every layer that is asked for"


@pytest.mark.parametrize(
    ("case", "capture", "verdict", "why"),
    [
        (None, "before", Verdict.HONOURED, "the target's class captures every layer that is asked for"),
        (LAST, "before", Verdict.HONOURED, "the target's class captures every layer that is asked for"),
        (
            None,
            "never-the-last",
            Verdict.HONOURED,
            "the target's class captures every layer that is asked for",
        ),
        # Id 5 of six layers is the last one's output, hidden_states[6].
        (LAST, "never-the-last", Verdict.BROKEN, "the target's class never captures hidden_states[6]"),
    ],
    ids=["inner", "last", "inner-only", "last-missed"],
)
def test_each_wanted_layer(case: Checkpoint | None, capture: str, verdict: Verdict, why: str) -> None:
    found = mini.finding("target-capture", Runner.V1, case, capture=capture)

    assert (found.verdict, found.why) == (verdict, why)


def test_it_does_not_depend_on_what_the_runner_asks_for() -> None:
    assert mini.finding("target-capture", Runner.V1, shift="none").verdict is Verdict.HONOURED


def test_a_class_without_the_interface_captures_nothing() -> None:
    found = mini.finding("target-capture", Runner.V1, interface="none")

    assert (found.verdict, found.why) == (
        Verdict.BROKEN,
        "the target's class captures none of its layers",
    )
    [evidence] = mini.quotes(found, mini.TARGET_FILE)
    assert evidence.quote == "class MiniTargetForCausalLM(nn.Module):"


@pytest.mark.parametrize("contract", ["target-capture", "target-layer-offset", "feature-width"])
def test_a_runner_that_looks_for_the_interface_stops(contract: str) -> None:
    files = mini.texts(interface="none")
    runner = "vllm/v1/worker/gpu_model_runner.py"
    call = "self.model.set_aux_hidden_state_layers("
    [line] = [line for line in files[runner].splitlines() if call in line]
    margin = line[: len(line) - len(line.lstrip())]
    check = f'{margin}if not supports_taps(self.model):\n{margin}    raise RuntimeError("no taps here")\n'
    files[runner] = files[runner].replace(line, f"{check}{line}")

    found = mini.finding_on(mini.tree_of(files), contract, Runner.V1)

    assert found.verdict is Verdict.REFUSED
    assert found.why == 'the engine stops: RuntimeError("no taps here") (MiniTargetForCausalLM)'


def test_a_target_that_is_not_known_leaves_it_open() -> None:
    files = mini.texts()
    registry = "vllm/model_executor/models/registry.py"
    files[registry] = files[registry].replace("MiniTargetForCausalLM", "OtherForCausalLM")

    found = mini.finding_on(mini.tree_of(files), "target-capture", Runner.V1)

    assert found.verdict is Verdict.UNKNOWN
    assert "no model class for the target's architecture ['MiniTargetForCausalLM']" in found.why


def test_without_ids_there_is_nothing_to_capture() -> None:
    without = checkpoint(dflash_config={"mask_token_id": 9})

    assert mini.finding("target-capture", Runner.V1, without).verdict is Verdict.NOT_APPLICABLE


def test_a_runner_that_does_not_take_the_method() -> None:
    found = mini.finding("target-capture", Runner.V2, check="second-lacks-method")

    assert found.verdict is Verdict.UNSUPPORTED
