"""``in-block-causality``: what each layer sees of the block, against the first reference."""

from dataclasses import replace

import pytest

from investigator.contracts.contract import Sides, judge
from investigator.contracts.in_block_causality import CONTRACT
from investigator.model import Answer, Known, NotKnown, Outcome, Refused, Role, Unsupported, Verdict
from tests.support.miniature_vllm import checkpoint

SLIDING_ONLY = [True, True, False]
NONE = [False, False, False]
ALL = [True, True, True]


def sides(engine: Outcome, **references: list[bool]) -> Sides:
    return Sides(
        checkpoint=None,
        references=tuple(answer(Role.REFERENCE, Known(flags), name) for name, flags in references.items()),
        engine=answer(Role.ENGINE, engine, "vllm"),
        facts=checkpoint(),
    )


def answer(role: Role, outcome: Outcome, source: str) -> Answer:
    return Answer(contract=CONTRACT.id, role=role, agent=role.value, source=source, outcome=outcome)


@pytest.mark.parametrize(
    ("trained", "engine", "verdict", "why"),
    [
        (SLIDING_ONLY, SLIDING_ONLY, Verdict.HONOURED, "layers [0, 1] are causal inside the block"),
        (NONE, NONE, Verdict.HONOURED, "no layer is causal inside the block"),
        (
            SLIDING_ONLY,
            NONE,
            Verdict.BROKEN,
            "layers [0, 1] see later tokens of the block, which they did not in training",
        ),
        (NONE, ALL, Verdict.BROKEN, "layers [0, 1, 2] do not see the rest of the block, as they did"),
        (SLIDING_ONLY, [False, True, True], Verdict.BROKEN, "layers [2] do not see the rest"),
    ],
)
def test_each_layer_against_its_training(
    trained: list[bool], engine: list[bool], verdict: Verdict, why: str
) -> None:
    found = judge(CONTRACT, sides(Known(engine), authors=trained))

    assert found.verdict is verdict
    assert found.why.startswith(why)


def test_where_references_differ_the_verdict_names_the_one_it_rests_on() -> None:
    found = judge(CONTRACT, sides(Known(NONE), dflash=SLIDING_ONLY, ddtree=NONE))

    assert found.verdict is Verdict.BROKEN
    assert found.why.endswith("(by dflash; ddtree trains differently)")

    other = judge(CONTRACT, sides(Known(NONE), ddtree=NONE, dflash=SLIDING_ONLY))

    assert other.verdict is Verdict.HONOURED
    assert other.why.endswith("(by ddtree; dflash trains differently)")


def test_another_reference_does_not_stand_in_for_the_first() -> None:
    """They differ here: what DDTree trains with says nothing of a drafter that the authors trained."""
    undecided = answer(Role.REFERENCE, NotKnown("a key that may be there"), "dflash")
    given = sides(Known(NONE), ddtree=NONE)

    found = judge(CONTRACT, replace(given, references=(undecided, *given.references)))

    assert found.verdict is Verdict.UNKNOWN
    assert found.why == "what dflash trains with is not known: a key that may be there"


def test_the_engine_s_note_says_what_the_verdict_holds_for() -> None:
    given = sides(Known(NONE), authors=NONE)
    assert given.engine is not None

    found = judge(CONTRACT, replace(given, engine=replace(given.engine, note="with triton")))

    assert found.why == "no layer is causal inside the block (with triton)"


@pytest.mark.parametrize(
    ("engine", "verdict"),
    [
        (Refused("NotImplementedError: mixed"), Verdict.REFUSED),
        (Unsupported("no such method"), Verdict.UNSUPPORTED),
        (NotKnown("a loop"), Verdict.UNKNOWN),
    ],
)
def test_an_engine_that_gives_no_flags(engine: Outcome, verdict: Verdict) -> None:
    assert judge(CONTRACT, sides(engine, dflash=NONE)).verdict is verdict


def test_the_checkpoint_answers_only_where_it_sets_the_key() -> None:
    assert CONTRACT.ask_checkpoint is not None

    assert CONTRACT.ask_checkpoint(checkpoint(is_causal=True)) == (Known(ALL), ("is_causal",))
    outcome, keys = CONTRACT.ask_checkpoint(checkpoint())
    assert isinstance(outcome, NotKnown)
    assert keys == ()


def test_what_a_checkpoint_says_of_itself_goes_before_its_training_code() -> None:
    own = answer(Role.CHECKPOINT, Known(NONE), "draft")
    asked = replace(sides(Known(NONE), dflash=SLIDING_ONLY), checkpoint=own)
    other = replace(sides(Known(SLIDING_ONLY), dflash=SLIDING_ONLY), checkpoint=own)

    assert judge(CONTRACT, asked).verdict is Verdict.HONOURED
    assert (judge(CONTRACT, other).verdict, judge(CONTRACT, other).why) == (
        Verdict.BROKEN,
        "layers [0, 1] do not see the rest of the block, as they did in training"
        " (by the checkpoint's own config)",
    )
