"""``target-layer-offset``: ids 1 and 3 mean ``hidden_states[2]`` and ``[4]``; what engines make of them."""

import pytest

from investigator.checkpoint import Checkpoint
from investigator.checkpoints import read_checkpoint
from investigator.contracts.contract import Sides, judge
from investigator.contracts.target_layer_offset import CONTRACT
from investigator.model import Answer, Known, NotKnown, Outcome, Refused, Role, Runner, Unsupported, Verdict
from tests.support import mini_vllm as mini
from tests.support.eagle import eagle3_head, gpt_oss
from tests.support.miniature_vllm import checkpoint

EAGLE = {"eagle_aux_hidden_state_layer_ids": [1, 3]}


@pytest.mark.parametrize(
    ("shapes", "verdict", "why"),
    [
        ({"shift": "inline"}, Verdict.HONOURED, "hidden_states[2, 4] are tapped"),
        ({"shift": "comprehension"}, Verdict.HONOURED, "hidden_states[2, 4] are tapped"),
        ({"shift": "helper"}, Verdict.HONOURED, "hidden_states[2, 4] are tapped"),
        ({"shift": "two-keys"}, Verdict.HONOURED, "hidden_states[2, 4] are tapped"),
        ({"shift": "none"}, Verdict.BROKEN, "every tap is one layer too early"),
        # The runner shifts by one, and the target by one more; or neither does, and it comes out right.
        ({"shift": "inline", "capture": "after"}, Verdict.BROKEN, "every tap is one layer too late"),
        ({"shift": "none", "capture": "after"}, Verdict.HONOURED, "hidden_states[2, 4] are tapped"),
        ({"shift": "helper", "capture": "helper"}, Verdict.HONOURED, "hidden_states[2, 4] are tapped"),
        ({"shift": "none", "capture": "helper"}, Verdict.BROKEN, "every tap is one layer too early"),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else None,
)
def test_from_the_key_to_the_captured_stream(shapes: dict[str, str], verdict: Verdict, why: str) -> None:
    found = mini.finding("target-layer-offset", Runner.V1, **shapes)

    assert (found.verdict, found.why) == (verdict, why)


def test_the_evidence_walks_from_the_key_to_the_capture() -> None:
    found = mini.finding("target-layer-offset", Runner.V1, shift="helper")

    assert [item.quote.strip() for item in mini.quotes(found, mini.RUNNER_FILE)] == [
        'return after_layers(config.dflash_config["target_layer_ids"])',
        "self.model.set_aux_hidden_state_layers(taps)",
    ]
    assert [item.quote.strip() for item in mini.quotes(found, mini.TARGET_FILE)] == [
        "self.model.aux_hidden_state_layers = layers",
        "captured.append(hidden + residual if residual is not None else hidden)",
    ]


def test_two_keys_with_two_conventions() -> None:
    """The raw key is taken as it is: 1 and 3 of it are the streams after one and three layers."""
    found = mini.finding("target-layer-offset", Runner.V1, checkpoint(**EAGLE), shift="two-keys")

    assert found.verdict is Verdict.BROKEN
    assert found.happens == "hidden_states[1, 3] are tapped"


def test_the_raw_key_counts_only_where_it_is_read() -> None:
    found = mini.finding("target-layer-offset", Runner.V1, checkpoint(**EAGLE), shift="inline")

    assert found.verdict is Verdict.HONOURED


def test_each_runner_has_its_own_helper() -> None:
    shapes = {"shift": "none", "second_shift": "comprehension"}

    assert mini.finding("target-layer-offset", Runner.V1, **shapes).verdict is Verdict.BROKEN
    assert mini.finding("target-layer-offset", Runner.V2, **shapes).verdict is Verdict.HONOURED


def test_the_order_of_the_config_is_kept_by_no_loop_over_layers() -> None:
    backwards = checkpoint(dflash_config={"mask_token_id": 9, "target_layer_ids": [3, 1]})

    found = mini.finding("target-layer-offset", Runner.V1, backwards)

    assert found.verdict is Verdict.BROKEN
    assert found.why.startswith("the features come in ascending layer order")


def test_a_layer_beyond_the_targets_end_is_never_captured() -> None:
    last = checkpoint(dflash_config={"mask_token_id": 9, "target_layer_ids": [1, 5]})

    assert mini.finding("target-layer-offset", Runner.V1, last).verdict is Verdict.HONOURED
    missed = mini.finding("target-layer-offset", Runner.V1, last, capture="never-the-last")
    assert (missed.verdict, missed.why) == (Verdict.BROKEN, "1 of 2 layers are never captured")


def test_a_target_without_the_interface_taps_nothing() -> None:
    found = mini.finding("target-layer-offset", Runner.V1, interface="none")

    assert (found.verdict, found.why) == (Verdict.BROKEN, "2 of 2 layers are never captured")


def test_what_only_the_machine_knows_stays_unknown() -> None:
    found = mini.finding("target-layer-offset", Runner.V1, shift="by-the-clock")

    assert found.verdict is Verdict.UNKNOWN
    assert "which layers are asked for" in found.why


def test_a_runner_that_does_not_take_the_method() -> None:
    found = mini.finding("target-layer-offset", Runner.V2, check="second-lacks-method")

    assert found.verdict is Verdict.UNSUPPORTED
    assert "speculative method 'dflash'" in found.why
    condition, listed = mini.quotes(found, mini.CONFIG_FILE)
    assert "method not in" in condition.quote
    assert "unsupported.append" in listed.quote


def test_a_checkpoint_without_ids_leaves_it_open() -> None:
    without = checkpoint(dflash_config={"mask_token_id": 9})

    assert mini.finding("target-layer-offset", Runner.V1, without).verdict is Verdict.UNKNOWN


# -- the comparison alone ---------------------------------------------------------------


def compared(
    reference: list[int], engine: Outcome | list[int], facts: Checkpoint | None = None
) -> tuple[Verdict, str]:
    def answer(role: Role, outcome: Outcome) -> Answer:
        return Answer(contract=CONTRACT.id, role=role, agent=role.value, source=role.value, outcome=outcome)

    outcome: Outcome = Known(engine) if isinstance(engine, list) else engine
    sides = Sides(
        checkpoint=None,
        references=(answer(Role.REFERENCE, Known(reference)),),
        engine=answer(Role.ENGINE, outcome),
        facts=facts or checkpoint(),
    )
    found = judge(CONTRACT, sides)
    return found.verdict, found.why


@pytest.mark.parametrize(
    ("engine", "verdict", "why"),
    [
        ([2, 4], Verdict.HONOURED, "hidden_states[2, 4] are tapped"),
        ([1, 3], Verdict.BROKEN, "every tap is one layer too early"),
        ([4, 6], Verdict.BROKEN, "every tap is 2 layers too late"),
        ([2], Verdict.BROKEN, "1 of 2 layers are never captured"),
        ([2, 5], Verdict.BROKEN, "other layers are tapped than the ids name"),
        ([], Verdict.BROKEN, "2 of 2 layers are never captured"),
        (Refused("ValueError: no"), Verdict.REFUSED, "the engine stops: ValueError: no"),
        (Unsupported("no such method"), Verdict.UNSUPPORTED, "no such method"),
        (NotKnown("a loop"), Verdict.UNKNOWN, "a loop"),
    ],
    ids=str,
)
def test_answers_side_by_side(engine: Outcome | list[int], verdict: Verdict, why: str) -> None:
    assert compared([2, 4], engine) == (verdict, why)


def test_duplicates_collapse() -> None:
    verdict, why = compared([2, 2, 4], [2, 4])

    assert verdict is Verdict.BROKEN
    assert "duplicates collapsed" in why


def test_what_the_checkpoint_says() -> None:
    assert CONTRACT.ask_checkpoint is not None

    assert CONTRACT.ask_checkpoint(checkpoint()) == (Known([1, 3]), ("dflash_config.target_layer_ids",))
    outcome, keys = CONTRACT.ask_checkpoint(checkpoint(dflash_config={"mask_token_id": 9}))
    assert (outcome, keys) == (NotKnown("the checkpoint names no target layer ids"), ())


@pytest.mark.parametrize(
    ("keeps", "why"),
    [
        # What the target makes of the numbers counts, not what it was handed.
        ("tuple(layers)[:-1]", "1 of 2 layers are never captured"),
        ("[n - 1 for n in layers]", "every tap is one layer too early"),
        ("set(layers)", "hidden_states[2, 4] are tapped"),
    ],
)
def test_what_the_targets_setter_makes_of_the_numbers(keeps: str, why: str) -> None:
    files = mini.texts()
    files[mini.TARGET_FILE] = files[mini.TARGET_FILE].replace(
        "aux_hidden_state_layers = layers", f"aux_hidden_state_layers = {keeps}"
    )

    assert mini.finding_on(mini.tree_of(files), "target-layer-offset", Runner.V1).why == why


def test_a_part_of_the_stream_is_no_hidden_state() -> None:
    """As SGLang taps Gemma 3 from 0.5.17 on: what a layer adds, without the stream that it is added to."""
    given = Sides(
        checkpoint=None,
        references=(_answer(Role.REFERENCE, Known([2, 4])),),
        engine=_answer(Role.ENGINE, Known([2, None])),
        facts=checkpoint(),
    )

    found = judge(CONTRACT, given)

    assert found.verdict is Verdict.BROKEN
    assert found.why.startswith("1 of 2 taps are no hidden states: what a layer adds to the stream")


def _answer(role: Role, outcome: Outcome) -> Answer:
    return Answer(contract=CONTRACT.id, role=role, agent=role.value, source=role.value, outcome=outcome)


def test_an_eagle_head_may_count_layers_as_well_as_boundaries() -> None:
    """Ids 2 and 12 as boundaries are states 2 and 12; an engine that taps 3 and 13 takes them for layers."""
    verdict, why = compared([2, 12], [3, 13], facts=read_checkpoint(eagle3_head(ids=[2, 12]), gpt_oss()))

    assert verdict is Verdict.PARTIAL
    assert why == (
        "hidden_states[3, 13] are tapped: right for a head that names decoder layers by its numbers, one "
        "layer late for one that counts the layers a stream has been through"
    )
