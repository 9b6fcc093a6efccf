"""The interpreter beside Python itself, on programs made at random.

Three promises. With every argument known it comes to what Python comes to, exceptions included.
With some arguments unknown its answer stands for what Python comes to, whatever they are. And
whatever text it is given, it ends within its budget and raises nothing of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from investigator.code.syntax import parse
from investigator.code.values import BudgetSpent, Raised
from tests.code.compare import agrees, equals
from tests.code.random_programs.asking import BUDGET, ask, interpreter, mixed
from tests.code.random_programs.by_python import LeftOpen, run_by_python
from tests.code.random_programs.choices import Seeded
from tests.code.random_programs.damage import damaged
from tests.code.random_programs.maker import PARAMETERS
from tests.code.random_programs.programs import (
    Arguments,
    inputs,
    programs,
    seeded,
    unknown_inputs,
)

NAMES = st.sets(st.sampled_from(sorted(PARAMETERS)), min_size=1, max_size=5).map(frozenset)
CAMPAIGN = 250
"""Programs of a campaign, one of eight."""


def briefly(examples: int) -> Callable[[Any], Any]:
    """A property that is tried on the same few examples in every run."""
    checks = list(HealthCheck)
    return settings(
        max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=checks
    )


def check_equal(text: str, arguments: Arguments) -> bool:
    """Whether there was an answer of Python's to compare with; it is compared."""
    file = parse("program.py", text.encode())
    if file.unreadable(file.root):
        return False
    try:
        real = run_by_python(text, arguments)
    except LeftOpen:
        return False
    answer = ask(text, arguments)
    assert isinstance(answer, BudgetSpent) or equals(answer, real), shown(text, arguments, real, answer)
    return not isinstance(answer, BudgetSpent)


def check_sound(text: str, arguments: Arguments, unknown: frozenset[str], others: list[Arguments]) -> None:
    """The answer without some of the arguments stands for Python's with any of them."""
    answer = ask(text, arguments, unknown)
    if isinstance(answer, BudgetSpent):
        return
    for other in others:
        whole = mixed(arguments, other, unknown)
        try:
            real = run_by_python(text, whole)
        except LeftOpen:
            continue
        # An answer is about runs that end: a path that raises is left out of it.
        if not isinstance(real, Exception):
            stands = not isinstance(answer, Raised) and agrees(answer, real)
            assert stands, shown(text, whole, real, answer, unknown)


def shown(text: str, arguments: Arguments, real: Any, answer: Any, unknown: object = ()) -> str:
    body = text[text.index("def run") :]
    return f"{body}\narguments={arguments}\nunknown={unknown}\nPython: {real!r}\ninterpreter: {answer!r}"


# -- in every run ----------------------------------------------------------------------


@briefly(60)
@given(programs(in_order=True), inputs())
def test_with_all_arguments_known_it_is_pythons_own_result(text: str, arguments: Arguments) -> None:
    check_equal(text, arguments)


@briefly(40)
@given(programs(in_order=False), inputs(), NAMES, st.lists(inputs(), min_size=4, max_size=6))
def test_with_some_unknown_it_stands_for_every_result(
    text: str, arguments: Arguments, unknown: frozenset[str], others: list[Arguments]
) -> None:
    check_sound(text, arguments, unknown, others)


@briefly(60)
@given(damaged(programs(in_order=False).map(str.encode)), inputs(), NAMES)
def test_damaged_text_ends_in_an_answer(text: bytes, arguments: Arguments, unknown: frozenset[str]) -> None:
    ask(text, arguments, unknown)


def test_programs_are_mostly_compared() -> None:
    """What the properties above pass over is rare, and both kinds of ending occur."""
    compared = raised = 0
    for seed in range(40):
        text, [arguments] = seeded(seed, runs=1, in_order=True)
        compared += check_equal(text, arguments)
        raised += isinstance(ask(text, arguments), Raised)
    assert compared >= 36
    assert 6 <= raised <= 25


def test_a_run_stays_within_its_budget() -> None:
    text = "def run(**given):\n    while True:\n        given['xs'] = [given, *given['xs']]\n"
    interp = interpreter(text)
    module = interp.program.module("made.program")
    assert module is not None

    with pytest.raises(BudgetSpent, match="more than 60,000 steps"):
        interp.enter(interp.global_name(module, "run"), (), {"xs": []})

    assert interp.steps <= BUDGET.steps + 1


# -- campaigns -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_a_campaign_of_equality(part: int) -> None:
    for seed in range(1_000_000 + part * CAMPAIGN, 1_000_000 + (part + 1) * CAMPAIGN):
        text, runs = seeded(seed, runs=3, in_order=True)
        for arguments in runs:
            check_equal(text, arguments)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_a_campaign_of_soundness(part: int) -> None:
    for seed in range(1_000_000 + part * CAMPAIGN, 1_000_000 + (part + 1) * CAMPAIGN):
        text, [arguments, *others] = seeded(seed, runs=8, in_order=False)
        check_sound(text, arguments, unknown_inputs(Seeded(f"unknown {seed}")), others)


@pytest.mark.slow
@settings(max_examples=3_000, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged(programs(in_order=False).map(str.encode)), inputs(), NAMES)
def test_a_campaign_of_damage(text: bytes, arguments: Arguments, unknown: frozenset[str]) -> None:
    ask(text, arguments, unknown)
