"""SGLang with one checkpoint on it: which questions can be put, and their answers."""

from collections.abc import Callable
from dataclasses import replace

from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.engines.deployment import Deployment
from investigator.engines.interface import RunnerChoice, Told
from investigator.engines.sglang import (
    draft_keys,
    draft_layers,
    layouts,
    radix_cache,
    rotary,
    silent_default,
    target_layers,
    worker,
)
from investigator.engines.sglang.world import World
from investigator.model import Runner, Unsupported

_ANSWERS: dict[str, Callable[[World], Told]] = {
    "target-layer-offset": target_layers.captured,
    "layer-types": draft_layers.windows,
    "cache-drop": radix_cache.dropped_groups,
    "in-block-causality": draft_layers.causality,
    "kv-retention": draft_keys.retained,
    "config-coverage": draft_keys.read_keys,
    "silent-default": silent_default.guessed,
    "target-capture": target_layers.capturable,
    "feature-width": draft_keys.feature_width,
    "mask-token": worker.mask_token,
    "vocab-mapping": draft_keys.vocab_mapping,
    "embedding-scale": draft_keys.scales,
    "norm-epsilon": draft_keys.norm_epsilon,
    "head-sharing": worker.draft_head,
    "rope": rotary.rotation,
}
QUESTIONS: tuple[tuple[str, Runner | None], ...] = tuple((contract, None) for contract in _ANSWERS)
"""Every (contract, runner) pair that this engine can be asked: it has one path."""


class SglangEngine:
    """The engine's side of the contracts, for one tree and one checkpoint."""

    def __init__(
        self, program: Program, checkpoint: Checkpoint, deployment: Deployment | None = None
    ) -> None:
        self._world = World(program, checkpoint, deployment or {})

    def default_runner(self) -> RunnerChoice:
        """There is nothing to choose."""
        return RunnerChoice(runner=None, why="SGLang has one path")

    def ask(self, contract: str, runner: Runner | None) -> Told:
        """Put one contract's question. Raises KeyError for a contract not among ``questions``."""
        answer = _ANSWERS[contract]
        session = self._world.start()
        if session.told is not None:
            return replace(session.told, assumptions=self._world.assumptions)
        names = session.draft_architectures
        draft = draft_layers.draft_class(session)
        if names and draft is None:
            why = f"the registry has no draft model {' or '.join(names)}"
            return Told(outcome=Unsupported(why), assumptions=self._world.assumptions)
        unread = layouts.unread(session, draft) if draft is not None else None
        return unread or answer(self._world)
