"""The examples of docs/api.md run, one after another."""

import re
from pathlib import Path

import pytest

import investigator
from investigator.errors import IncompleteError
from tests.support.agents import CASE
from tests.support.assembly import assembly, install

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_examples_run_and_say_what_they_say(monkeypatch, capsys):
    install(monkeypatch, assembly())
    known: dict[str, object] = {}

    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(example, str(PAGE), "exec"), known)

    *first, triage = capsys.readouterr().out.splitlines()
    assert first == [
        "target-layer-offset v1 broken the reference maps 1 to 2, the engine maps 1 to 1",
        "cannot read engine 'vllm 0.20.1' - write NAME==VERSION, NAME, path:DIR, git:URL@REF, installed, or "
        "python:/path/to/python",
        "started finished",
    ]
    assert triage.startswith("the engine, or how it was configured AL 1.18 is so far below")
    assert triage.endswith(" z-lab/Qwen3.6-27B-DFlash")
    assert "## Is it the drafter or the engine?" in str(known["text"])
    assert known["document"]["schema"] == 1


def test_an_interrupt_is_an_error(monkeypatch):
    def repair(*_):
        raise KeyboardInterrupt

    install(monkeypatch, assembly(repair=repair))

    with pytest.raises(IncompleteError, match="interrupted"):
        investigator.investigate(CASE)


def test_nothing_else_is_made_up():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = investigator.nonsense
