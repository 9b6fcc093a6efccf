"""The masked places of a block are filled with the token that the drafter was trained with.

Common terms: the token's id. First seen: vLLM before 0.28 reads only ``dflash_config``.
"""

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.model import Json, Known, NotKnown, Outcome, Verdict


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The mask token that this checkpoint names."""
    if checkpoint.mask_token_id is None:
        return NotKnown("the checkpoint names no mask token"), ()
    return Known(checkpoint.mask_token_id), ("dflash_config.mask_token_id", "mask_token_id")


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.method not in ("dflash", "dspark"):
        return f"{checkpoint.method} drafts token by token and fills no masked places"
    return None


def _compare(wanted: Json, found: Json, sides: Sides) -> Judgement:  # noqa: ARG001
    promised, happens = f"masked places hold token {wanted}", f"the engine fills them with token {found}"
    if wanted == found:
        return Judgement(verdict=Verdict.HONOURED, why=happens, promised=promised, happens=happens)
    return Judgement(verdict=Verdict.BROKEN, why=happens, promised=promised, happens=happens)


CONTRACT = Contract(
    id="mask-token",
    promise="the masked places of a block are filled with the drafter's own mask token",
    consequence="the drafter reads a token that it never saw in that place: drafts are near random",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    needs_reference=False,
)
