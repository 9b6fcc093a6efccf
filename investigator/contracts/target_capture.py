"""The layers that the drafter taps can be captured on this target at all.

Common terms: the indices into ``hidden_states`` that the target's class captures when it is
asked for the wanted ones. Some classes capture before a layer, and so never the last one;
some have no interface for it.
"""

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.contracts.target_layer_offset import CONTRACT as OFFSET
from investigator.model import Json, Verdict


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:  # noqa: ARG001
    assert isinstance(reference, list | tuple)
    assert isinstance(engine, list | tuple)
    missing = [index for index in reference if index not in engine]
    promised = f"hidden_states{list(reference)} of the target are read"
    if not missing:
        why = "the target's class captures every layer that is asked for"
        return Judgement(verdict=Verdict.HONOURED, why=why, promised=promised, happens=why)
    why = (
        "the target's class captures none of its layers"
        if len(missing) == len(reference)
        else f"the target's class never captures hidden_states{missing}"
    )
    return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=why)


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.target_layer_ids is None:
        return OFFSET.applies(checkpoint) or "the checkpoint names no layers to capture"
    return None


CONTRACT = Contract(
    id="target-capture",
    promise="the layers that the drafter taps can be captured on this target",
    consequence="the drafter gets fewer features than it was trained on, or the engine stops",
    ask_checkpoint=OFFSET.ask_checkpoint,
    compare=_compare,
    applies=_applies,
    convention=OFFSET.convention,
)
