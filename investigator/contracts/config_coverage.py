"""Every key that the reference reads and this checkpoint sets is read on the engine's path.

Common terms: the draft config's keys that are read, by their last name, sorted. A key that
is read but whose value reaches no use does not count as read.
"""

from collections.abc import Mapping

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.methods import SECTIONS, described
from investigator.model import Json, Known, Outcome, Verdict

WINDOW_KEYS = frozenset({"layer_types", "sliding_window"})
WITHOUT_EFFECT = frozenset(
    {"attention_dropout", "initializer_range", "use_cache", "model_type", "rms_norm_eps"}
)
"""Keys of training or of bookkeeping: no draft depends on whether an engine reads them here."""
SET_BY_USER = {"block_size": "holds as long as num_speculative_tokens is set to block_size - 1"}
"""Keys that an engine takes from its user instead: the promise holds on a condition."""


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The keys that this checkpoint sets."""
    return Known(sorted(set_keys(checkpoint))), ("dflash_config", "layer_types", "block_size")


def set_keys(checkpoint: Checkpoint) -> set[str]:
    """Keys of the draft config with a value, those of its method's sections by their own names."""
    raw = checkpoint.draft.raw
    sections = [part for name in SECTIONS if isinstance(part := raw.get(name), Mapping)]
    return {key for part in (raw, *sections) for key, value in part.items() if value is not None}


def _convention(checkpoint: Checkpoint) -> Json:
    """The keys of the method's own that this checkpoint sets, to something that matters."""
    raw = checkpoint.draft.raw
    sections = [part for name in SECTIONS if isinstance(part := raw.get(name), Mapping)]
    values = {key: value for part in (raw, *sections) for key, value in part.items()}
    return [key for key in described(checkpoint).keys if values.get(key) not in (None, False)]


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:
    assert isinstance(reference, list | tuple)
    assert isinstance(engine, list | tuple)
    assert sides.facts is not None
    wanted = {str(key) for key in reference} & set_keys(sides.facts)
    wanted -= WITHOUT_EFFECT | set(SECTIONS)
    if sides.facts.target_layer_ids is not None:
        wanted.discard("num_target_layers")  # the references read it only to guess missing ids
    if not any(sides.facts.windows or ()):
        wanted -= WINDOW_KEYS
    missing = sorted(wanted - {str(key) for key in engine})
    promised = f"the reference reads {', '.join(sorted(wanted)) or 'no key'}"
    hard = [key for key in missing if key not in SET_BY_USER]
    if hard:
        why = f"never reach the draft model: {', '.join(hard)}"
        if len(missing) > len(hard):
            why += f" (and {', '.join(key for key in missing if key in SET_BY_USER)} is the user's to set)"
        return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=why)
    if missing:
        why = "; ".join(f"{key} is not read: {SET_BY_USER[key]}" for key in missing)
        return Judgement(verdict=Verdict.PARTIAL, why=why, promised=promised, happens=why)
    why = "every key that the reference reads and this checkpoint sets is read"
    return Judgement(verdict=Verdict.HONOURED, why=why, promised=promised, happens=why)


CONTRACT = Contract(
    id="config-coverage",
    promise="every key that the reference reads and this checkpoint sets is read on the engine's path",
    consequence="what the authors set has no effect: the drafter runs under other conditions than its own",
    ask_checkpoint=_ask,
    compare=_compare,
    convention=_convention,
)
