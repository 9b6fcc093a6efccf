"""Every drafter layout, read into the same Checkpoint; and every way a config can be wrong."""

from typing import Any

import pytest

from investigator.checkpoint import Checkpoint, ModelConfig
from investigator.checkpoints import model_config, read_checkpoint
from investigator.errors import InvestigateError, LimitError, UsageError
from investigator.sources.snapshots import Snapshots

FULL, SLIDING = "full_attention", "sliding_attention"


def from_snapshot(repo: str) -> ModelConfig:
    snapshot = Snapshots().hub(repo)
    assert snapshot is not None
    return model_config(
        snapshot.config, repo=repo, revision="snapshot", source="draft", complete=snapshot.complete
    )


def zlab(**changes: Any) -> dict[str, Any]:
    """A small drafter in z-lab's older layout, with some keys changed; ``...`` drops one."""
    config: dict[str, Any] = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": 8,
        "dflash_config": {"mask_token_id": 99, "target_layer_ids": [1, 4, 7]},
        "layer_types": [SLIDING, FULL],
        "num_hidden_layers": 2,
        "num_target_layers": 8,
        "sliding_window": 256,
        "use_sliding_window": True,
    }
    return {key: value for key, value in (config | changes).items() if value is not ...}


def read(config: dict[str, Any], target: dict[str, Any] | None = None, **kwargs: Any) -> Checkpoint:
    draft = model_config(config, repo="some/drafter", revision="r", source="draft", **kwargs)
    other = model_config(target, repo="some/target", revision="r", source="target") if target else None
    return read_checkpoint(draft, other)


@pytest.mark.parametrize(
    ("repo", "layout", "ids", "windows", "block_size", "mask"),
    [
        ("z-lab/Qwen3.6-27B-DFlash", "z-lab", (1, 16, 31, 46, 61), (2048,) * 4 + (None,), 16, 248070),
        ("z-lab/Qwen3-8B-DFlash-b16", "z-lab", (1, 9, 17, 25, 33), (None,) * 5, 16, 151669),
        (
            "z-lab/Qwen3.6-35B-A3B-DFlash",
            "z-lab-nested",
            (1, 6, 11, 16, 22, 27, 32, 37),
            (4096,) * 5 + (None,),
            16,
            248077,
        ),
        ("z-lab/Qwen3.8-27B-DFlash2", "dflash2", (5, 19, 33, 47, 61), (2048,) * 5, 8, 248070),
        ("XiaomiMiMo/MiMo-V2.5-Pro-FP4-DFlash", "mimo", (0, 15, 31, 47, 69), (1024,) * 5, 8, 151669),
        ("RedHatAI/Qwen3-8B-speculator.dflash", "speculators", (1, 9, 17, 25, 33), None, 8, 151669),
    ],
)
def test_published_drafters(
    repo: str,
    layout: str,
    ids: tuple[int, ...],
    windows: tuple[int | None, ...] | None,
    block_size: int,
    mask: int,
) -> None:
    checkpoint = read_checkpoint(from_snapshot(repo), None)

    assert (checkpoint.layout, checkpoint.method) == (layout, "dflash")
    assert checkpoint.target_layer_ids == ids
    assert checkpoint.windows == windows
    assert (checkpoint.block_size, checkpoint.mask_token_id) == (block_size, mask)


def test_mimo_slides_everywhere_although_hugging_face_nulls_its_window() -> None:
    mimo = from_snapshot("XiaomiMiMo/MiMo-V2.5-Pro-FP4-DFlash")

    assert mimo.normalised["sliding_window"] is None
    assert "sliding_window 1024 becomes null: use_sliding_window is missing and defaults to false" in (
        mimo.rewrites
    )
    assert read_checkpoint(mimo).layer_types == (SLIDING,) * 5


def test_mimo_spelled_with_layer_types() -> None:
    """The other spelling: no ``use_swa``, every layer sliding, the window at the top level."""
    checkpoint = read(zlab(layer_types=[SLIDING, SLIDING], sliding_window=1024))

    assert checkpoint.windows == (1024, 1024)


def test_speculators_numbering_is_one_higher() -> None:
    config = {
        "speculators_model_type": "dflash",
        "aux_hidden_state_layer_ids": [2, 10],
        "block_size": 8,
        "mask_token_id": 7,
        "transformer_layer_config": {"model_type": "qwen3", "num_hidden_layers": 2},
    }

    checkpoint = read(config, target={"num_hidden_layers": 10})

    assert checkpoint.target_layer_ids == (1, 9)
    assert checkpoint.windows == (None, None)
    assert any(text.startswith("transformer_layer_config: ") for text in checkpoint.draft.rewrites)


