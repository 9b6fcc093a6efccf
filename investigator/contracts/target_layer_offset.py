"""An id ``k`` in ``target_layer_ids`` taps the output of decoder layer ``k``.

Common terms: for the checkpoint's ids, the indices into Hugging Face's ``hidden_states``
tuple that are tapped, in the order in which the features reach the drafter (``hidden_states[0]``
is the embedding output, so layer ``k``'s output is index ``k + 1``); None where what is tapped is a part of
the stream and no hidden state.
First seen: vLLM pull request 40727.
"""

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.methods import MTP, TAKES_LAST, described
from investigator.model import Json, Known, NotKnown, Outcome, Verdict


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The ids of this checkpoint, as decoder layers counted from 0."""
    keys = described(checkpoint).holding_ids(checkpoint)
    if checkpoint.target_layer_ids is None:
        return NotKnown("the checkpoint names no target layer ids"), ()
    return Known(list(checkpoint.target_layer_ids)), keys


def applies(checkpoint: Checkpoint) -> str | None:
    """Why a checkpoint has no ids to keep; None where it has, or should have."""
    return TAKES_LAST if checkpoint.method == MTP.name else None


def wanted_indices(checkpoint: Checkpoint) -> list[Json] | None:
    """The outputs of the layers that the config names, as indices; the embedding output is 0."""
    ids = checkpoint.target_layer_ids
    return [k + 1 for k in ids] if ids is not None else None


def _may_count_layers(checkpoint: Checkpoint) -> bool:
    """Whether the method's key is in use both for boundaries and for decoder layers: what a head was
    trained with does not show in its config."""
    return described(checkpoint).boundary and checkpoint.layout != "speculators"


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:
    assert isinstance(reference, list | tuple)
    assert isinstance(engine, list | tuple)
    wanted, found = list(reference), list(engine)
    ids = list(sides.facts.target_layer_ids or ()) if sides.facts else []
    promised = f"ids {ids} tap hidden_states{wanted}"
    happens = f"hidden_states{found} are tapped"
    if wanted == found:
        return Judgement(verdict=Verdict.HONOURED, why=happens, promised=promised, happens=happens)
    if (parts := found.count(None)) > 0:
        why = (
            f"{parts} of {len(found)} taps are no hidden states: what a layer adds to the stream, or the"
            " stream without it"
        )
        return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=why)
    if sorted(set(wanted)) == found:
        why = (
            "the features come in ascending layer order with duplicates collapsed, not in the config's order"
        )
        return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=happens)
    if (
        sides.facts is not None
        and _may_count_layers(sides.facts)
        and found == [index + 1 for index in wanted]
    ):
        why = (
            f"{happens}: right for a head that names decoder layers by its numbers, one layer late for one"
            " that counts the layers a stream has been through"
        )
        return Judgement(verdict=Verdict.PARTIAL, why=why, promised=promised, happens=happens)
    shifts = {b - a for a, b in zip(wanted, found, strict=False)} if len(wanted) == len(found) else set()
    if len(shifts) == 1:
        shift = shifts.pop()
        layers = "one layer" if abs(shift) == 1 else f"{abs(shift)} layers"
        why = f"every tap is {layers} too {'early' if shift < 0 else 'late'}"
    elif len(found) < len(wanted):
        why = f"{len(wanted) - len(found)} of {len(wanted)} layers are never captured"
    else:
        why = "other layers are tapped than the ids name"
    return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=happens)


CONTRACT = Contract(
    id="target-layer-offset",
    promise="an id k in target_layer_ids taps the output of decoder layer k = hidden_states[k+1];"
    " order and count are kept",
    consequence="the drafter reads features that it was not trained on: nothing crashes and the output"
    " stays right, but fewer drafts are accepted (3 to 6 % alone on published pairs)",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=applies,
    convention=wanted_indices,
)
