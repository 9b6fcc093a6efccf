"""The draft layers rotate queries and keys as the drafter's own config says.

Common terms: ``{"layout": "halves" | "pairs", "theta": base}``: which dimensions are turned
against each other, and the base of the angles (None where a config, as read, holds none). The
engine's answer also says whose layout it is, ``"from": "draft" | "target" | "shared"`` (shared:
draft and target have one rotary embedding, and the target writes its layout into it); its layout
is None where it is the target's and that is not known. An MTP drafter is a layer of its target, and
promises the layout that the target has: ``"layout": "target"``; of one the engine's answer says
which that is, ``"target": "halves" | "pairs" | None``.
First seen: vLLM 0.28.0.
"""

from collections.abc import Mapping

from investigator.checkpoint import MTP_ASSISTANT, Checkpoint
from investigator.contracts.contract import Contract, Judgement, Sides
from investigator.methods import MTP
from investigator.model import Json, Known, NotKnown, Outcome, Verdict


def _ask(checkpoint: Checkpoint) -> tuple[Outcome, tuple[str, ...]]:
    """The base that this checkpoint's config gives."""
    base = checkpoint.draft.rope_theta
    if checkpoint.draft.rope_by_layer_type:
        return NotKnown(_BY_LAYER_TYPE), ()
    if base is None:
        return NotKnown("the checkpoint's config holds no rope_theta"), ()
    return Known({"theta": base}), ("rope_theta", "rope_parameters.rope_theta")


_BY_LAYER_TYPE = (
    "the draft's rope_parameters holds settings for each type of layer, and what a config class that knows"
    " one for all makes of them depends on the release of Transformers"
)
"""Seen: ``Qwen3Config`` of 5.15 adds its own base beside them; vLLM 0.32.0 stopped with 5.17."""


def _convention(checkpoint: Checkpoint) -> Json:
    """How a layer of the target rotates; None for any drafter that is none."""
    if checkpoint.method != MTP.name or checkpoint.layout == MTP_ASSISTANT:
        return None
    return {"layout": "target", "theta": checkpoint.draft.rope_theta}


def _compare(reference: Json, engine: Json, sides: Sides) -> Judgement:
    assert isinstance(reference, Mapping)
    assert isinstance(engine, Mapping)
    if reference["layout"] == "target":
        theirs = engine.get("target")
        if theirs is None and engine["theta"] in (None, reference["theta"]):
            why = "whether the target rotates in halves or in pairs is not known"
            return Judgement(verdict=Verdict.UNKNOWN, why=why)
        reference = {**reference, "layout": theirs or engine["layout"]}
    elif sides.facts is not None and sides.facts.draft.rope_by_layer_type:
        return Judgement(verdict=Verdict.UNKNOWN, why=_BY_LAYER_TYPE)
    promised = f"{_described(reference)}, by the draft's own config"
    layout, theta = engine["layout"], engine["theta"]
    way = _WAYS[str(engine["from"])]
    if layout is None:
        why = (
            "the draft's layout is overwritten with the target's, which is right only beside a target that"
            f" rotates in {reference['layout']}"
        )
        return Judgement(verdict=Verdict.PARTIAL, why=why, promised=promised, happens=why)
    happens = _described(engine) + (f", {way}" if way else "")
    wrong = []
    if layout != reference["layout"]:
        wrong.append(f"the draft layers rotate in {layout}, trained in {reference['layout']}")
    if None not in (theta, reference["theta"]) and theta != reference["theta"]:
        wrong.append(f"with base {theta} instead of {reference['theta']}")
    if wrong:
        why = ", ".join(wrong) + (f": {way}" if way else "")
        return Judgement(verdict=Verdict.BROKEN, why=why, promised=promised, happens=happens)
    why = f"{happens}; here the two agree" if way else happens
    return Judgement(verdict=Verdict.HONOURED, why=why, promised=promised, happens=happens)


_WAYS = {
    "draft": "",
    "target": "the target's layout is written over the draft's",
    "shared": "the rotary embedding is the target's, which writes its own layout into it",
}


def _described(answer: Mapping[str, Json]) -> str:
    theta = answer["theta"]
    return f"rotated in {answer['layout']}" + (f" with base {theta}" if theta is not None else "")


CONTRACT = Contract(
    id="rope",
    promise="the draft layers rotate queries and keys as the drafter's own config says",
    consequence="near tokens look far: acceptance decays, the more the longer the context",
    ask_checkpoint=_ask,
    compare=_compare,
    convention=_convention,
)
