"""Scales that the checkpoint sets are applied: ``input_embedding_scale``, ``output_multiplier``,
``final_logit_softcapping``.

Common terms: the keys of these that are read and used. The last two are monotone: ignoring them leaves
greedy drafts as they are and changes sampled ones.
"""

from collections.abc import Mapping

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.model import Json, Known, Outcome, Verdict

KEYS = ("input_embedding_scale", "output_multiplier", "final_logit_softcapping")
MONOTONE = ("output_multiplier", "final_logit_softcapping")


def _set(checkpoint: Checkpoint) -> list[str]:
    raw = checkpoint.draft.raw
    nested = (raw.get(name) for name in ("text_config", "dflash_config"))
    values = {
        **raw,
        **{key: value for part in nested if isinstance(part, Mapping) for key, value in part.items()},
    }
    return [key for key in KEYS if values.get(key) not in (None, 1, 1.0)]


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The scales that this checkpoint sets to something."""
    found = _set(checkpoint)
    return Known(found), tuple(name for key in found for name in (key, f"dflash_config.{key}"))


def _applies(checkpoint: Checkpoint) -> str | None:
    return None if _set(checkpoint) else "the checkpoint sets no scale"


def _compare(wanted: Json, found: Json, sides: Sides) -> Judgement:  # noqa: ARG001
    assert isinstance(wanted, list | tuple)
    assert isinstance(found, list | tuple)
    missing = [str(key) for key in wanted if key not in found]
    promised = f"{', '.join(map(str, wanted))} are applied"
    if not missing:
        why = "every scale that is set is applied"
        return Judgement(verdict=Verdict.HONOURED, why=why, promised=promised, happens=why)
    why = f"never applied: {', '.join(missing)}"
    if all(key in MONOTONE for key in missing):
        why += " (monotone: greedy drafts stay as they are, sampled ones change)"
        return Judgement(verdict=Verdict.PARTIAL, why=why, promised=promised, happens=why)
    return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=why)


CONTRACT = Contract(
    id="embedding-scale",
    promise="the scales that the checkpoint sets on embeddings and logits are applied",
    consequence="the drafter sees embeddings of another size than in training",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    needs_reference=False,
)
