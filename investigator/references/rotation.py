"""How a reference's draft layers rotate queries and keys.

A reference makes its rotary embedding of the draft's config, and rotates with a helper whose
name says what it does (``rotate_half``: dimension ``i`` with ``i + d/2``).
"""

from investigator.checkpoint import Checkpoint
from investigator.code import classes
from investigator.code.program import Program
from investigator.code.syntax import descendants, field, text
from investigator.code.trace import Event, Happening
from investigator.code.values import FunctionValue, Instance, Unknown
from investigator.engines.finding import calls, functions
from investigator.engines.interface import Step, Told
from investigator.model import Known, NotKnown
from investigator.references.draft_model import DraftModel, build

HELPERS = {"rotate_half": "halves", "rotate_every_two": "pairs", "rotate_interleaved": "pairs"}
"""Transformers' helpers: the half that is turned against the other, or neighbours."""


def rotation(program: Program, checkpoint: Checkpoint) -> Told:
    """``Known({"layout": "halves" | "pairs", "theta": t})``; ``theta`` None where the config, as
    read, does not hold it."""
    built = build(program, checkpoint)
    if isinstance(built, Unknown):
        return Told(outcome=NotKnown(str(built)))
    turned = _turned(built)
    if turned is None:
        return Told(outcome=NotKnown("the reference's attention turns nothing by a helper that is known"))
    layout, step = turned
    made = next((e for e in built.interp.trace.of(Happening.SKIP) if _is_rotary(e)), None)
    if made is None:
        return Told(outcome=NotKnown("no rotary embedding made of the draft's config was found"))
    role = "the rotary embedding is made of the draft's own config"
    return Told(
        outcome=Known({"layout": layout, "theta": checkpoint.draft.rope_theta}),
        steps=(Step(made.place, role), step),
    )


def _is_rotary(event: Event) -> bool:
    """Whether a callee outside the tree makes a rotary embedding of the draft's config."""
    args, kwargs = event.value
    return "rotary" in event.name.lower() and any(
        isinstance(value, Instance) and value.label == "draft config" for value in (*args, *kwargs.values())
    )


def _turned(built: DraftModel) -> tuple[str, Step] | None:
    """The layout by which the attention's ``forward`` turns queries, and where."""
    cls = built.attentions[0].cls
    forward = classes.class_attribute(built.interp, cls, "forward") if cls is not None else None
    if not isinstance(forward, FunctionValue):
        return None
    called = {text(field(node, "function")) for node in descendants(field(forward.node, "body"), "call")}
    for function in (forward, *functions(built.interp, forward.module)):
        if function is not forward and function.name not in called:
            continue
        for helper, layout in HELPERS.items():
            for call in calls(function, helper):
                return layout, Step(function.module.place(call), f"queries and keys are turned by {helper}")
    return None
