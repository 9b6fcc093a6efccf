"""What the harness hands the engine."""

from pathlib import Path

import pytest

from investigator.model import Json
from investigator.validation.harness import attention_backends, engine_options

EXPERIMENT: dict[str, Json] = {
    "pair": {"target": "owner/target", "draft": "owner/draft"},
    "method": "dflash",
    "speculative_tokens": 7,
    "max_model_len": 400,
    "prompt_count": 8,
}


def options(speculation: bool, **given: Json) -> dict[str, Json]:
    return engine_options({**EXPERIMENT, "options": given}, {"speculation": speculation}, Path("nowhere"))


def test_engines_run_eager_unless_asked_otherwise() -> None:
    assert options(True)["enforce_eager"] is True
    assert options(True, enforce_eager=False)["enforce_eager"] is False


def test_further_speculative_options_stand_beside_the_drafter() -> None:
    given: Json = {"attention_backend": "TRITON_ATTN"}
    assert options(True, speculative_config=given)["speculative_config"] == {
        "method": "dflash",
        "model": "owner/draft",
        "num_speculative_tokens": 7,
        "attention_backend": "TRITON_ATTN",
    }
    assert "speculative_config" not in options(False, speculative_config=given)


class Thing:
    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)


def layer(name: str) -> Thing:
    return Thing(get_attn_backend=lambda: Thing(get_name=lambda: name))


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        ({"target.0": layer("FLASH_ATTN"), "draft.0": layer("TRITON_ATTN"), "draft.1": layer("TRITON_ATTN")},
         {"FLASH_ATTN": 1, "TRITON_ATTN": 2}),
        ({"target.0": layer("FLASH_ATTN"), "mixer": Thing()}, {}),
    ],
    ids=["each layer tells", "one does not"],
)  # fmt: skip
def test_the_attention_backend_of_each_layer_is_counted(
    layers: dict[str, Thing], told: dict[str, int]
) -> None:
    config = Thing(compilation_config=Thing(static_forward_context=layers))
    assert attention_backends(Thing(llm_engine=Thing(vllm_config=config))) == told
