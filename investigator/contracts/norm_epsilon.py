"""Every norm of the draft model divides by what it was trained with: ``rms_norm_eps`` is its epsilon.

Common terms: the epsilons that the draft model's norms are made with, each once, ascending. A norm that
is made without one has its class's default, which is right only where the config happens to agree.
"""

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.methods import MTP
from investigator.model import Json, Known, NotKnown, Outcome, Verdict

KEY = "rms_norm_eps"


def _epsilon(checkpoint: Checkpoint) -> float | None:
    value = checkpoint.draft.normalised.get(KEY)
    return value if isinstance(value, float | int) and not isinstance(value, bool) else None


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The epsilon that this checkpoint names."""
    epsilon = _epsilon(checkpoint)
    if epsilon is None:
        return NotKnown("the draft's config names no epsilon"), ()
    return Known([epsilon]), (KEY,)


def _applies(checkpoint: Checkpoint) -> str | None:
    if checkpoint.method == MTP.name:
        return "an MTP layer is normed as its target's layers are"
    return None if _epsilon(checkpoint) is not None else "the draft's config names no epsilon"


def _compare(wanted: Json, found: Json, sides: Sides) -> Judgement:  # noqa: ARG001
    assert isinstance(wanted, list | tuple)
    assert isinstance(found, list | tuple)
    promised = f"every norm of the draft model has the epsilon {_said(wanted)}"
    others = [epsilon for epsilon in found if epsilon not in wanted]
    if not others:
        return Judgement(verdict=Verdict.HONOURED, why=promised, promised=promised, happens=promised)
    some = "every norm" if len(others) == len(found) else "some norms"
    why = f"{some} of the draft model: epsilon {_said(others)} instead of {_said(wanted)}"
    return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=why)


def _said(epsilons: list[Json] | tuple[Json, ...]) -> str:
    return ", ".join(str(epsilon) for epsilon in epsilons)


CONTRACT = Contract(
    id="norm-epsilon",
    promise="every norm of the draft model has the epsilon of the drafter's config",
    consequence="small activations are scaled otherwise than in training, in every layer",
    ask_checkpoint=_ask,
    compare=_compare,
    applies=_applies,
    needs_reference=False,
)
