"""The draft layers rotate queries and keys as the drafter's own config says.

Common terms: ``{"layout": "halves" | "pairs", "theta": base}``: which dimensions are turned
against each other, and the base of the angles (None where a config, as read, holds none). The
engine's answer also says whose layout it is, ``"from": "draft" | "target"``; its layout is
None where it is the target's and that is not known.
First seen: vLLM 0.28.0.
"""

from collections.abc import Mapping

from investigator.checkpoint import Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.model import Json, Known, NotKnown, Outcome, Verdict


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The base that this checkpoint's config gives."""
    base = checkpoint.draft.rope_theta
    if base is None:
        return NotKnown("the checkpoint's config holds no rope_theta"), ()
    return Known({"theta": base}), ("rope_theta", "rope_parameters.rope_theta")


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:  # noqa: ARG001
    assert isinstance(reference, Mapping)
    assert isinstance(engine, Mapping)
    promised = f"{_described(reference)}, by the draft's own config"
    layout, theta = engine["layout"], engine["theta"]
    theirs = engine["from"] == "target"
    if layout is None:
        why = (
            "the draft's layout is overwritten with the target's, which is right only beside a target that"
            f" rotates in {reference['layout']}"
        )
        return Judgement(verdict=Verdict.PARTIAL, why=why, promised=promised, happens=why)
    happens = _described(engine) + (", the target's layout written over the draft's" if theirs else "")
    wrong = []
    if layout != reference["layout"]:
        wrong.append(f"the draft layers rotate in {layout}, trained in {reference['layout']}")
    if None not in (theta, reference["theta"]) and theta != reference["theta"]:
        wrong.append(f"with base {theta} instead of {reference['theta']}")
    if wrong:
        why = ", ".join(wrong) + (": the target's layout is written over the draft's" if theirs else "")
        return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=happens)
    why = f"{happens}; here the two agree" if theirs else happens
    return Judgement(verdict=Verdict.HONOURED, why=why, promised=promised, happens=happens)


def _described(answer: Mapping[str, Json]) -> str:
    theta = answer["theta"]
    return f"rotated in {answer['layout']}" + (f" with base {theta}" if theta is not None else "")


CONTRACT = Contract(
    id="rope",
    promise="the draft layers rotate queries and keys as the drafter's own config says",
    consequence="near tokens look far: acceptance decays, the more the longer the context",
    ask_checkpoint=_ask,
    compare=_compare,
)
