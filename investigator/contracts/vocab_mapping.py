"""A map from the draft's to the target's vocabulary is made when the checkpoint has one, and only then.

Common terms: whether there is a map. A drafter with a smaller vocabulary of its own ships
one. Made where none is shipped (a padded vocabulary) it is all zeros, which are offsets: each id
leads to itself. Measured on vLLM 0.24.0, 0.25.0 and 0.32.0: nothing is lost by that where the
target's head, padded as it is loaded, has a row for each of the draft's ids, and the first draft
stops with an error where it has fewer.
"""

from collections.abc import Mapping

from investigator.checkpoint import Checkpoint, ModelConfig
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.methods import MTP
from investigator.model import Json, Known, NotKnown, Outcome, Verdict

UNFILLED = (
    "it leads each id to itself, and the first draft stops with an error where the target's head, padded as"
    " it is loaded, has fewer rows than the draft's vocabulary"
)

HARMLESS = "it leads each id to itself, and the target's head has a row for each of the draft's ids"


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """Whether this drafter has a vocabulary of its own."""
    draft = checkpoint.draft.normalised
    tensors = checkpoint.draft.tensors
    if tensors is not None:
        return Known(any("d2t" in name for name in tensors)), ("draft_vocab_size", "vocab_size")
    own = draft.get("draft_vocab_size")
    full = _size(checkpoint.target) or draft.get("vocab_size")
    if not isinstance(full, int):
        return NotKnown("the size of the target's vocabulary is not known"), ()
    return Known(isinstance(own, int) and own < full), ("draft_vocab_size", "vocab_size")


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.method == MTP.name:
        return "an MTP drafter's vocabulary is its target's"
    return None


def _size(model: ModelConfig | None) -> int | None:
    if model is None:
        return None
    text = model.normalised.get("text_config")
    size = text.get("vocab_size") if isinstance(text, Mapping) else model.normalised.get("vocab_size")
    return size if isinstance(size, int) else None


def _has_each_row(checkpoint: Checkpoint | None) -> bool:
    """Whether the target's head surely has a row for each of the draft's ids: even before it is padded."""
    target = _size(checkpoint.target) if checkpoint is not None else None
    draft = checkpoint.draft.normalised.get("vocab_size") if checkpoint is not None else None
    return target is not None and isinstance(draft, int) and draft <= target


def _compare(wanted: Json, found: Json, sides: Sides) -> Judgement:
    words = {True: "a map of vocabularies", False: "no map of vocabularies"}
    promised, happens = f"the drafter has {words[bool(wanted)]}", f"the engine makes {words[bool(found)]}"
    if bool(wanted) is bool(found):
        return Judgement(verdict=Verdict.HONOURED, why=happens, promised=promised, happens=happens)
    if found:
        if _has_each_row(sides.facts):
            why = f"{happens} that the checkpoint does not bring: {HARMLESS}"
            return Judgement(verdict=Verdict.HONOURED, why=why, promised=promised, happens=happens)
        why = f"{happens} that the checkpoint does not bring: {UNFILLED}"
        return Judgement(verdict=Verdict.PARTIAL, why=why, promised=promised, happens=happens)
    return Judgement(verdict=Verdict.BROKEN, why=happens, promised=promised, happens=happens)


CONTRACT = Contract(
    id="vocab-mapping",
    promise="a map from draft to target vocabulary is made when the checkpoint has one, and only then",
    consequence="drafted ids name other tokens than the drafter meant: nothing is accepted",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    needs_reference=False,
)
