"""Code that never ends, or nests for ever: the question ends, and what it did not learn is unknown."""

import pytest

from investigator.code import effects
from investigator.code.heap import lost
from investigator.code.interpreter import ELEMENTS_PER_STEP, Budget, Interpreter
from investigator.code.program import Program
from investigator.code.values import BudgetSpent, FunctionValue, OneOf, Unknown, Value, find_unknown
from tests.code.running import UNKNOWN, call, interpreter, run
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


MANY = """
class Thing:
    def __init__(self):
        self.a, self.b, self.c = 1, 2, 3

def run(which):
    things = [Thing() for _ in range(200)]
    for _ in range(ROUNDS):
        things[which].go()
    return things[0].a
"""


def test_what_an_unknown_may_be_is_counted_with_each_change_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call of something that may be any of 200 objects may have changed each attribute of each."""
    looked_at = 0

    def counted(because: Unknown, *values: Value) -> Unknown:
        nonlocal looked_at
        looked_at += 1 + len(because.hides)
        return lost(because, *values)

    monkeypatch.setattr(effects, "lost", counted)

    once = run(MANY.replace("ROUNDS", "1"), UNKNOWN)
    one_round = looked_at
    with pytest.raises(BudgetSpent, match="more than 10,000 steps"):
        run(MANY.replace("ROUNDS", "5_000"), UNKNOWN, budget=Budget(steps=10_000))

    assert isinstance(once, OneOf)
    assert once.options[0] == 1
    assert one_round > 100_000
    assert looked_at < one_round + 10_000 * ELEMENTS_PER_STEP


def test_a_lambda_made_in_each_round_is_one_that_an_unknown_may_be() -> None:
    """It changes what it closes over, and that is the same in every round: the loop settles."""
    code = """
    def run(items, flag):
        total = 0
        def note(value):
            nonlocal total
            total = value
        for item in items:
            chosen = {True: lambda: note(1), False: lambda: note(2)}[flag]
            chosen()
        return "left"
    """

    assert run(code, UNKNOWN, UNKNOWN) == "left"
