"""Hugging Face's rewrites, against what Qwen3Config is known to do."""

import pytest

from investigator.checkpoints import normalise
from investigator.model import Json

FULL, SLIDING = "full_attention", "sliding_attention"


def test_an_unused_window_becomes_null() -> None:
    result = normalise({"model_type": "qwen3", "use_sliding_window": False, "sliding_window": 1024})

    assert result.values["sliding_window"] is None
    assert "sliding_window 1024 becomes null: use_sliding_window is false" in result.rewrites


def test_a_window_without_the_switch_is_unused_too() -> None:
    result = normalise({"model_type": "qwen3", "sliding_window": 1024})

    assert result.values["sliding_window"] is None
    assert any("missing and defaults to false" in rewrite for rewrite in result.rewrites)


def test_missing_layer_types_follow_max_window_layers() -> None:
    result = normalise(
        {
            "model_type": "qwen3",
            "use_sliding_window": True,
            "sliding_window": 512,
            "max_window_layers": 2,
            "num_hidden_layers": 5,
        }
    )

    assert result.values["layer_types"] == [FULL, FULL, SLIDING, SLIDING, SLIDING]
    assert "layer_types is filled in with 3 sliding of 5: layers from max_window_layers=2 on slide" in (
        result.rewrites
    )


def test_the_default_max_window_layers_leaves_a_small_drafter_full() -> None:
    """28 is the class's default, so none of five layers slides although there is a window."""
    result = normalise(
        {"model_type": "qwen3", "use_sliding_window": True, "sliding_window": 512, "num_hidden_layers": 5}
    )

    assert result.values["layer_types"] == [FULL] * 5


def test_given_layer_types_stay() -> None:
    raw = {
        "model_type": "qwen3",
        "use_sliding_window": True,
        "sliding_window": 2048,
        "layer_types": [SLIDING, FULL],
        "num_hidden_layers": 2,
        "max_window_layers": 2,
    }

    result = normalise(raw)

    assert {key: result.values[key] for key in raw} == raw
    assert not any("layer_types" in rewrite for rewrite in result.rewrites)


def test_class_defaults_fill_what_the_file_leaves_out() -> None:
    values = normalise({"model_type": "qwen3"}).values

    assert (values["num_hidden_layers"], values["head_dim"], values["sliding_window"]) == (32, 128, None)


def test_nothing_rests_on_the_absence_of_a_key_that_was_only_not_seen() -> None:
    result = normalise(
        {"model_type": "qwen3", "sliding_window": 4096, "num_hidden_layers": 6}, complete=False
    )

    assert result.values == {"model_type": "qwen3", "sliding_window": 4096, "num_hidden_layers": 6}
    assert result.rewrites == ()


@pytest.mark.parametrize(
    ("given", "flat", "nested"),
    [
        ({}, 10000.0, None),
        ({"rope_theta": 5e5}, 5e5, None),
        ({"rope_scaling": {"rope_type": "default", "rope_theta": 5e5}}, 5e5, None),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, 10000.0, None),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, None, 5e5),
        ({"rope_parameters": {"rope_type": "default"}}, None, 10000.0),
        ({"rope_parameters": {"rope_type": "default"}, "rope_theta": 5e5}, 5e5, 5e5),
        ({"rope_parameters": {"full_attention": {"rope_theta": 5e5}}}, None, None),
    ],
)
def test_the_rotary_base_stands_flat_or_in_a_dictionary_or_is_the_classs_own(
    given: dict[str, Json], flat: float | None, nested: float | None
) -> None:
    """Measured: vLLM 0.24.0 and 0.32.0 rotate a Qwen3-style drafter that gives none with base 10000."""
    values = normalise({"model_type": "qwen3", **given}).values
    parameters = values.get("rope_parameters")

    assert values.get("rope_theta") == flat
    assert (parameters.get("rope_theta") if isinstance(parameters, dict) else None) == nested


def test_an_unknown_class_is_left_alone() -> None:
    raw = {"model_type": "mystery", "use_sliding_window": False, "sliding_window": 7}

    assert normalise(raw).values == raw
