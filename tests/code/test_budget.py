"""Code that never ends, or nests for ever: the question ends, and what it did not learn is unknown."""

import pytest

from investigator.code.interpreter import Interpreter
from investigator.code.program import Program
from investigator.code.values import BudgetSpent, FunctionValue, Value, find_unknown
from tests.code.running import UNKNOWN, call, interpreter
from tests.support.builders import TextTree, source


def returned(code: str) -> Value:
    """What a call of ``f`` in this module gives."""
    interp = Interpreter(Program(TextTree(source("code"), {"code.py": code})))
    module = interp.program.module("code")
    assert module is not None
    function = interp.global_name(module, "f")
    assert isinstance(function, FunctionValue)
    return interp.enter(function, (), {})


def test_a_function_that_calls_itself_for_ever_gives_an_unknown() -> None:
    missing = find_unknown(returned("def f(n=0):\n    return f(n + 1)\n"))

    assert missing is not None
    assert missing.reason == "calls nest deeper than 24"


def test_a_loop_that_goes_on_is_left_after_ten_thousand_rounds() -> None:
    missing = find_unknown(
        returned("def f():\n    n = 0\n    while n >= 0:\n        n = n + 1\n    return n\n")
    )

    assert missing is not None
    assert missing.reason == "more than 10,000 rounds"


def test_loops_in_loops_end_with_the_steps_of_the_question() -> None:
    inner = "        for j in range(9000):\n            n = n + j\n"

    with pytest.raises(BudgetSpent, match="more than 100,000 steps"):
        returned(f"def f():\n    n = 0\n    for i in range(9000):\n{inner}    return n\n")


def test_a_loop_over_a_list_that_it_makes_longer_ends_soon_although_much_hides_in_it() -> None:
    text = """
        def run(flag):
            found = []
            rows = [0]
            for row in rows:
                if flag:
                    break
                found.append([flag])
                rows.append([row])
            return found
        """
    interp = interpreter(text)

    with pytest.raises(BudgetSpent):
        call(interp, "run", UNKNOWN)

    assert interp.steps < 30_000  # the rest was work on what the joined lists hide
