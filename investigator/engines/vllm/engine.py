"""vLLM with one checkpoint on it: which questions can be put, and their answers."""

from collections.abc import Callable

from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.engines.deployment import Deployment
from investigator.engines.interface import RunnerChoice, Told
from investigator.engines.vllm import (
    backends,
    causality,
    default_runner,
    draft_keys,
    draft_layers,
    head_sharing,
    lookahead,
    mtp,
    prefix_cache,
    retention,
    rope,
    silent_default,
    target_layers,
)
from investigator.engines.vllm.world import World
from investigator.model import Refused, Runner

PerRunner = Callable[[World, Runner], Told]
Once = Callable[[World], Told]

_PER_RUNNER: dict[str, PerRunner] = {
    "target-layer-offset": target_layers.captured,
    "layer-types": draft_layers.windows,
    "in-block-causality": causality.per_layer,
    "kv-retention": retention.kept,
    "head-sharing": head_sharing.head,
    "rope": rope.rotation,
    "target-capture": target_layers.capturable,
    "feature-width": draft_keys.feature_width,
    "mask-token": draft_keys.mask_token,
    "vocab-mapping": draft_keys.vocab_mapping,
    "embedding-scale": draft_keys.scales,
    "norm-epsilon": draft_keys.norm_epsilon,
    "config-coverage": draft_keys.read_keys,
    "silent-default": silent_default.guessed,
}
_ATTENDS = ("layer-types", "kv-retention")
"""Contracts that have no answer where the draft's attention is never made."""
_ONCE: dict[str, Once] = {
    "cache-drop": prefix_cache.dropped_groups,
    "lookahead": lookahead.reserved,
}


QUESTIONS: tuple[tuple[str, Runner | None], ...] = (
    *((contract, runner) for contract in _PER_RUNNER for runner in Runner),
    *((contract, None) for contract in _ONCE),
)
"""Every (contract, runner) pair that this engine can be asked."""


class VllmEngine:
    """The engine's side of the contracts, for one tree and one checkpoint."""

    def __init__(
        self, program: Program, checkpoint: Checkpoint, deployment: Deployment | None = None
    ) -> None:
        self._world = World(program, checkpoint, deployment or {})

    def default_runner(self) -> RunnerChoice:
        """Which runner this case uses when nobody sets anything."""
        return default_runner.choice(self._world)

    def ask(self, contract: str, runner: Runner | None) -> Told:
        """Put one contract's question. Raises KeyError for a pair not among ``questions``."""
        if mtp.is_mtp(self._world.checkpoint) and (told := self._world.start(runner).told) is not None:
            return told
        if runner is None:
            return _ONCE[contract](self._world)
        if contract in _ATTENDS and backends.named(self._world.deployment) is not None:
            attends = causality.per_layer(self._world, runner)
            if isinstance(attends.outcome, Refused):
                return attends
        return _PER_RUNNER[contract](self._world, runner)
