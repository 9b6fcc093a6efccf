"""Answers of agents side by side become findings; one agent alone is no finding."""

import pytest

from investigator.checkpoint import Checkpoint
from investigator.contracts.registry import CONTRACTS
from investigator.model import (
    Answer,
    Evidence,
    Finding,
    Known,
    NotKnown,
    Outcome,
    Refused,
    Role,
    Runner,
    Unsupported,
    Verdict,
)
from investigator.synthesizer import synthesize
from tests.support.builders import evidence
from tests.support.miniature_vllm import all_full, checkpoint

OFFSET, DROP, MASK, WINDOWS = "target-layer-offset", "cache-drop", "mask-token", "layer-types"


def answer(
    role: Role,
    outcome: Outcome,
    contract: str = OFFSET,
    runner: Runner | None = None,
    source: str = "",
    live: bool | None = None,
    shown: tuple[Evidence, ...] = (),
) -> Answer:
    agent = {Role.ENGINE: "vllm", Role.CHECKPOINT: "hub", Role.REFERENCE: "reference"}[role]
    return Answer(
        contract=contract,
        role=role,
        agent=agent,
        source=source or agent,
        outcome=outcome,
        runner=runner,
        live=live,
        evidence=shown,
    )


def engine(outcome: Outcome, contract: str = OFFSET, runner: Runner | None = Runner.V1) -> Answer:
    return answer(Role.ENGINE, outcome, contract, runner)


def reference(outcome: Outcome, contract: str = OFFSET, source: str = "dflash") -> Answer:
    return answer(Role.REFERENCE, outcome, contract, source=source)


def hub(outcome: Outcome, contract: str = OFFSET) -> Answer:
    return answer(Role.CHECKPOINT, outcome, contract)


def found(
    *answers: Answer,
    contract: str = OFFSET,
    runner: Runner | None = Runner.V1,
    case: Checkpoint | None = None,
) -> Finding:
    findings = synthesize(answers, case or checkpoint())
    return next(f for f in findings if f.contract == contract and f.runner is runner)


def test_two_answers_that_agree_and_two_that_do_not() -> None:
    trained = reference(Known([2, 4]))

    honoured = found(engine(Known([2, 4])), trained)
    broken = found(engine(Known([1, 3])), trained)

    assert (honoured.verdict, honoured.consequence) == (Verdict.HONOURED, "")
    assert (broken.verdict, broken.why) == (Verdict.BROKEN, "every tap is one layer too early")
    assert broken.promised == "ids [1, 3] tap hidden_states[2, 4]"
    assert broken.happens == "hidden_states[1, 3] are tapped"
    assert broken.consequence.startswith("the drafter reads features that it was not trained on")
    assert broken.agents == ("vllm", "reference")


def test_every_contract_has_its_finding_even_where_nobody_answered() -> None:
    findings = synthesize([], checkpoint())

    assert [f.contract for f in findings] == [contract.id for contract in CONTRACTS]
    assert {f.verdict for f in findings} <= {Verdict.UNKNOWN}
    assert {f.agents for f in findings} == {()}


def test_each_runner_has_its_own_finding() -> None:
    answers = [engine(Known([1, 3])), engine(Known([2, 4]), runner=Runner.V2), reference(Known([2, 4]))]

    verdicts = {f.runner: f.verdict for f in synthesize(answers, checkpoint()) if f.contract == OFFSET}

    assert verdicts == {Runner.V1: Verdict.BROKEN, Runner.V2: Verdict.HONOURED}


@pytest.mark.parametrize(
    "alone",
    [
        # An engine without a reference: nothing to compare with.
        [engine(Known([2, 4]))],
        # A reference without an engine.
        [reference(Known([2, 4])), hub(Known([1, 3]))],
        # An engine that refuses, and nobody who says what was promised.
        [engine(Refused("ValueError: mixed"))],
    ],
)
def test_one_agent_alone_is_no_finding(alone: list[Answer]) -> None:
    for finding in synthesize(alone, checkpoint()):
        assert finding.verdict is Verdict.UNKNOWN, finding


