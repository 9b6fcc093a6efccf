"""The EAGLE rule "drop the last matched prefix-cache block" is applied where it fits and nowhere else.

Common terms: the KV-cache groups whose last matched block is dropped. An EAGLE or MTP drafter's
K/V at a position depends on the *next* token, so the last matched block may be stale. A
drafter that projects its context K/V from the target's hidden states alone needs no drop. Of a
drafter that needs it, the engine's answer says what stands in for a drop, too:
``{"dropped": [...], "hashed ahead": n}``: tokens after a block that its hash covers, so that a match
proves them.
First seen: vLLM pull request 40898 (``requires_eagle_cache_drop``).
"""

from collections.abc import Mapping

from investigator.checkpoint import MTP_ASSISTANT, Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides, conditional
from investigator.methods import described
from investigator.model import Json, Known, Outcome, Verdict

WRITES_FROM_TARGET = ("dflash", "dspark")
"""Methods whose context K/V is projected from the target's hidden states."""


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The method that the checkpoint is made for."""
    return Known(checkpoint.method), ("architectures",)


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.method not in WRITES_FROM_TARGET and not described(checkpoint).reads_next:
        return f"what {checkpoint.method} keeps in the prefix cache depends on no hidden state of its target"
    return None


def _convention(checkpoint: Checkpoint) -> Json:
    """The tokens behind a position that its draft K/V is made of; None where that is not known."""
    if checkpoint.layout == MTP_ASSISTANT or not described(checkpoint).reads_next:
        return None
    return 1


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:
    if isinstance(engine, Mapping):
        return _where_it_fits(reference, engine, sides)
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
    why = f"the last matched block of {_listed(engine)} is dropped on a prefix-cache hit"
    happens = conditional(why, sides)
    return Judgement(verdict=Verdict.BROKEN, why=happens, promised=promised, happens=happens)


def _where_it_fits(ahead: Json, engine: Mapping[str, Json], sides: Sides) -> Judgement:
    """The judgement on a drafter whose last matched block may be stale."""
    dropped, hashed = engine["dropped"], engine["hashed ahead"]
    assert isinstance(ahead, int)
    assert isinstance(dropped, list | tuple)
    promised = "draft K/V made of another next token is not reused: the last matched block is dropped"
    if any("target" not in str(group) for group in dropped):
        why = f"the last matched block of {_listed(dropped)} is dropped, as this drafter needs"
        return Judgement(verdict=Verdict.HONOURED, why=why, promised=promised, happens=why)
    if isinstance(hashed, int) and hashed >= ahead:
        tokens = "token" if hashed == 1 else f"{hashed} tokens"
        why = f"no block is dropped, and none need be: a block's hash covers the {tokens} after it"
        return Judgement(verdict=Verdict.HONOURED, why=why, promised=promised, happens=why)
    happens = "a prefix-cache hit reuses the last matched block, whose draft K/V may be of another next token"
    why = conditional(happens, sides)
    return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=happens)


def _listed(groups: Json) -> str:
    assert isinstance(groups, list | tuple)
    names = [str(group) for group in groups]
    return "every group" if len(names) > 1 else f"the group {names[0]!r}"


CONTRACT = Contract(
    id="cache-drop",
    promise="the EAGLE rule to drop the last matched prefix-cache block is not applied to a drafter that"
    " writes its context K/V from the target",
    consequence="a prefix-cache hit recomputes a block it need not; with a hybrid target reuse can fall"
    " to zero",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    convention=_convention,
)
