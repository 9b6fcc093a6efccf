"""Text that the grammar reads otherwise than Python does, without an error, is known to be unreadable.

Every second line here begins a statement of its own in Python.
"""

import pytest

from investigator.code.interpreter import Interpreter
from investigator.code.program import Program
from investigator.code.syntax import parse
from investigator.code.values import FunctionValue, Unknown
from tests.code.trees import MemoryTree

SWALLOWED = [
    "a, n = n, t(1)\n(c).e += 1",
    "a = n, t(1)\n(c).e = 1",
    "a = b = n, t(1)\n[c][0] += 1",
    "a: int = n, t(1)\n[c, d] = 1, 2",
    "a += n, t(1)\n(c).e",
    "n, t.u\n(c)[0] += 1",
    "a = n, t(1)  # and then,\n\n# this\n(c).e = 1",
]
READ_AS_PYTHON_DOES = [
    "a = t(1)\n(c).e += 1",
    "a = n, t\n(c).e = 1",
    "a = n, t(1)\n(c)(1)",
    "a = n, t(1)\nc.e = 1",
    "a = n, t(\n    1\n)\nc.e = 1",
    "a = [\n    n\n    (1),\n    (2),\n]",
    "a = '''\nn, t(1)\n(c).e = 1\n'''",
    "a = n, t \\\n(c)",
    "if n:\n    a = n, t(1)\nelse:\n    (c).e = 1",
]


@pytest.mark.parametrize("text", SWALLOWED)
def test_a_statement_taken_for_more_of_the_one_before_makes_its_text_unreadable(text: str) -> None:
    file = parse("m.py", text.encode())

    assert not file.root.has_error
    assert file.unreadable(file.root)


@pytest.mark.parametrize("text", READ_AS_PYTHON_DOES)
def test_what_is_read_as_python_reads_it_is_not(text: str) -> None:
    file = parse("m.py", text.encode())

    assert not file.unreadable(file.root)


def test_only_the_function_that_holds_it_is_not_followed() -> None:
    text = "def bad(c, n, t):\n    a = n, t(1)\n    (c).e += 1\n    return 1\n\n\ndef good():\n    return 2\n"
    interp = Interpreter(Program(MemoryTree({"m.py": text.encode()})))
    module = interp.program.module("m")
    assert module is not None

    def call(name: str, *args: object) -> object:
        function = interp.global_name(module, name)
        assert isinstance(function, FunctionValue)
        return interp.enter(function, args, {})

    answer = call("bad", 1, 2, 3)
    assert isinstance(answer, Unknown)
    assert answer.reason == "bad holds text that could not be parsed"
    assert call("good") == 2