@pytest.mark.parametrize(
    "config",
    [
        {"architectures": ["LlamaForCausalLMEagle3"], "eagle_aux_hidden_state_layer_ids": [0, 16, 32]},
        {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 16, 32]}},
        {"speculators_model_type": "eagle3", "eagle_aux_hidden_state_layer_ids": [0, 16, 32]},
    ],
)
def test_eagle3_heads_count_the_embedding_output_as_zero(config: dict[str, Any]) -> None:
    layers = {"num_hidden_layers": 1}
    config = config | layers | {"transformer_layer_config": layers, "num_target_layers": 32}

    checkpoint = read(config)

    assert checkpoint.method == "eagle3"
    assert checkpoint.target_layer_ids == (-1, 15, 31)


def test_the_target_says_how_many_layers_it_has_when_the_drafter_does_not() -> None:
    checkpoint = read(zlab(num_target_layers=...), target={"text_config": {"num_hidden_layers": 12}})

    assert checkpoint.num_target_layers == 12


def test_no_ids_is_not_an_error_but_unknown() -> None:
    assert read(zlab(dflash_config={"mask_token_id": 1})).target_layer_ids is None


def test_a_window_whose_switch_was_not_seen_is_unknown() -> None:
    """In a part of a file, ``use_sliding_window`` may be there and be false."""
    checkpoint = read(zlab(use_sliding_window=...), complete=False)

    assert checkpoint.windows is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"dflash_config": {"target_layer_ids": "1,16"}},
            "is the string '1,16', not a list",
        ),
        ({"dflash_config": {"target_layer_ids": []}}, "target_layer_ids is empty"),
        ({"dflash_config": {"target_layer_ids": [1, -1]}}, "target_layer_ids holds -1; layers count from 0"),
        (
            {"dflash_config": {"target_layer_ids": [1, 8]}},
            "target_layer_ids holds 8, beyond a target of 8 layers",
        ),
        ({"dflash_config": {"target_layer_ids": [1, 2.5]}}, "holds the number 2.5 at position 1"),
        ({"dflash_config": {"target_layer_ids": [True, 2]}}, "holds true at position 0"),
        ({"dflash_config": {"target_layer_ids": [1, "2"]}}, "holds the string '2' at position 1"),
        ({"dflash_config": [1]}, "dflash_config is a list, not an object"),
        ({"layer_types": [SLIDING]}, "layer_types has 1 entries for 2 layers"),
        ({"layer_types": [SLIDING, "local"]}, "layer_types holds 'local' at position 1"),
        ({"layer_types": "full"}, "layer_types is the string 'full', not a list"),
        ({"layer_types": [1, 2]}, "layer_types holds the number 1 at position 0"),
        ({"sliding_window": "2k"}, "sliding_window is the string '2k', not a whole number"),
        ({"sliding_window": 0}, "sliding_window is 0; it must be at least 1"),
        ({"num_hidden_layers": True}, "num_hidden_layers is true, not a whole number"),
        ({"num_hidden_layers": None}, "num_hidden_layers is missing"),
        ({"block_size": -4}, "block_size is -4"),
        ({"architectures": "DFlashDraftModel"}, "architectures is the string"),
        (
            {"dflash_config": {"use_swa": "yes"}},
            "use_swa is the string 'yes', not true or false",
        ),
    ],
)
def test_a_wrong_config_is_a_usage_error_that_names_file_and_key(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(zlab(**changes))

    assert said in str(caught.value)
    assert str(caught.value).startswith("config.json of some/drafter: ")
    assert "--draft" in caught.value.advice


@pytest.mark.parametrize(
    "changes",
    [
        {"num_hidden_layers": 10**6},
        {"num_target_layers": 10**6},
        {"dflash_config": {"target_layer_ids": [1] * 1000}},
    ],
)
def test_numbers_no_real_model_has_are_a_limit(changes: dict[str, Any]) -> None:
    with pytest.raises(LimitError):
        read(zlab(**changes))


def test_a_target_named_as_the_drafter_is_told_apart() -> None:
    with pytest.raises(InvestigateError) as caught:
        read({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"})

    assert "not a drafter's config" in str(caught.value)
    assert "--target" in caught.value.advice