def test_a_promise_about_the_checkpoints_own_keys_needs_no_reference() -> None:
    pair = [engine(Known(9), MASK), hub(Known(9), MASK)]

    assert found(*pair, contract=MASK).verdict is Verdict.HONOURED
    assert found(*pair, contract=MASK).agents == ("vllm", "hub")
    assert found(pair[0], contract=MASK).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("outcome", "verdict", "why"),
    [
        (Refused("ValueError: mixed"), Verdict.REFUSED, "the engine stops: ValueError: mixed"),
        (Unsupported("no such method"), Verdict.UNSUPPORTED, "no such method"),
        (NotKnown("a loop"), Verdict.UNKNOWN, "a loop"),
    ],
)
def test_an_engine_without_a_value(outcome: Outcome, verdict: Verdict, why: str) -> None:
    finding = found(engine(outcome), reference(Known([2, 4])), hub(Known([1, 3])))

    assert (finding.verdict, finding.why) == (verdict, why)


def test_why_a_reference_did_not_know_is_told() -> None:
    finding = found(
        engine(Known([2, 4])), reference(NotKnown("no function that picks states")), hub(Known([1]))
    )

    assert (finding.verdict, finding.why) == (Verdict.UNKNOWN, "no function that picks states")


def test_the_first_reference_that_knows_is_the_one_that_counts() -> None:
    authors, other = reference(NotKnown("not there")), reference(Known([2, 4]), source="ddtree")

    assert found(engine(Known([2, 4])), authors, other).verdict is Verdict.HONOURED
    assert found(engine(Known([2, 4])), reference(Known([1, 3])), other).verdict is Verdict.BROKEN


def test_what_a_checkpoint_does_not_need() -> None:
    """It is seen from the checkpoint's facts; the engine was asked all the same."""
    answers = [engine(Known([None, None, None]), WINDOWS), hub(Known([None, None, None]), WINDOWS)]

    finding = found(*answers, contract=WINDOWS, case=all_full())

    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert finding.agents == ("vllm", "hub")


def test_an_engine_that_stops_over_windows_is_refused_though_a_checkpoint_has_none() -> None:
    stops, lacks = Refused("ValueError: layer_types"), Unsupported("no such method")

    windows, without = (
        found(engine(says, WINDOWS), hub(Known([None]), WINDOWS), contract=WINDOWS, case=all_full())
        for says in (stops, lacks)
    )

    assert (windows.verdict, windows.why) == (Verdict.REFUSED, "the engine stops: ValueError: layer_types")
    assert without.verdict is Verdict.NOT_APPLICABLE


def test_what_a_checkpoint_does_not_need_may_rest_on_facts_that_are_no_answer() -> None:
    case = checkpoint(dflash_config={"mask_token_id": 9})
    answers = [engine(NotKnown("no ids"), "target-capture"), hub(NotKnown("no ids"), "target-capture")]

    finding = found(*answers, contract="target-capture", case=case)

    assert finding.verdict is Verdict.NOT_APPLICABLE


def test_without_a_checkpoint_nothing_is_decided() -> None:
    findings = synthesize([engine(Known([2, 4])), reference(Known([2, 4]))], None)

    [offset] = [f for f in findings if f.contract == OFFSET]
    assert (offset.verdict, offset.why) == (
        Verdict.UNKNOWN,
        "the checkpoint could not be read, so there is nothing to compare with",
    )


def test_the_engines_lines_come_first() -> None:
    lines = {name: evidence(source=name) for name in ("vllm", "hub", "reference")}
    answers = [
        answer(Role.REFERENCE, Known([2, 4]), shown=(lines["reference"],)),
        answer(Role.CHECKPOINT, Known([1, 3]), shown=(lines["hub"],)),
        answer(Role.ENGINE, Known([1, 3]), runner=Runner.V1, shown=(lines["vllm"],)),
    ]

    assert [e.source for e in found(*answers).evidence] == ["vllm", "hub", "reference"]


def test_lines_of_an_answer_that_knew_nothing_are_left_out() -> None:
    answers = [
        engine(Known([2, 4])),
        answer(Role.REFERENCE, NotKnown("not there"), shown=(evidence(source="dflash"),)),
        reference(Known([2, 4]), source="ddtree"),
    ]

    assert found(*answers).evidence == ()


@pytest.mark.parametrize("live", [True, False, None])
def test_whether_the_defaults_run_into_it_is_the_engines_to_say(live: bool | None) -> None:
    drops = answer(Role.ENGINE, Known(["target attention"]), DROP, live=live)

    finding = found(drops, reference(Known([]), DROP), contract=DROP, runner=None)

    assert (finding.verdict, finding.live) == (Verdict.BROKEN, live)
