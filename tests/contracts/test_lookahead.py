"""``lookahead``: the block that a draft writes against the slots that are reserved for it."""

from dataclasses import replace

import pytest

from investigator.contracts.contract import Sides, judge
from investigator.contracts.lookahead import CONTRACT
from investigator.model import Answer, Known, NotKnown, Outcome, Role, Verdict
from tests.support.miniature_vllm import checkpoint


def sides(engine: Outcome, trained: Outcome | None = None, block: int | None = 16) -> Sides:
    case = checkpoint(block_size=block)
    assert CONTRACT.ask_checkpoint is not None
    outcome, _ = CONTRACT.ask_checkpoint(case)
    return Sides(
        checkpoint=answer(Role.CHECKPOINT, outcome),
        references=(answer(Role.REFERENCE, trained),) if trained else (),
        engine=answer(Role.ENGINE, engine),
        facts=case,
    )


def answer(role: Role, outcome: Outcome) -> Answer:
    return Answer(contract="lookahead", role=role, agent=role.value, source=role.value, outcome=outcome)


def slots(running: int, first: int) -> Known:
    return Known({"running": running, "first": first})


@pytest.mark.parametrize(
    ("engine", "verdict", "why"),
    [
        # num_speculative_tokens = 15, block of 16.
        (slots(16, 16), Verdict.HONOURED, "16 slots are reserved for a running request, 16 when"),
        (slots(17, 20), Verdict.HONOURED, "17 slots"),
        (slots(15, 16), Verdict.BROKEN, "of 16 slots that a draft writes, 1 too few for a running request"),
        (slots(16, 0), Verdict.BROKEN, "16 too few when a request is first scheduled"),
        (slots(15, 0), Verdict.BROKEN, "1 too few for a running request and 16 too few when"),
        (NotKnown("a loop"), Verdict.UNKNOWN, "a loop"),
    ],
)
def test_slots_against_the_block(engine: Outcome, verdict: Verdict, why: str) -> None:
    found = judge(CONTRACT, sides(engine))

    assert found.verdict is verdict
    assert why in found.why


def test_a_reference_that_drafts_other_blocks_leaves_it_open() -> None:
    assert judge(CONTRACT, sides(slots(16, 16), Known(16))).verdict is Verdict.HONOURED

    found = judge(CONTRACT, sides(slots(16, 16), Known(8)))

    assert found.verdict is Verdict.UNKNOWN
    assert found.why == "the reference drafts blocks of 8 tokens, the checkpoint names 16"


def test_without_a_block_size_it_is_unknown() -> None:
    assert judge(CONTRACT, sides(slots(16, 16), block=None)).verdict is Verdict.UNKNOWN


def test_a_method_that_drafts_no_block_does_not_need_it() -> None:
    other = replace(sides(slots(1, 0)), facts=replace(checkpoint(), method="eagle3"))
    found = judge(CONTRACT, other)

    assert found.verdict is Verdict.NOT_APPLICABLE
    assert found.why == "eagle3 does not draft a block whose first query is the last accepted token"
