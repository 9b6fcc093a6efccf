"""Whose output head the draft model computes its logits with, once it is loaded."""

from investigator.code.values import Unknown
from investigator.engines.interface import Told
from investigator.engines.vllm import runners
from investigator.engines.vllm.loading import loaded
from investigator.engines.vllm.world import ASSUMPTIONS, World
from investigator.model import Known, NotKnown, Outcome, Runner


def head(world: World, runner: Runner) -> Told:
    """``Known("target")`` or ``Known("draft")``: whose head the draft's logits come from."""
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    found = loaded(world, runner)
    outcome: Outcome = Known(found.head)
    if isinstance(found.head, Unknown):
        outcome = NotKnown(f"whose head the draft model uses: {found.head}")
    return Told(outcome=outcome, steps=found.head_steps, assumptions=ASSUMPTIONS)
