"""``kv-retention``: how far back layers see against what the engine keeps."""

from dataclasses import replace

import pytest

from investigator.contracts.contract import Sides, judge
from investigator.contracts.kv_retention import CONTRACT
from investigator.model import Answer, Json, Known, NotKnown, Outcome, Refused, Role, Verdict
from tests.support.miniature_vllm import all_full, checkpoint

NEEDED: list[Json] = [7, 7, None]


def sides(engine: Outcome) -> Sides:
    return Sides(
        checkpoint=answer(Role.CHECKPOINT, Known(NEEDED)),
        references=(),
        engine=answer(Role.ENGINE, engine),
        facts=checkpoint(),
    )


def answer(role: Role, outcome: Outcome) -> Answer:
    return Answer(contract=CONTRACT.id, role=role, agent=role.value, source=role.value, outcome=outcome)


def keeps(settled: list[Json], in_flight: list[Json] | None = None) -> Known:
    return Known({"settled": settled, "in flight": settled if in_flight is None else in_flight})


@pytest.mark.parametrize(
    ("engine", "verdict", "why"),
    [
        (keeps([7, 7, None]), Verdict.HONOURED, "2 × 7, all are kept"),
        (keeps([9, 7, None]), Verdict.HONOURED, "9, 7, all are kept"),
        (keeps([None, None, None]), Verdict.HONOURED, "everything is kept: no window reached"),
        (
            keeps([7, 7, None], [3, 7, None]),
            Verdict.PARTIAL,
            "while a step is in flight (async scheduling), layers [0] lose the last 4 tokens",
        ),
        (
            keeps([7, 6, None]),
            Verdict.BROKEN,
            "context is recycled that layers [1] still attend to: 7, 6, all are kept",
        ),
        (keeps([7, 7, 500]), Verdict.BROKEN, "context is recycled that layers [2] still attend to"),
        (Refused("NotImplementedError: mixed"), Verdict.REFUSED, "the engine stops"),
    ],
)
def test_what_is_kept_against_what_is_seen(engine: Outcome, verdict: Verdict, why: str) -> None:
    found = judge(CONTRACT, sides(engine))

    assert found.verdict is verdict
    assert found.why.startswith(why)


def test_a_reference_that_does_not_read_this_layout_does_not_decide() -> None:
    """MiMo names its window in ``dflash_config``, which the authors' package never reads."""
    given = sides(keeps([7, 7, None]))
    other = Sides(
        checkpoint=given.checkpoint,
        references=(answer(Role.REFERENCE, Known([None, None, None])),),
        engine=given.engine,
        facts=checkpoint(),
    )

    assert judge(CONTRACT, other).verdict is Verdict.HONOURED


def test_a_drafter_without_windows_does_not_need_it() -> None:
    given = sides(keeps([None, None, None]))
    full = Sides(checkpoint=given.checkpoint, references=(), engine=given.engine, facts=all_full())

    assert judge(CONTRACT, full).verdict is Verdict.NOT_APPLICABLE


def test_the_checkpoint_says_how_far_its_layers_see() -> None:
    assert CONTRACT.ask_checkpoint is not None
    assert CONTRACT.ask_checkpoint(checkpoint())[0] == Known(NEEDED)


def test_a_checkpoint_that_does_not_say_how_it_attends_leaves_it_open() -> None:
    assert CONTRACT.ask_checkpoint is not None
    open_, _ = CONTRACT.ask_checkpoint(replace(checkpoint(), windows=None))

    assert open_ == NotKnown("the checkpoint does not say how its layers attend")
