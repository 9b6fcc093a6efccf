"""KV-cache slots are reserved for every query token of a draft, on the first scheduling too.

Common terms: the checkpoint's and the reference's answer is the number of query tokens of one
draft, the block: the last accepted token and one mask token per drafted token, so
``num_speculative_tokens + 1``. An MTP drafter runs once over the tokens that were scheduled and then
once for each further draft token: ``num_speculative_tokens - 1`` beyond them. The engine's is the
lookahead slots it reserves, ``{"running": n, "first": m}``: for a running request, and when one is
first scheduled.
First seen: vLLM pull request 42971.
"""

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.methods import MTP
from investigator.model import Json, Known, NotKnown, Outcome, Verdict

WRITES_ANCHOR = ("dflash",)
"""Methods that draft a whole block in one pass whose first query is the last accepted token."""


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The block that this checkpoint was trained with: its query tokens."""
    if checkpoint.method == MTP.name and checkpoint.draft_tokens is not None:
        return Known(checkpoint.draft_tokens - 1), MTP.keys
    if checkpoint.block_size is None:
        return NotKnown("the checkpoint names no block size"), ()
    return Known(checkpoint.block_size), ("block_size", "dflash_config.block_size")


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.method == MTP.name:
        if checkpoint.draft_tokens != 1:
            return None
        why = "a draft of one token writes no slot beyond those that were scheduled"
        return why if checkpoint.block_size else f"{why}; --block-size N+1 asks about drafts of N"
    if checkpoint.method not in WRITES_ANCHOR:
        return f"{checkpoint.method} does not draft a block whose first query is the last accepted token"
    return None


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:
    assert isinstance(reference, int)
    assert isinstance(engine, dict)
    running, first = engine["running"], engine["first"]
    assert isinstance(running, int)
    assert isinstance(first, int)
    if sides.facts is not None and sides.facts.method == MTP.name:
        promised = f"a draft of {reference + 1} tokens writes {reference} slots beyond those scheduled"
    else:
        promised = (
            f"a draft writes {reference} query tokens, {reference - 1} speculative ones and their anchor"
        )
    trained = sides.reference.outcome if sides.reference is not None else None
    if isinstance(trained, Known) and trained.value != reference:
        why = f"the reference drafts blocks of {trained.value} tokens, the checkpoint names {reference}"
        return Judgement(verdict=Verdict.UNKNOWN, why=why)
    happens = f"{running} slots are reserved for a running request, {first} when one is first scheduled"
    if running >= reference and first >= reference:
        return Judgement(verdict=Verdict.HONOURED, why=happens, promised=promised, happens=happens)
    short = []
    if running < reference:
        short.append(f"{reference - running} too few for a running request")
    if first < reference:
        short.append(f"{reference - first} too few when a request is first scheduled")
    slots = "the slot" if reference == 1 else f"{reference} slots"
    why = f"of {slots} that a draft writes, {' and '.join(short)}"
    return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=happens)


CONTRACT = Contract(
    id="lookahead",
    promise="slots for num_speculative_tokens + 1 query tokens are reserved, on the first step too",
    consequence="draft K/V is written into blocks that belong to somebody else: a shared prefix goes bad",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    needs_reference=False,
)
