"""``rope``: the draft's rotation as its config has it, or the target's."""

from dataclasses import replace

import pytest

from investigator.contracts.contract import Sides, judge
from investigator.contracts.rope import CONTRACT
from investigator.model import Answer, Json, Known, NotKnown, Outcome, Role, Verdict
from tests.support.miniature_vllm import checkpoint

TRAINED: dict[str, Json] = {"layout": "halves", "theta": 10000}


def sides(layout: str | None, theta: Json = 10000, whose: str = "draft") -> Sides:
    engine = Known({"layout": layout, "theta": theta, "from": whose})
    return Sides(
        checkpoint=None,
        references=(answer(Role.REFERENCE, Known(TRAINED)),),
        engine=answer(Role.ENGINE, engine),
        facts=checkpoint(),
    )


def answer(role: Role, outcome: Outcome) -> Answer:
    return Answer(contract=CONTRACT.id, role=role, agent=role.value, source=role.value, outcome=outcome)


@pytest.mark.parametrize(
    ("given", "verdict", "why"),
    [
        (sides("halves"), Verdict.HONOURED, "rotated in halves with base 10000"),
        (sides("halves", theta=None), Verdict.HONOURED, "rotated in halves"),
        (
            sides("halves", whose="target"),
            Verdict.HONOURED,
            "rotated in halves with base 10000, the target's layout is written over the draft's;"
            " here the two agree",
        ),
        (
            sides(None, whose="target"),
            Verdict.PARTIAL,
            "the draft's layout is overwritten with the target's, which is right only beside a target that"
            " rotates in halves",
        ),
        (
            sides("pairs", whose="target"),
            Verdict.BROKEN,
            "the draft layers rotate in pairs, trained in halves: the target's layout is written over the"
            " draft's",
        ),
        (
            sides("pairs", whose="shared"),
            Verdict.BROKEN,
            "the draft layers rotate in pairs, trained in halves: the rotary embedding is the target's, which"
            " writes its own layout into it",
        ),
        (sides("halves", theta=1000000), Verdict.BROKEN, "with base 1000000 instead of 10000"),
    ],
)
def test_the_engines_rotation_against_training(given: Sides, verdict: Verdict, why: str) -> None:
    found = judge(CONTRACT, given)

    assert found.verdict is verdict
    assert found.why == why


def test_the_checkpoint_gives_the_base_in_either_layout() -> None:
    ask = CONTRACT.ask_checkpoint
    assert ask is not None

    assert ask(checkpoint())[0] == Known({"theta": 10000})
    nested = checkpoint(rope_theta=None, rope_parameters={"rope_theta": 7000})
    assert ask(nested)[0] == Known({"theta": 7000})
    assert isinstance(ask(checkpoint(rope_theta=None))[0], NotKnown)


def test_a_base_for_each_type_of_layer_is_compared_with_none() -> None:
    facts = checkpoint()
    parameters = {"full_attention": {"rope_theta": 5000}, "sliding_attention": {"rope_theta": 10000}}
    draft = replace(facts.draft, normalised={**facts.draft.normalised, "rope_parameters": parameters})

    found = judge(CONTRACT, replace(sides("halves"), facts=replace(facts, draft=draft)))

    assert draft.rope_theta is None
    assert found.verdict is Verdict.UNKNOWN
    assert found.why.startswith("the draft's rope_parameters holds settings for each type of layer")
