"""Every key that the reference reads and this checkpoint sets is read on the engine's path.

Common terms: the draft config's keys that are read, by their last name, sorted. A key that
is read but whose value reaches no use does not count as read.
"""

from collections.abc import Mapping

from investigator.checkpoint import MTP_HOLDERS, Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.methods import MTP, SECTIONS, described
from investigator.model import Json, Known, Outcome, Verdict

WINDOW_KEYS = frozenset({"layer_types", "sliding_window"})
WITHOUT_EFFECT = frozenset(
    {"attention_dropout", "initializer_range", "use_cache", "model_type", "rms_norm_eps"}
)
"""Keys of training or of bookkeeping, and the one that ``norm-epsilon`` asks for by what comes out."""
SET_BY_USER = {"block_size": "holds as long as num_speculative_tokens is set to block_size - 1"}
"""Keys that an engine takes from its user instead: the promise holds on a condition."""


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The keys that this checkpoint sets."""
    return Known(sorted(set_keys(checkpoint))), ("dflash_config", "layer_types", "block_size")


def set_keys(checkpoint: Checkpoint) -> set[str]:
    """Keys of the draft config with a value, those of its method's sections by their own names."""
    return {key for part in _parts(checkpoint) for key, value in part.items() if value is not None}


def _parts(checkpoint: Checkpoint) -> list[Mapping[str, Json]]:
    """The draft config, and the objects in it that hold keys of its method."""
    raw = checkpoint.draft.raw
    names = MTP_HOLDERS if checkpoint.method == MTP.name else SECTIONS
    return [raw, *(part for name in names if isinstance(part := raw.get(name), Mapping))]


def _convention(checkpoint: Checkpoint) -> Json:
    """The keys of the method's own that this checkpoint sets, to something that matters: to one MTP
    layer, which is what every engine takes, is not."""
    values = {key: value for part in _parts(checkpoint) for key, value in part.items()}
    idle = (None, False, 0, 1) if checkpoint.method == MTP.name else (None, False)
    return [
        key
        for key in described(checkpoint).keys
        if not any(values.get(key) is value or values.get(key) == value for value in idle)
    ]


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.method == MTP.name and not _convention(checkpoint):
        return "its config sets nothing about MTP beyond one layer"
    return None


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
    applies=_applies,
    convention=_convention,
)
