"""How vLLM starts an MTP drafter, on a miniature of the code that does it."""

from dataclasses import replace

import pytest

from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.engines.vllm.engine import VllmEngine
from investigator.engines.vllm.world import Session, World
from investigator.model import Known, NotKnown, Outcome, Refused, Runner, Unsupported
from tests.code.trees import MemoryTree
from tests.support.mtp import DEEPSEEK, GLM, QWEN, own

SPECULATIVE = """
from typing import Literal, get_args

from vllm.config.model import ModelConfig

OwnLayers = Literal["deep_mtp", "mtp"]


class SpeculativeConfig:
    @staticmethod
    def rewritten(config):
        if config.model_type == "deepseek_v3":
            config.model_type = "deep_mtp"
            config.update(
                {
                    "n_predict": getattr(config, "num_nextn_predict_layers", None),
                    "architectures": ["DeepMTP"],
                }
            )
        if config.model_type == "qwen3_5":
            config = config.text_config
            config.model_type = "deep_mtp"
            config.update({"n_predict": 1, "architectures": ["DeepMTP"]})
        return config

    def use_eagle(self):
        return self.method in ("eagle", "mtp")

    def __post_init__(self):
        self.draft_model_config = ModelConfig(model=self.model, hf_overrides=SpeculativeConfig.rewritten)
        config = self.draft_model_config.hf_config
        if config.model_type not in get_args(OwnLayers):
            raise NotImplementedError(f"no method {self.method}")
        if self.num_speculative_tokens % config.n_predict != 0:
            raise ValueError(f"{self.num_speculative_tokens} tokens of {config.n_predict} layers")
"""
FILES = {
    "vllm/__init__.py": "",
    "vllm/config/__init__.py": "",
    "vllm/config/model.py": "class ModelConfig:\n    pass\n",
    "vllm/config/speculative.py": SPECULATIVE,
}


def session(checkpoint: Checkpoint, **changed: str) -> Session:
    return World(program(**changed), checkpoint).start(Runner.V1)


def program(**changed: str) -> Program:
    texts = {**FILES, **{f"vllm/config/{name}.py": text for name, text in changed.items()}}
    return Program(MemoryTree({path: text.encode() for path, text in texts.items()}))


def outcome(checkpoint: Checkpoint, **changed: str) -> Outcome:
    """The engine's answer to a question that nothing else in the tree could answer."""
    return VllmEngine(program(**changed), checkpoint).ask("rope", Runner.V1).outcome


def test_the_drafters_config_is_the_targets_as_the_release_rewrites_it() -> None:
    started = session(own(DEEPSEEK))

    assert started.told is None
    assert started.draft_config.attributes["architectures"] == ["DeepMTP"]
    assert started.draft_config.attributes["n_predict"] == 1
    assert started.target_config.attributes["architectures"] == ["DeepseekV3ForCausalLM"]


def test_the_text_models_config_may_take_its_place() -> None:
    started = session(own(QWEN))

    assert started.told is None
    assert started.draft_config.attributes["hidden_size"] == 5120
    assert started.draft_config.attributes["architectures"] == ["DeepMTP"]


def test_a_release_that_does_not_know_the_model() -> None:
    found = outcome(own(GLM))

    assert found == Unsupported(
        "no MTP drafter of model_type glm4_moe is known here (NotImplementedError: no method mtp)"
    )


def test_a_release_that_comes_to_know_it() -> None:
    later = SPECULATIVE.replace('== "deepseek_v3"', 'in ("deepseek_v3", "glm4_moe")')

    assert not isinstance(outcome(own(GLM), speculative=later), Unsupported)


@pytest.mark.parametrize(("tokens", "refused"), [(2, False), (3, True), (4, False)])
def test_a_number_of_tokens_that_the_engine_stops_over(tokens: int, refused: bool) -> None:
    two_layers = replace(own(DEEPSEEK, num_nextn_predict_layers=2), block_size=tokens + 1)

    found = outcome(two_layers)
    assert (found == Refused("ValueError: 3 tokens of 2 layers")) is refused


def test_a_tree_without_a_speculative_config() -> None:
    found = outcome(own(DEEPSEEK), speculative="")

    assert found == NotKnown("no class SpeculativeConfig was found")


def test_an_error_that_no_engine_means_is_not_its_word() -> None:
    strange = SPECULATIVE.replace(
        "config = self.draft_model_config.hf_config", "config = self.nothing.at.all"
    )

    found = outcome(own(DEEPSEEK), speculative=strange)
    assert isinstance(found, NotKnown)


def test_predicates_are_asked_of_the_config_as_it_started() -> None:
    started = session(own(DEEPSEEK))
    config = started.speculative_config
    assert config.cls is not None

    assert config.attributes["method"] == "mtp"
    assert config.attributes["num_speculative_tokens"] == 1


def test_other_methods_start_as_before() -> None:
    """A drafter of another method is no reason to follow how MTP drafters start."""
    from tests.support.miniature_vllm import checkpoint

    started = session(checkpoint(), speculative="")
    assert started.told is None
    assert Known(started.speculative_config.attributes["method"]) == Known("dflash")
