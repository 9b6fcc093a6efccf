"""Code found by what it does, however it is named and written."""

import pytest

from investigator.code.syntax import text
from investigator.code.values import FunctionValue
from investigator.engines.finding import bindings, calls, sole_caller
from tests.code.running import interpreter

TAPS = "def set_taps(model, ids):\n    model.take(ids)\n"


def function(source: str, name: str = "run", **files: str) -> FunctionValue:
    interp = interpreter(source, {f"{path}.py": content for path, content in files.items()})
    module = interp.program.module("m")
    assert module is not None
    found = interp.global_name(module, name)
    assert isinstance(found, FunctionValue)
    return found


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("from taps import set_taps", "set_taps(model, [1])"),
        ("from taps import set_taps as theirs", "theirs(model, [1])"),
        ("import taps", "taps.set_taps(model, [1])"),
        ("import taps as t", "t.set_taps(model, [1])"),
        ("from other import theirs", "theirs(model, [1])"),
        ("from taps import set_taps as theirs", "model.theirs([1])"),
    ],
)
def test_calls_by_any_name_that_the_file_gives(imported: str, called: str) -> None:
    found = [
        text(call) for call in calls(function(f"{imported}\ndef run(model):\n    {called}\n"), "set_taps")
    ]

    known = "set_taps" in called or (imported.endswith("as theirs") and called.startswith("theirs"))
    assert found == ([called] if known else [])


def test_who_calls_a_function_under_another_name() -> None:
    caller = (
        "from m import set_taps as theirs\n"
        "class Runner:\n    def load(self):\n        theirs(self.model, [1])\n"
    )
    interp = interpreter(TAPS, {"runner.py": caller})
    module = interp.program.module("m")
    assert module is not None
    tapping = interp.global_name(module, "set_taps")
    assert isinstance(tapping, FunctionValue)

    found = sole_caller(interp, tapping)

    assert found is not None
    assert (found[0].qualified_name, text(found[1])) == ("Runner.load", "theirs(self.model, [1])")


def test_statements_and_conditions_bind_names() -> None:
    body = "    head = one()\n    if (head := two()) is None or other:\n        kept: int\n"
    made = function(f"def run(other):\n{body}")

    assert [(text(name), text(value)) for name, value in bindings(made.node)] == [
        ("head", "one()"),
        ("head", "two()"),
    ]
