"""A recorded reference answers from its facts, and points at its own lines."""

from dataclasses import replace
from importlib.resources import files

import pytest

from investigator.errors import IntegrityError
from investigator.model import Json, Known, NotKnown
from investigator.references.recorded import FILE, read_recorded, recorded_answer
from tests.support.miniature_vllm import checkpoint

RECORD = files("investigator.fixtures") / "references" / "liranringel__ddtree.json"


@pytest.mark.parametrize(
    ("contract", "value", "line"),
    [
        ("target-layer-offset", [2, 4], '"layer_id_offset"'),
        ("layer-types", [8, 8, None], '"window_per_layer"'),
        ("kv-retention", [7, 7, None], '"window_per_layer"'),
        ("in-block-causality", [False, False, False], '"causal"'),
        ("cache-drop", [], '"context_from_target"'),
        ("lookahead", 4, '"whole_block"'),
        ("head-sharing", "target", '"target_head"'),
        ("rope", {"layout": "halves", "theta": 10000}, '"rotation"'),
    ],
)
def test_each_fact_answers_its_contract(contract: str, value: Json, line: str) -> None:
    reference = read_recorded(RECORD.read_bytes(), "ddtree.json")

    told = recorded_answer(reference, contract, checkpoint())

    assert told is not None
    assert told.outcome == Known(value)
    (step,) = told.steps
    assert line in reference.tree.read(FILE).decode().splitlines()[step.place.line - 1]


def test_what_the_checkpoint_leaves_open_stays_open() -> None:
    reference = read_recorded(RECORD.read_bytes(), "ddtree.json")

    told = recorded_answer(reference, "lookahead", checkpoint(block_size=None))

    assert told is not None
    assert told.outcome == NotKnown("the checkpoint names no block size")
    assert recorded_answer(reference, "mask-token", checkpoint()) is None


def test_a_record_that_is_no_record_says_so() -> None:
    with pytest.raises(IntegrityError, match="is not readable"):
        read_recorded(b'{"facts": 3}', "broken.json")


def test_ids_and_windows_that_the_checkpoint_leaves_open_stay_open() -> None:
    reference = read_recorded(RECORD.read_bytes(), "ddtree.json")
    unsaid = replace(checkpoint(), target_layer_ids=None, windows=None)
    told = {
        contract: recorded_answer(reference, contract, unsaid)
        for contract in ("target-layer-offset", "layer-types")
    }

    assert {contract: answer and answer.outcome for contract, answer in told.items()} == {
        "target-layer-offset": NotKnown("the checkpoint names no target layer ids"),
        "layer-types": NotKnown("the checkpoint does not say how its layers attend"),
    }
