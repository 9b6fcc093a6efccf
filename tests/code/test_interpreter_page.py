"""docs/interpreter.md: its examples come to what it says, its limits are those of the code."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from investigator.code.values import OneOf, Raised, Unknown, is_spread
from tests.code.running import UNKNOWN, run

PAGE = (Path(__file__).parents[2] / "docs" / "interpreter.md").read_text()
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CALL = re.compile(r"^run\((?P<arguments>.*)\) +# (?P<outcome>.+)$", re.MULTILINE)
LIMIT = re.compile(r"^\| [^|]+ \| (?P<most>[\d,]+) \| `(?P<place>[\w.]+)` \|$", re.MULTILINE)


def told(value: Any) -> str:
    """A value as the page writes it."""
    if is_spread(value):
        return "..."
    if isinstance(value, Unknown):
        return f"unknown: {value.reason}"
    if isinstance(value, OneOf):
        return " | ".join(map(told, value.options))
    if isinstance(value, list):
        return f"[{', '.join(map(told, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(told, value))})"
    return repr(value)


def examples() -> list[tuple[str, str, str]]:
    found = []
    for block in BLOCK.findall(PAGE):
        text = CALL.sub("", block)
        found += [(text, call["arguments"], call["outcome"]) for call in CALL.finditer(block)]
    return found


@pytest.mark.parametrize(("text", "arguments", "outcome"), examples(), ids=lambda part: part[-40:].strip())
def test_examples(text: str, arguments: str, outcome: str) -> None:
    given = eval(f"({arguments},)", {"UNKNOWN": UNKNOWN})
    try:
        said = told(run(text, *given))
    except Raised as error:
        said = f"raises {error.error.name}"
    assert said == outcome


def test_every_block_is_an_example() -> None:
    assert all(CALL.search(block) for block in BLOCK.findall(PAGE))
    assert len(examples()) >= 13


def test_limits() -> None:
    rows = list(LIMIT.finditer(PAGE))
    assert len(rows) == 19
    for row in rows:
        module, _, name = row["place"].rpartition(".")
        if module.endswith("Budget"):
            owner: Any = importlib.import_module("investigator.code.interpreter").Budget
        else:
            owner = importlib.import_module(f"investigator.{module}")
        assert int(row["most"].replace(",", "")) == getattr(owner, name), row["place"]
