"""Configs as an engine's code sees them, whole and in part."""

import pytest

from investigator.code.values import (
    Builtin,
    External,
    Instance,
    NativeMethod,
    OneOf,
    Unknown,
    View,
    find_unknown,
)
from investigator.engines.configs import config_object
from tests.code.running import run

READ = "def run(config):\n    return getattr(config, 'KEY', 'nothing')\n"


def read(config: Instance, key: str) -> object:
    return run(READ.replace("KEY", key), config)


def test_a_key_that_a_part_of_a_config_lacks_is_unknown_and_says_what_decides_it() -> None:
    config = config_object({"num_hidden_layers": 5}, "draft config", complete=False)

    missing = find_unknown(read(config, "layer_types"))

    assert missing is not None
    assert missing.reason == (
        "<draft config> may have an attribute layer_types; "
        "not all of its keys are known: give the whole file with --draft path:DIR"
    )


def test_the_target_s_config_names_its_own_option() -> None:
    config = config_object({"text_config": {"hidden_size": 8}}, "target config", complete=False)

    missing = find_unknown(read(config, "vocab_size"))

    assert missing is not None
    assert missing.reason.endswith("--target path:DIR")


def test_layers_at_the_top_are_not_nested_as_well() -> None:
    config = config_object({"num_hidden_layers": 5}, "draft config", complete=False)

    assert read(config, "text_config") == "nothing"


def test_a_part_without_layers_may_nest_them() -> None:
    config = config_object({"hidden_size": 8}, "draft config", complete=False)

    assert find_unknown(read(config, "text_config")) is not None


def test_keys_that_are_surely_absent_are_so_in_part_of_a_config_too() -> None:
    config = config_object({"ids": [1]}, "draft config", False, frozenset({"layer_ids"}))

    assert read(config, "layer_ids") == "nothing"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Unknown("the tree does not say"), "<not decided: the tree does not say>"),
        (OneOf((1, 2), None), "<one of 2 values>"),
        (External("torch.nn.Linear"), "<torch.nn.Linear>"),
        (Builtin("len"), "<len>"),
        (NativeMethod([], "append"), "<method append>"),
        (View({}, "keys"), "<keys of a dict>"),
        (Instance(None, label="draft config"), "<draft config>"),
    ],
)
def test_a_value_in_a_message_is_shown_in_words(value: object, shown: str) -> None:
    assert repr(value) == shown
