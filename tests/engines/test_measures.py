"""Known faults beyond DFlash's own, found from the wheels alone: who breaks what, and from when on not."""

import pytest

from investigator.checkpoint import Checkpoint
from investigator.checkpoints import model_config, read_checkpoint
from investigator.model import Json, Runner, Verdict
from tests.support.eagle import eagle3_head, gpt_oss, llama
from tests.support.made_up import Reading, shared_store
from tests.support.releases import FULL, MIXED, pair

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    return Reading(shared_store(tmp_path_factory))


def draft_with(published: str, target: Checkpoint | None = None, **keys: Json) -> Checkpoint:
    """A published drafter with other values in its config."""
    own = pair(published)
    config = model_config({**own.draft.raw, **keys}, repo="made/draft", revision="1", source="draft")
    return read_checkpoint(config, (target or own).target)


# -- SGLang: an EAGLE-3 head's last boundary, and a norm before fc ---------------------


@pytest.mark.parametrize(("release", "verdict"), [("0.5.16", "broken"), ("0.5.17", "honoured")])
def test_the_stream_after_the_last_layer(release: str, verdict: str, reading: Reading) -> None:
    head = read_checkpoint(eagle3_head(ids=[2, 12, 24]), gpt_oss(layers=24))

    found = reading.cell("sglang", release, head, "target-capture")

    assert found.verdict is Verdict(verdict), found.why
    assert found.evidence


@pytest.mark.parametrize(("release", "verdict"), [("0.5.16", "broken"), ("0.5.17", "honoured")])
def test_a_norm_before_the_projection(release: str, verdict: str, reading: Reading) -> None:
    head = read_checkpoint(eagle3_head(ids=[2, 12, 20], norm_before_fc=True), gpt_oss(layers=24))

    found = reading.cell("sglang", release, head, "config-coverage")

    assert found.verdict is Verdict(verdict), found.why
    assert ("norm_before_fc" in found.why) is (verdict == "broken")


@pytest.mark.parametrize("release", ["0.5.11", "0.5.23"])
def test_three_layers_are_guessed_by_sglang_too(release: str, reading: Reading) -> None:
    head = read_checkpoint(eagle3_head(), llama(layers=32))

    found = reading.cell("sglang", release, head, "silent-default")

    assert found.verdict is Verdict.BROKEN, found.why
    assert "[2, 16, 29]" in found.why


@pytest.mark.parametrize("release", ["0.5.11", "0.5.23"])
def test_numbers_that_one_engine_counts_otherwise(release: str, reading: Reading) -> None:
    head = read_checkpoint(eagle3_head(ids=[2, 16, 29]), llama(layers=32))

    theirs = reading.cell("sglang", release, head, "target-layer-offset")

    # Heads are published with either count; which one this is does not show in its config.
    assert theirs.verdict is Verdict.PARTIAL
    assert "hidden_states[3, 17, 30]" in theirs.why


# -- vLLM: an EAGLE-3 head whose config names no layers --------------------------------


@pytest.mark.parametrize("runner", Runner)
@pytest.mark.parametrize("release", ["0.20.0", "0.26.0", "0.33.0"])
def test_three_layers_are_guessed(release: str, runner: Runner, reading: Reading) -> None:
    head = read_checkpoint(eagle3_head(), llama(layers=32))

    found = reading.cell("vllm", release, head, "silent-default", runner)

    assert found.verdict is Verdict.BROKEN, found.why
    assert "[2, 16, 29]" in found.why  # 2, n // 2 and n - 3 of n layers


SPECULATORS: dict[str, Json] = {
    "architectures": ["Eagle3Speculator"],
    "speculators_model_type": "eagle3",
    "draft_vocab_size": 32000,
    "norm_before_residual": True,
    "eagle_aux_hidden_state_layer_ids": [3, 19, 34],
    "transformer_layer_config": {
        "model_type": "llama",
        "num_hidden_layers": 1,
        "head_dim": 128,
        "hidden_act": "silu",
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "max_position_embeddings": 40960,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1000000,
        "vocab_size": 151936,
    },
}


@pytest.mark.parametrize("runner", Runner)
@pytest.mark.parametrize("release", ["0.26.0", "0.33.0"])
def test_a_head_in_the_speculators_format(release: str, runner: Runner, reading: Reading) -> None:
    config = model_config(SPECULATORS, repo="made/head", revision="1", source="draft")
    head = read_checkpoint(config, pair(FULL).target)

    found = reading.cell("vllm", release, head, "target-layer-offset", runner)

    assert (found.verdict, found.why) == (Verdict.HONOURED, "hidden_states[3, 19, 34] are tapped")


@pytest.mark.parametrize("runner", Runner)
@pytest.mark.parametrize("release", ["0.26.0", "0.33.0"])
def test_an_eagle3_head_takes_three_streams(release: str, runner: Runner, reading: Reading) -> None:
    head = read_checkpoint(eagle3_head(ids=[2, 16, 29]), llama(layers=32))

    found = reading.cell("vllm", release, head, "feature-width", runner)

    assert found.verdict is Verdict.HONOURED, found.why
    assert str(3 * 2880) in found.why


# -- vLLM 0.28.0: the target's rotation on the drafter ---------------------------------


@pytest.mark.parametrize(
    ("release", "architecture", "verdict"),
    [
        ("0.27.1", "CohereForCausalLM", "honoured"),
        ("0.28.0", "CohereForCausalLM", "broken"),
        ("0.28.0", "GlmForCausalLM", "broken"),  # a Llama whose layout is written over when it is made
        ("0.28.0", "LlamaForCausalLM", "honoured"),  # rotates in halves, as the drafter does
        ("0.29.0", "CohereForCausalLM", "honoured"),
    ],
)
def test_a_drafter_rotates_as_trained_whatever_its_target_does(
    release: str, architecture: str, verdict: str, reading: Reading
) -> None:
    raw = {**llama(layers=64).raw, "architectures": [architecture]}
    target = model_config(raw, repo="made/target", revision="1", source="target")
    drafter = read_checkpoint(pair(MIXED).draft, target)

    cells = [reading.cell("vllm", release, drafter, "rope", runner) for runner in Runner]

    assert {cell.verdict for cell in cells} == {Verdict(verdict)}, [cell.why for cell in cells]


# -- vLLM 0.24.0: a draft vocabulary that is only padded -------------------------------


@pytest.mark.parametrize(("release", "verdict"), [("0.24.0", "broken"), ("0.25.0", "honoured")])
def test_a_padded_vocabulary_on_the_v2_runner(release: str, verdict: str, reading: Reading) -> None:
    vocabulary = pair(FULL).draft.raw["vocab_size"]
    assert isinstance(vocabulary, int)
    drafter = draft_with(FULL, vocab_size=vocabulary + 128)

    found = reading.cell("vllm", release, drafter, "head-sharing", Runner.V2)

    assert found.verdict is Verdict(verdict), found.why
