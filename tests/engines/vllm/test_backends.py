"""An attention backend that the deployment names, on the miniature."""

from dataclasses import replace

import pytest

from investigator.code.program import Program
from investigator.engines.vllm.causality import KERNEL_NOTE, per_layer
from investigator.engines.vllm.engine import VllmEngine
from investigator.engines.vllm.world import World
from investigator.model import Known, NotKnown, Refused, Runner
from tests.engines.vllm.test_causality import PER_GROUP, second_runner
from tests.support.miniature_vllm import world

REGISTRY = """\
from enum import Enum


class AttentionBackendEnum(Enum):
    FLASH_ATTN = "vllm.v1.attention.backends.few.FlashAttentionBackend"
    BLOCKS = (
        "vllm.v1.attention.backends.few.BlockBackend"
    )
    TILES = "vllm.v1.attention.backends.few.TileBackend"
    LANES = "vllm.v1.attention.backends.few.LaneBackend"
"""
FEW = """\
class Backend:
    @classmethod
    def supports_non_causal(cls):
        return False


class FlashAttentionBackend(Backend):
    @classmethod
    def supports_non_causal(cls):
        return True


class BlockBackend(Backend):
    pass


class TileBackend(FlashAttentionBackend):
    pass


class LaneBackend(FlashAttentionBackend):
    @staticmethod
    def get_builder_cls():
        return LaneBuilder


class LaneBuilder:
    def __init__(self, layers, platform):
        if platform.is_old() and any(layer.window_left != -1 for layer in layers):
            raise NotImplementedError("lanes have no windows here")
"""
FOLDER = "vllm/v1/attention/backends"


def named(backend: str, causal: str = "self.is_causal", groups: str = "") -> World:
    """The miniature, its draft pass not causal, in a deployment that names a backend."""
    files = {
        **second_runner(causal, groups),
        f"{FOLDER}/registry.py": REGISTRY,
        f"{FOLDER}/few.py": FEW,
    }
    return replace(world(files), deployment={"--attention-backend": backend})


def test_a_backend_that_is_always_causal_stops_a_pass_that_is_not() -> None:
    told = per_layer(named("BLOCKS"), Runner.V2)

    assert told.outcome == Refused(
        "BLOCKS has no attention that is not causal, which the draft pass asks for"
    )
    assert [(step.place.path, step.place.line) for step in told.steps] == [(f"{FOLDER}/few.py", 3)]


@pytest.mark.parametrize("contract", ["layer-types", "kv-retention", "in-block-causality"])
def test_nothing_about_the_draft_s_attention_is_answered_where_the_engine_stops(contract: str) -> None:
    given = named("blocks")  # the engine takes either case
    engine = VllmEngine(Program(given.program.tree), given.checkpoint, given.deployment)

    assert isinstance(engine.ask(contract, Runner.V2).outcome, Refused)


def test_a_backend_that_stops_at_windows_on_some_machines_is_not_vouched_for() -> None:
    """Measured: vLLM 0.29.0 stops so with FlashInfer on an H200, and would not on other GPUs."""
    told = per_layer(named("LANES", "True"), Runner.V2)

    assert told.outcome == NotKnown(
        "LANES stops at a layer with a window on some GPUs; which GPU is not known"
    )
    assert [(step.place.path, step.place.line) for step in told.steps] == [(f"{FOLDER}/few.py", 29)]
    assert per_layer(named("TILES", "True"), Runner.V2).outcome == Known([True, True, True])


def test_the_backend_whose_kernel_is_followed_is_named_without_an_assumption() -> None:
    told = per_layer(named("FLASH_ATTN"), Runner.V2)

    assert told.outcome == Known([True, True, False])
    assert told.note == KERNEL_NOTE.format("")


def test_what_another_backend_makes_of_a_window_is_not_known() -> None:
    told = per_layer(named("TILES"), Runner.V2)

    assert isinstance(told.outcome, NotKnown)
    assert "what TILES makes of a window in a pass that is not causal" in told.outcome.reason


def test_layers_that_are_told_to_be_causal_are_so_on_any_backend() -> None:
    assert per_layer(named("TILES", "self.by_group", PER_GROUP), Runner.V2).outcome == Known(
        [True, True, False]
    )


def test_a_backend_that_the_engine_does_not_have_leaves_the_answer_open() -> None:
    told = per_layer(named("NONE_SUCH"), Runner.V2)

    assert isinstance(told.outcome, NotKnown)
    assert "NONE_SUCH" in told.outcome.reason
