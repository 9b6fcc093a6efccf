"""What a reference's training code says: which hidden states, which windows, which keys, whose K/V."""

import pytest

from investigator.checkpoint import Checkpoint
from investigator.code.program import Program
from investigator.contracts.registry import CONTRACTS
from investigator.engines.interface import Told
from investigator.model import Json, Known, NotKnown
from investigator.references.reading import QUESTIONS, ask
from tests.support.mini_reference import MODEL, PICKER, tree_of
from tests.support.miniature_vllm import all_full, checkpoint

NONE = NotKnown("no function that picks hidden states by layer id was found")


def told(contract: str, case: Checkpoint | None = None, **changed: str) -> Told:
    """The miniature reference's answer, or that of one with another ``features`` or ``model``."""
    found = ask(contract, Program(tree_of(**changed)), case or checkpoint())
    assert found is not None
    return found


def lines(answer: Told, **changed: str) -> list[str]:
    """What stands at each of an answer's places."""
    tree = tree_of(**changed)
    return [
        tree.read(step.place.path).decode().splitlines()[step.place.line - 1].strip() for step in answer.steps
    ]


@pytest.mark.parametrize(
    ("contract", "value"),
    [
        # Ids 1 and 3; the embedding output stands first among the hidden states.
        ("target-layer-offset", [2, 4]),
        ("target-capture", [2, 4]),
        ("layer-types", [8, 8, None]),
        ("in-block-causality", [True, True, False]),
        ("cache-drop", []),
        ("lookahead", 4),
    ],
)
def test_the_miniature(contract: str, value: Json) -> None:
    assert told(contract).outcome == Known(value)


def test_an_all_full_drafter() -> None:
    assert told("layer-types", all_full()).outcome == Known([None, None, None])
    assert told("in-block-causality", all_full()).outcome == Known([False, False, False])


def test_contracts_that_training_code_says_nothing_about() -> None:
    silent = [contract.id for contract in CONTRACTS if contract.id not in QUESTIONS]

    assert "mask-token" in silent
    assert [ask(contract, Program(tree_of()), checkpoint()) for contract in silent] == [None] * len(silent)


# -- which hidden states ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("features", "outcome"),
    [
        (PICKER.replace("embedding = 1", "embedding = 0"), Known([1, 3])),
        (
            "import torch\n\n\ndef taps(hidden_states, ids):\n"
            "    chosen = []\n    for number in ids:\n        chosen.append(hidden_states[1 + number])\n"
            "    return torch.cat(chosen, -1)\n",
            Known([2, 4]),
        ),
        # Any two parameters will do, as long as the first is indexed by the second.
        (
            "def taps(hidden_states, ids):\n    return [hidden_states[k] for k in reversed(ids)]\n",
            Known([3, 1]),
        ),
        (
            "from probe import at\n\n\ndef taps(hidden_states, ids):\n    return hidden_states[at(ids)]\n",
            NONE,
        ),
        (
            "def taps(hidden_states):\n    return hidden_states[1]\n",
            NONE,
        ),
        ("", NONE),
    ],
    ids=["no-shift", "loop", "backwards", "not-followed", "no-ids", "nothing"],
)
def test_which_states_are_picked(features: str, outcome: Known | NotKnown) -> None:
    assert told("target-layer-offset", features=features).outcome == outcome


def test_the_evidence_is_the_line_that_picks() -> None:
    assert lines(told("target-layer-offset")) == [
        "return torch.cat([hidden_states[number + embedding] for number in layer_ids], dim=-1)"
    ]


def test_without_ids_no_state_is_picked() -> None:
    without = checkpoint(dflash_config={"mask_token_id": 9})

    assert told("target-layer-offset", without).outcome == NotKnown(
        "the checkpoint names no target layer ids"
    )


# -- the draft model --------------------------------------------------------------------


def test_the_evidence_is_where_a_layer_gets_its_window() -> None:
    assert lines(told("layer-types")) == [
        'self.sliding_window = config.sliding_window if kind == "sliding_attention" else None'
    ]


@pytest.mark.parametrize("contract", ["layer-types", "cache-drop", "config-coverage", "lookahead"])
def test_without_a_draft_model_nothing_is_known(contract: str) -> None:
    found = told(contract, model="import torch\n").outcome

    assert isinstance(found, NotKnown)
    assert found.reason == "no draft model class DFlashDraftModel was found"


def test_a_model_that_raises_is_told_of() -> None:
    model = MODEL.replace(
        "self.is_causal = kind", 'raise ValueError("no such kind")\n        self.is_causal = kind'
    )

    found = told("layer-types", model=model)

    assert found.outcome == NotKnown("the reference raises ValueError: no such kind")
    assert lines(found, model=model) == ['raise ValueError("no such kind")']


def test_a_window_that_is_measured_is_unknown() -> None:
    model = MODEL.replace("config.sliding_window if", "measured(config) if").replace(
        "import torch\n", "import torch\nfrom probe import measured\n", 1
    )

    assert isinstance(told("layer-types", model=model).outcome, NotKnown)


# -- keys -------------------------------------------------------------------------------


def test_the_keys_that_are_read_and_that_this_checkpoint_sets() -> None:
    found = told("config-coverage")

    assert found.outcome == Known(
        [
            "block_size",
            "dflash_config",
            "head_dim",
            "hidden_size",
            "layer_types",
            "mask_token_id",
            "num_hidden_layers",
            "num_key_value_heads",
            "sliding_window",
        ]
    )
    assert 'self.mask_token_id = config.dflash_config.get("mask_token_id")' in lines(found)


def test_a_key_that_the_checkpoint_does_not_set_is_left_out() -> None:
    model = MODEL.replace("self.config = config", 'self.scale = getattr(config, "input_embedding_scale", 1)')

    def read(case: Checkpoint) -> bool:
        outcome = told("config-coverage", case, model=model).outcome
        assert isinstance(outcome, Known)
        assert isinstance(outcome.value, list)
        return "input_embedding_scale" in outcome.value

    assert read(checkpoint(input_embedding_scale=2.0))
    assert not read(checkpoint())


# -- where context K/V comes from -------------------------------------------------------


def test_the_evidence_is_the_projection_of_the_targets_states() -> None:
    assert lines(told("cache-drop")) == ["context = self.k_proj(target_hidden)"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("target_hidden", "context_states", "the reference's attention takes nothing from the target"),
        (
            "self.k_proj(target_hidden)",
            "self.k_proj(target_hidden + hidden)",
            "no projection of target_hidden to keys was found",
        ),
        ("def forward", "def attend", "the reference's attention has no forward"),
    ],
)
def test_context_of_another_making_is_no_answer(old: str, new: str, reason: str) -> None:
    assert told("cache-drop", model=MODEL.replace(old, new)).outcome == NotKnown(reason)
