"""``norm-epsilon``: what the draft model's norms add before they divide."""

import pytest

from investigator.contracts.contract import Sides, judge
from investigator.contracts.norm_epsilon import CONTRACT
from investigator.model import Answer, Known, NotKnown, Outcome, Role, Verdict
from tests.support.miniature_vllm import checkpoint


def sides(engine: Outcome, trained: float | None = 1e-05) -> Sides:
    case = checkpoint() if trained is None else checkpoint(rms_norm_eps=trained)
    ask = CONTRACT.ask_checkpoint
    assert ask is not None
    return Sides(
        checkpoint=answer(Role.CHECKPOINT, ask(case)[0]),
        references=(),
        engine=answer(Role.ENGINE, engine),
        facts=case,
    )


def answer(role: Role, outcome: Outcome) -> Answer:
    return Answer(contract=CONTRACT.id, role=role, agent=role.value, source=role.value, outcome=outcome)


@pytest.mark.parametrize(
    ("engine", "verdict", "why"),
    [
        (Known([1e-05]), Verdict.HONOURED, "every norm of the draft model has the epsilon 1e-05"),
        (Known([1e-06]), Verdict.BROKEN, "every norm of the draft model: epsilon 1e-06 instead of 1e-05"),
        (
            Known([1e-06, 1e-05]),
            Verdict.BROKEN,
            "some norms of the draft model: epsilon 1e-06 instead of 1e-05",
        ),
        (NotKnown("a loop"), Verdict.UNKNOWN, "a loop"),
    ],
)
def test_the_engines_norms_against_the_config(engine: Outcome, verdict: Verdict, why: str) -> None:
    found = judge(CONTRACT, sides(engine))

    assert (found.verdict, found.why) == (verdict, why)


def test_a_config_that_names_no_epsilon_does_not_need_it() -> None:
    found = judge(CONTRACT, sides(Known([1e-06]), trained=None))

    assert (found.verdict, found.why) == (
        Verdict.NOT_APPLICABLE,
        "the draft's config names no epsilon",
    )
