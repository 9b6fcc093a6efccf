"""MTP drafters: which configs are one, and which only their user can call one."""

from typing import Any

import pytest

from investigator.checkpoints import model_config, read_checkpoint
from investigator.errors import UsageError
from tests.support.mtp import ASSISTANT, DEEPSEEK, GLM, MIMO_FLASH, QWEN, QWEN_NEXT, drafter, own


@pytest.mark.parametrize(
    ("config", "layers", "tokens"),
    [(DEEPSEEK, 1, 1), (GLM, 1, 1), (QWEN, 1, 1), (MIMO_FLASH, 3, 3), (QWEN_NEXT, 1, 1)],
    ids=["deepseek", "glm", "qwen3.6", "mimo", "qwen3-next"],
)
def test_a_models_own_layers_where_its_user_says_so(config: dict[str, Any], layers: int, tokens: int) -> None:
    found = own(config)

    assert (found.method, found.layout) == ("mtp", "mtp-own")
    assert (found.num_draft_layers, found.draft_tokens) == (layers, tokens)
    assert (found.target_layer_ids, found.block_size, found.mask_token_id) == (None, None, None)


@pytest.mark.parametrize(("config", "layers"), [(DEEPSEEK, 61), (QWEN, 64)], ids=["flat", "nested"])
def test_its_target_has_its_own_layers(config: dict[str, Any], layers: int) -> None:
    assert own(config).num_target_layers == layers


def test_a_target_by_mistake_is_told_what_it_could_be() -> None:
    with pytest.raises(UsageError, match="is not a drafter's config this program knows") as caught:
        drafter(QWEN)

    assert "if this is the target model, name it with --target" in caught.value.advice
    assert "it carries an MTP layer of its own: to investigate those, add --method mtp" in caught.value.advice


def test_a_target_without_mtp_layers_is_told_nothing_of_them() -> None:
    with pytest.raises(UsageError) as caught:
        drafter({**DEEPSEEK, "num_nextn_predict_layers": 0})

    assert "--method" not in caught.value.advice


def test_a_checkpoint_that_says_it_carries_none() -> None:
    with pytest.raises(UsageError, match="says that its checkpoint carries no MTP layer"):
        own(DEEPSEEK, num_nextn_predict_layers=0)


@pytest.mark.parametrize(
    "config",
    [
        {"architectures": ["DeepSeekMTPModel"], "model_type": "deepseek_mtp"},
        {"architectures": ["Qwen3NextMTP"]},
        {"architectures": ["MiMoMTPModel"]},
        {"architectures": ["Glm4MoeMTPModel"]},
        {"architectures": ["ErnieMTPModel"], "model_type": "ernie_mtp"},
        {"architectures": ["DeepseekV3ForCausalLMNextN"], "model_type": "deepseek_v3"},
        {"model_type": "qwen3_5_mtp"},
    ],
    ids=lambda config: (config.get("architectures") or [config.get("model_type")])[0],
)
def test_a_config_that_says_itself_that_it_is_one(config: dict[str, Any]) -> None:
    found = drafter({**config, "num_nextn_predict_layers": 2})

    assert (found.method, found.layout, found.num_draft_layers) == ("mtp", "mtp", 2)


def test_an_assistant_runs_all_its_layers_for_one_token() -> None:
    found = drafter(ASSISTANT)

    assert (found.method, found.layout) == ("mtp", "assistant")
    assert (found.num_draft_layers, found.draft_tokens) == (4, 1)
    assert found.windows == (1024, 1024, 1024, None)


@pytest.mark.parametrize(
    ("config", "windows"),
    [
        (DEEPSEEK, (None,)),  # no key of its config is about windows
        (QWEN, (None,)),  # layer_types names linear and full layers alone
        (QWEN_NEXT, (None,)),  # use_sliding_window is false
        (MIMO_FLASH, None),  # it has sliding layers, and does not say what its MTP layers are
        ({**MIMO_FLASH, "mtp_layer_types": ["sliding_attention"] * 3}, (128, 128, 128)),
    ],
    ids=["none", "layer-types", "switched-off", "not-said", "said"],
)
def test_the_windows_of_mtp_layers(config: dict[str, Any], windows: tuple[int | None, ...] | None) -> None:
    assert own(config).windows == windows


def test_in_a_part_of_a_config_a_missing_window_is_not_known() -> None:
    part = model_config(DEEPSEEK, repo="some/model", revision="1", source="draft", complete=False)

    assert read_checkpoint(part, method="mtp").windows is None


@pytest.mark.parametrize("asked", ["mtp", "eagle3"])
def test_a_drafter_of_another_method_than_the_one_that_is_named(asked: str) -> None:
    raw = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "num_hidden_layers": 1,
        "dflash_config": {"target_layer_ids": [1]},
    }
    draft = model_config(raw, repo="some/drafter", revision="1", source="draft")

    with pytest.raises(UsageError, match=f"is the config of a drafter of method dflash, not {asked}"):
        read_checkpoint(draft, method=asked)


def test_the_user_may_name_the_method_that_the_config_has() -> None:
    draft = model_config(ASSISTANT, repo="some/drafter", revision="1", source="draft")

    assert read_checkpoint(draft, method="mtp") == read_checkpoint(draft)


def test_a_target_of_a_block_drafter_may_carry_mtp_layers() -> None:
    raw = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "num_hidden_layers": 1,
        "dflash_config": {"target_layer_ids": [1, 40]},
    }
    draft = model_config(raw, repo="some/drafter", revision="1", source="draft")
    target = model_config(QWEN, repo="some/model", revision="1", source="target")

    found = read_checkpoint(draft, target)
    assert (found.method, found.num_target_layers, found.draft_tokens) == ("dflash", 64, None)
