"""The drafter's first projection is as wide as the target features that it is given.

Common terms: for the checkpoint, numbers in the concatenated feature vector; for an engine,
``{"expects": ..., "given": ...}``. Width is layers tapped times the target's hidden size.
First seen: vLLM pull request 48113.
"""

from collections.abc import Mapping

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.methods import MTP
from investigator.model import Json, Known, NotKnown, Outcome, Verdict


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The width by the weights' header where it is known, else by the configs."""
    for name, shape in (checkpoint.draft.tensors or {}).items():
        if name.endswith("fc.weight") and len(shape) == 2:
            return Known(shape[1]), ("dflash_config.target_layer_ids",)
    hidden = _hidden_size(checkpoint)
    if checkpoint.target_layer_ids is None or hidden is None:
        return NotKnown("the number of tapped layers or the target's hidden size is not known"), ()
    keys = ("dflash_config.target_layer_ids", "aux_hidden_state_layer_ids", "target:text_config.hidden_size")
    return Known(len(checkpoint.target_layer_ids) * hidden), (*keys, "target:hidden_size")


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.method == MTP.name:
        return "an MTP drafter projects one hidden state of its target, and no concatenation of several"
    return None


def _hidden_size(checkpoint: Checkpoint) -> int | None:
    if checkpoint.target is None:
        return None
    values = checkpoint.target.normalised
    text = values.get("text_config")
    size = text.get("hidden_size") if isinstance(text, Mapping) else values.get("hidden_size")
    return size if isinstance(size, int) else None


def _compare(wanted: Json, found: Json, sides: Sides) -> Judgement:  # noqa: ARG001
    assert isinstance(found, Mapping)
    expects, given = found["expects"], found["given"]
    promised = f"the drafter projects {wanted} numbers of target features"
    happens = f"the engine's projection expects {expects} and is given {given}"
    if expects == given == wanted:
        return Judgement(verdict=Verdict.HONOURED, why=happens, promised=promised, happens=happens)
    return Judgement(verdict=Verdict.BROKEN, why=happens, promised=promised, happens=happens)


CONTRACT = Contract(
    id="feature-width",
    promise="the drafter's first projection is as wide as the target features that it is given",
    consequence="the engine stops at the first draft with a shape error, or projects the wrong numbers",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    needs_reference=False,
)
