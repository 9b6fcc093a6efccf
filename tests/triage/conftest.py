"""Readings of text, and of the inputs that lie beside the tests."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from investigator.triage import Symptom, Triage, judge, load_figures, read_symptom

INPUTS = Path(__file__).parent / "inputs"


@pytest.fixture
def symptom_of() -> Callable[[str], Symptom]:
    """Reads text as if it had been piped in."""
    return lambda text: read_symptom(io.BytesIO(text.encode()))


@pytest.fixture
def judged() -> Callable[[str], Triage]:
    """Reads and judges one of the inputs."""

    def run(name: str) -> Triage:
        with (INPUTS / name).open("rb") as stream:
            return judge(read_symptom(stream), load_figures())

    return run


@pytest.fixture
def changed() -> Callable[[str, Mapping[str, str]], Triage]:
    """Reads and judges one of the inputs with other words in it."""

    def run(name: str, words: Mapping[str, str]) -> Triage:
        text = (INPUTS / name).read_text()
        for old, new in words.items():
            assert old in text
            text = text.replace(old, new)
        return judge(read_symptom(io.BytesIO(text.encode())), load_figures())

    return run
