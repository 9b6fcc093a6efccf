"""The EAGLE rule "drop the last matched prefix-cache block" is not applied where it does not fit.

Common terms: the KV-cache groups whose last matched block is dropped. An EAGLE drafter's
K/V at a position depends on the *next* token, so the last matched block may be stale. A
drafter that projects its context K/V from the target's hidden states alone needs no drop.
First seen: vLLM pull request 40898 (``requires_eagle_cache_drop``).
"""

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides, conditional
from investigator.model import Json, Known, Outcome, Verdict

WRITES_FROM_TARGET = ("dflash", "dspark")
"""Methods whose context K/V is projected from the target's hidden states."""


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The method that the checkpoint is made for."""
    return Known(checkpoint.method), ("architectures",)


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.method not in WRITES_FROM_TARGET:
        return f"the rule fits {checkpoint.method}: its draft K/V depends on the next token"
    return None


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:
    assert isinstance(engine, list | tuple)
    promised = (
        "the drafter's context K/V comes from the target's hidden states alone: no block need be dropped"
    )
    if list(engine) == reference:
        return Judgement(
            verdict=Verdict.HONOURED,
            why="no KV-cache group drops its last matched block",
            promised=promised,
            happens="no block is dropped",
        )
    why = f"the last matched block of {_listed(engine)} is dropped on every prefix-cache hit"
    happens = conditional(why, sides)
    return Judgement(verdict=Verdict.BROKEN, why=happens, promised=promised, happens=happens)


def _listed(groups: Json) -> str:
    assert isinstance(groups, list | tuple)
    names = [str(group) for group in groups]
    return "every group" if len(names) > 1 else f"the group {names[0]!r}"


CONTRACT = Contract(
    id="cache-drop",
    promise="the EAGLE rule to drop the last matched prefix-cache block is not applied to a drafter that"
    " writes its context K/V from the target",
    consequence="each prefix-cache hit recomputes a block it need not; with a hybrid target reuse can fall"
    " to zero",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
)
