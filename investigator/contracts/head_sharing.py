"""A drafter without an output head of its own computes its logits with the target's.

Common terms: whose head the draft's logits come from, ``target`` or ``draft``. A draft model
that keeps its own head where the checkpoint brings none keeps weights that nobody loaded.
First seen: vLLM 0.24.0, model runner V2.
"""

from investigator.checkpoint import MTP_ASSISTANT, MTP_OWN, Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.methods import MTP
from investigator.model import Json, Known, NotKnown, Outcome, Verdict

HEADS = ("lm_head", "shared_head.head")


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """Whose head this checkpoint needs, by the names of its weights."""
    if (whose := _convention(checkpoint)) is not None:
        return Known(whose), ()
    if checkpoint.draft.tensors is None:
        return NotKnown("the names of the checkpoint's weights were not read"), ()
    return Known("draft" if _brings_one(checkpoint) else "target"), ()


def _brings_one(checkpoint: Checkpoint) -> bool:
    return any(head in name for name in checkpoint.draft.tensors or () for head in HEADS)


def _convention(checkpoint: Checkpoint) -> Json:
    """Whose head a method's drafters have, whatever weights they bring: an MTP layer its target's."""
    layers = checkpoint.method == MTP.name and checkpoint.layout != MTP_ASSISTANT
    return "target" if layers else None


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.layout == MTP_OWN:
        return None  # a head among its weights is the target's
    return "the checkpoint brings an output head of its own" if _brings_one(checkpoint) else None


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:
    promised = f"the draft's logits come from the {reference}'s head"
    happens = f"the draft model computes its logits with the {engine}'s head"
    if reference == engine:
        return Judgement(verdict=Verdict.HONOURED, why=happens, promised=promised, happens=happens)
    if sides.facts is not None and _convention(sides.facts) is not None:
        why = f"{happens}: a copy in its checkpoint may be loaded into it"
        return Judgement(verdict=Verdict.UNKNOWN, why=why)
    why = f"{happens}, which no weights were loaded into" if engine == "draft" else happens
    return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=happens)


CONTRACT = Contract(
    id="head-sharing",
    promise="a drafter without an output head of its own computes its logits with the target's",
    consequence="the draft's logits are noise: nothing is accepted (an acceptance length of 1)",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    convention=_convention,
)
