"""What a draft layer's cache keeps, followed from the attention's spec to the manager's boundary."""

import pytest

from investigator.engines.vllm.retention import kept
from investigator.model import Known, NotKnown, Refused, Runner
from tests.support.miniature_vllm import DRAFT_MODEL, world

ATTENTION = """\
from vllm.v1.kv_cache_interface import FullAttentionSpec, SlidingWindowSpec


class Attention:
    def __init__(self, heads, head_size, cache_config=None, per_layer_sliding_window=None, prefix=""):
        self.window = per_layer_sliding_window
        self.sliding_window = {window}
        self.layer_name = prefix

    def get_kv_cache_spec(self, vllm_config):
        if self.sliding_window is not None:
            return SlidingWindowSpec(block_size=16, sliding_window=self.sliding_window)
        return FullAttentionSpec(block_size=16)
"""
SPECS = """\
from dataclasses import dataclass


@dataclass(frozen=True)
class FullAttentionSpec:
    block_size: int


@dataclass(frozen=True)
class SlidingWindowSpec:
    block_size: int
    sliding_window: int
"""
MANAGERS = """\
from vllm.v1.kv_cache_interface import FullAttentionSpec, SlidingWindowSpec
{imports}

class OneType:
    def __init__(self, spec, **kwargs):
        self.block_size = spec.block_size
        self.blocks = {{}}

    def remove_skipped_blocks(self, request_id, computed):
        skipped = self.get_num_skipped_tokens(computed)
        if skipped <= 0:
            return
        for i in range(min(skipped // self.block_size, len(self.blocks[request_id]))):
            self.blocks[request_id][i] = None

    def get_num_skipped_tokens(self, computed):
        return 0


class Sliding(OneType):
    def __init__(self, spec, **kwargs):
        super().__init__(spec, **kwargs)
        self.sliding_window = spec.sliding_window

    def get_num_skipped_tokens(self, computed):
        return max(0, computed - self.sliding_window + 1)


{choose}
"""
BY_MAP = """\
managers = {FullAttentionSpec: OneType, SlidingWindowSpec: Sliding}


def get_manager_for_kv_cache_spec(spec, max_tokens, **kwargs):
    return managers[type(spec)](spec, **kwargs)
"""
BY_REGISTRY = """\
def register_all(config):
    Registry.register(FullAttentionSpec, OneType)
    Registry.register(SlidingWindowSpec, Sliding)


def get_manager_for_kv_cache_spec(spec, max_tokens, **kwargs):
    manager = Registry.manager_of(spec)
    assert manager is not None, "no manager"
    return manager(spec, **kwargs)
"""
REGISTRY = """\
_MANAGERS = {}


class Registry:
    @classmethod
    def register(cls, spec, manager):
        _MANAGERS[spec] = manager

    @classmethod
    def manager_of(cls, spec):
        if not _MANAGERS:
            from vllm.config import get_current_vllm_config
            from vllm.v1.core.single_type_kv_cache_manager import register_all

            register_all(get_current_vllm_config())
        for base in type(spec).__mro__:
            if base in _MANAGERS:
                return _MANAGERS[base]
        return None
"""
COORDINATOR = """\
class KVCacheCoordinator:
    def remove_skipped_blocks(self, request_id, computed):
        for manager in self.single_type_managers:
            manager.remove_skipped_blocks(request_id, computed)
"""
MANAGER = """\
class KVCacheManager:
    def allocate_slots(self, request, num_new_tokens, num_external_tokens=0):
        local = request.num_computed_tokens
        total = min(local + num_external_tokens, self.max_model_len)
        self.coordinator.remove_skipped_blocks(request.request_id, {boundary})
        return self.coordinator.allocate(request.request_id, total + num_new_tokens)
"""
OPTIMISTIC = "total"
SETTLED = "max(0, total - request.num_in_flight_tokens)"


def engine(window: str, boundary: str, choose: str = BY_MAP) -> dict[str, str]:
    imports = "from vllm.v1.registry import Registry\n" if choose == BY_REGISTRY else ""
    return {
        **DRAFT_MODEL,
        "vllm/config/__init__.py": "def get_current_vllm_config():\n    raise NotImplementedError\n",
        "vllm/model_executor/layers/attention/attention.py": ATTENTION.format(window=window),
        "vllm/v1/kv_cache_interface.py": SPECS,
        "vllm/v1/registry.py": REGISTRY,
        "vllm/v1/core/single_type_kv_cache_manager.py": MANAGERS.format(imports=imports, choose=choose),
        "vllm/v1/core/kv_cache_coordinator.py": COORDINATOR,
        "vllm/v1/core/kv_cache_manager.py": MANAGER.format(boundary=boundary),
    }


def keeps(settled: list[int | None], in_flight: list[int | None]) -> Known:
    return Known({"settled": list(settled), "in flight": list(in_flight)})


@pytest.mark.parametrize("choose", [BY_MAP, BY_REGISTRY], ids=["map", "registry"])
@pytest.mark.parametrize(
    ("window", "boundary", "expected"),
    [
        # A window of 8 sees 7 tokens behind the next one; a step in flight holds a block of 4.
        ("self.window", SETTLED, keeps([7, 7, None], [7, 7, None])),
        ("self.window", OPTIMISTIC, keeps([7, 7, None], [3, 3, None])),
        ("None", OPTIMISTIC, keeps([None] * 3, [None] * 3)),
        ("self.window", "total + 2", keeps([5, 5, None], [1, 1, None])),
        ("4", SETTLED, keeps([3, 3, 3], [3, 3, 3])),
    ],
    ids=["settled tokens", "optimistic", "all full", "two too many", "another window"],
)
def test_what_is_kept_behind_the_next_token(window: str, boundary: str, expected: Known, choose: str) -> None:
    assert kept(world(engine(window, boundary, choose)), Runner.V2).outcome == expected


def test_the_steps_name_the_spec_the_call_and_the_boundary() -> None:
    files = engine("self.window", SETTLED)

    steps = kept(world(files), Runner.V2).steps

    quoted = [files[step.place.path].splitlines()[step.place.line - 1].strip() for step in steps]
    assert quoted == [
        "return SlidingWindowSpec(block_size=16, sliding_window=self.sliding_window)",
        f"self.coordinator.remove_skipped_blocks(request.request_id, {SETTLED})",
        "return max(0, computed - self.sliding_window + 1)",
        "return FullAttentionSpec(block_size=16)",
        "return 0",
    ]


def test_a_boundary_that_nothing_decides_is_not_known() -> None:
    outcome = kept(world(engine("self.window", "request.tokens_that_are_safe")), Runner.V2).outcome

    assert isinstance(outcome, NotKnown)
    assert "tokens_that_are_safe" in outcome.reason


def test_a_draft_model_that_refuses_to_be_built_is_refused() -> None:
    files = engine("self.window", SETTLED)
    path = "vllm/model_executor/models/mini_draft.py"
    files[path] = files[path].replace(
        "        window = ",
        '        if sliding:\n            raise ValueError("no windows")\n        window = ',
    )

    assert kept(world(files), Runner.V1).outcome == Refused("ValueError: no windows")
