"""``head-sharing``: whose head the draft's logits come from."""

from dataclasses import replace

import pytest

from investigator.contracts.contract import Sides, judge
from investigator.contracts.head_sharing import CONTRACT
from investigator.model import Answer, Known, NotKnown, Outcome, Role, Verdict
from tests.support.miniature_vllm import checkpoint


def sides(engine: Outcome, **weights: tuple[int, ...]) -> Sides:
    case = checkpoint()
    return Sides(
        checkpoint=None,
        references=(answer(Role.REFERENCE, Known("target")),),
        engine=answer(Role.ENGINE, engine),
        facts=replace(case, draft=replace(case.draft, tensors=weights)) if weights else case,
    )


def answer(role: Role, outcome: Outcome) -> Answer:
    return Answer(contract=CONTRACT.id, role=role, agent=role.value, source=role.value, outcome=outcome)


@pytest.mark.parametrize(
    ("engine", "verdict", "why"),
    [
        (Known("target"), Verdict.HONOURED, "the draft model computes its logits with the target's head"),
        (
            Known("draft"),
            Verdict.BROKEN,
            "the draft model computes its logits with the draft's head, which no weights were loaded into",
        ),
        (NotKnown("a loop"), Verdict.UNKNOWN, "a loop"),
    ],
)
def test_the_engines_head_against_training(engine: Outcome, verdict: Verdict, why: str) -> None:
    found = judge(CONTRACT, sides(engine))

    assert found.verdict is verdict
    assert found.why == why


def test_a_checkpoint_with_a_head_of_its_own_does_not_need_it() -> None:
    found = judge(CONTRACT, sides(Known("draft"), **{"lm_head.weight": (64, 32)}))

    assert found.verdict is Verdict.NOT_APPLICABLE


def test_the_checkpoint_answers_by_the_names_of_its_weights() -> None:
    ask = CONTRACT.ask_checkpoint
    assert ask is not None
    case = checkpoint()
    without = replace(case, draft=replace(case.draft, tensors={"fc.weight": (32, 64)}))

    assert isinstance(ask(case)[0], NotKnown)
    assert ask(without)[0] == Known("target")
