"""Inside the drafted block, each layer sees what it saw in training.

Common terms: one flag per draft layer, whether a query is kept from the block's later tokens.
The references differ here: the authors' package makes sliding layers causal and full ones not,
DDTree makes none causal. The verdict rests on the checkpoint where it says so itself, else on
the first reference, and says which.
"""

from collections.abc import Iterable, Mapping

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides, conditional
from investigator.methods import described
from investigator.model import Json, Known, NotKnown, Outcome, Verdict


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """What the checkpoint itself sets for all its layers, where it does."""
    config = checkpoint.draft.normalised
    inner = config.get("dflash_config")
    for key, value in (
        ("is_causal", config.get("is_causal")),
        ("dflash_config.causal", inner.get("causal") if isinstance(inner, Mapping) else None),
    ):
        if isinstance(value, bool):
            return Known([value] * checkpoint.num_draft_layers), (key,)
    return NotKnown("the checkpoint sets no causality: its reference decides, by layer type"), ()


def _applies(checkpoint: Checkpoint) -> str | None:
    if not described(checkpoint).one_pass:
        return f"{checkpoint.method} drafts token by token: there is no block to see"
    return None


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:
    own = sides.checkpoint.outcome if sides.checkpoint is not None else None
    said = isinstance(own, Known) and own.value != reference
    first = sides.references[0].outcome if sides.references else None
    if isinstance(first, NotKnown) and not isinstance(own, Known):
        # Training code differs here: another's answer is none about a drafter that this one trained.
        why = f"what {sides.references[0].source} trains with is not known: {first.reason}"
        return Judgement(verdict=Verdict.UNKNOWN, why=why)
    if isinstance(own, Known):
        reference = own.value  # what a drafter says of itself goes before what its training code assumes
    assert isinstance(reference, list | tuple)
    assert isinstance(engine, list | tuple)
    promised = f"{_layers(reference)} causal inside the block"
    happens = f"{_layers(engine)} causal inside the block"
    rests = " (by the checkpoint's own config)" if said else _rests_on(reference, sides)
    if list(reference) == list(engine):
        return Judgement(
            verdict=Verdict.HONOURED,
            why=conditional(f"{happens}{rests}", sides),
            promised=promised,
            happens=happens,
        )
    pairs = list(enumerate(zip(reference, engine, strict=False)))
    blind = [i for i, (a, b) in pairs if b and not a]
    leaking = [i for i, (a, b) in pairs if a and not b]
    parts = []
    if blind:
        parts.append(f"layers {blind} do not see the rest of the block, as they did in training")
    if leaking:
        parts.append(f"layers {leaking} see later tokens of the block, which they did not in training")
    why = conditional(f"{'; '.join(parts)}{rests}", sides)
    return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=happens)


def _layers(flags: Iterable[Json]) -> str:
    """``layers [0, 1] are``: those whose flag is set."""
    causal = [i for i, flag in enumerate(flags) if flag]
    return f"layers {causal} are" if causal else "no layer is"


def _rests_on(reference: Json, sides: Sides) -> str:
    """Which reference the verdict rests on, where there are several; and who trains differently."""
    known = [answer for answer in sides.references if isinstance(answer.outcome, Known)]
    if len(known) < 2:
        return ""
    differing = [a.source for a in known if isinstance(a.outcome, Known) and a.outcome.value != reference]
    if not differing:
        return ""
    return f" (by {known[0].source}; {' and '.join(differing)} trains differently)"


CONTRACT = Contract(
    id="in-block-causality",
    promise="inside the drafted block, full layers see the whole block and sliding layers what the"
    " reference lets them see",
    consequence="the mask tokens of a block see more, or less, of each other than in training: acceptance"
    " falls from position to position",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
)
