"""Explanations: one for each contract, in the field's words."""

import re

import pytest

from investigator.contracts.registry import CONTRACTS
from investigator.errors import UsageError
from investigator.explain import BY_CONTRACT, BY_KEY, EXPLANATIONS, Explanation, KeyExplanation, explain
from investigator.explain.keys import KEYS
from investigator.explain.text import plain

WORDS = (
    "drafter",
    "draft",
    "target",
    "acceptance length",
    "acceptance",
    "hidden state",
    "target layer id",
    "sliding",
    "lookahead slots",
    "prefix cache",
    "prefix-cache",
    "KV-cache group",
    "model runner",
    "mask token",
)
NOT_OURS = (
    r"accept(?:ed|ance)? len\b|draft head|base model|large model|small "
    r"model|teacher|student|speculator model|\btau\b|hit ratio"
)


def every_text(explanation: Explanation) -> str:
    parts = (explanation.promise, explanation.matters, explanation.drawing)
    return "\n".join((*parts, *explanation.breaks, *explanation.see, *explanation.repair))


def test_every_contract_has_its_explanation_in_the_order_of_reports() -> None:
    assert tuple(each.contract for each in EXPLANATIONS) == tuple(contract.id for contract in CONTRACTS)


@pytest.mark.parametrize("explanation", EXPLANATIONS, ids=lambda each: each.contract)
class TestEach:
    def test_it_is_whole(self, explanation: Explanation) -> None:
        assert len(explanation.promise) > 40
        assert len(explanation.matters) > 150
        assert len(explanation.breaks) >= 2
        assert len(explanation.see) >= 2
        assert explanation.repair
        sentences = (explanation.promise, explanation.matters)
        assert all(text.endswith(".") for text in sentences)
        points = (*explanation.breaks, *explanation.see, *explanation.repair)
        assert not any(point.endswith((".", ",", ";", " ")) for point in points)

    def test_it_speaks_the_fields_words(self, explanation: Explanation) -> None:
        text = every_text(explanation)
        assert sum(word in text for word in WORDS) >= 3
        assert re.search(NOT_OURS, text, re.IGNORECASE) is None

    def test_its_drawing_fits_a_terminal(self, explanation: Explanation) -> None:
        lines = explanation.drawing.split("\n")
        assert 3 <= len(lines) <= 14
        assert max(map(len, lines)) <= 76
        assert explanation.drawing == explanation.drawing.strip("\n")

    def test_its_keys_are_explained_and_point_back(self, explanation: Explanation) -> None:
        for name in explanation.keys:
            key = explain(name)
            assert isinstance(key, KeyExplanation)
            assert explanation.contract in key.contracts

    def test_it_wraps(self, explanation: Explanation) -> None:
        prose = plain(explanation, 80).replace(explanation.drawing, "")
        drawn = {"    " + line for line in explanation.drawing.split("\n")}
        assert max(len(line) for line in prose.split("\n") if line not in drawn) <= 80


def test_every_key_names_readers_and_known_contracts() -> None:
    assert len(BY_KEY) == len(KEYS)
    for key in KEYS:
        assert key.readers, key.key
        assert set(key.contracts) <= set(BY_CONTRACT), key.key
        assert key.meaning.endswith("."), key.key


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("cache-drop", "cache-drop"),
        ("Cache-Drop", "cache-drop"),
        ("kv_retention", "kv-retention"),
        ("layer-types", "layer-types"),
    ],
)
def test_a_contract_is_found(name: str, found: str) -> None:
    explanation = explain(name)
    assert isinstance(explanation, Explanation)
    assert explanation.contract == found


@pytest.mark.parametrize(
    "name", ["layer_types", "dflash_config.mask_token_id", "config.dflash_config.causal"]
)
def test_a_key_is_found_by_its_last_part(name: str) -> None:
    explanation = explain(name)
    assert isinstance(explanation, KeyExplanation)
    assert explanation.key == name.rsplit(".", 1)[-1]


@pytest.mark.parametrize(("name", "near"), [("cahce-drop", "cache-drop"), ("layer_type", "layer_types")])
def test_a_slip_is_answered_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=name) as caught:
        explain(name)
    assert near in caught.value.advice


def test_nonsense_is_answered_with_where_to_look() -> None:
    with pytest.raises(UsageError) as caught:
        explain("???")
    assert "investigate explain" in caught.value.advice
