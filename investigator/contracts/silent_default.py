"""A missing key does not end in a guessed value without a warning.

Common terms, for an engine: ``{"numbers": [...], "level": LEVEL}``: the layer numbers that it
would use, and how loudly it says so (``none``, ``debug``, ``info``, ``warning``, ``error``).
Of an MTP drafter whose config does not say how many layers it has: ``{"layers": n}``, how many are made.
First seen: vLLM pull request 50170.
"""

from collections.abc import Mapping

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.methods import MTP
from investigator.model import Json, Known, Outcome, Verdict

LOUD = ("warning", "error", "critical", "exception")


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """Whether the checkpoint names its target layer ids."""
    named = checkpoint.target_layer_ids is not None
    return Known(named), ("dflash_config.target_layer_ids",) if named else ("dflash_config", "architectures")


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.target_layer_ids is not None:
        return "the checkpoint names its target layer ids, so nothing is guessed"
    if checkpoint.method == MTP.name and checkpoint.counts_mtp_layers:
        return "the checkpoint says how many MTP layers it has, so nothing is guessed"
    return None


def _compare(wanted: Json, found: Json, sides: Sides) -> Judgement:  # noqa: ARG001
    assert isinstance(found, Mapping)
    if "layers" in found:
        layers = found["layers"]
        made = "one MTP layer" if layers == 1 else f"{layers} MTP layers"
        why = f"the engine makes {made}, which is right for a checkpoint with as many and no more"
        promised = "the config says how many MTP layers the checkpoint has"
        return Judgement(verdict=Verdict.PARTIAL, why=why, promised=promised, happens=why)
    level = str(found.get("level"))
    numbers = found.get("numbers")
    said = "without a word" if level == "none" else f"with no more than a line at level {level}"
    promised = "layers that the config does not name are asked for, or at least warned about"
    if level in LOUD:
        why = f"the engine guesses layers {numbers} and warns about it"
        return Judgement(verdict=Verdict.HONOURED, why=why, promised=promised, happens=why)
    why = (
        f"the engine guesses layers {numbers} {said};"
        " pin them with dflash_config.target_layer_ids (or eagle_aux_hidden_state_layer_ids)"
    )
    return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=why)


CONTRACT = Contract(
    id="silent-default",
    promise="a missing key does not end in a guessed value without a warning",
    consequence="the drafter reads layers that somebody guessed: 1.2 % accepted in one public report",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    needs_reference=False,
)
