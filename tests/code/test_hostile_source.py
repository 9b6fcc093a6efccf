"""Hostile source files: each comes to what is written beside it, soon, and in little memory."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.code.hostile import CIRCLES, DEEP, EVERYTHING, LARGE, LONG, STRANGE, Hostile, outcome

SECONDS = 10
"""Of the processor; the slowest takes two on an idle machine."""
MEGABYTES = 600


def named(cases: list[Hostile]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def check(case: Hostile) -> None:
    started = time.process_time()
    assert outcome(case) == case.outcome
    assert time.process_time() - started < SECONDS


@named(DEEP)
def test_what_nests_deeply(case: Hostile) -> None:
    check(case)


@named(CIRCLES)
def test_what_goes_round_in_circles(case: Hostile) -> None:
    check(case)


@named(LARGE)
def test_values_that_would_be_very_large(case: Hostile) -> None:
    check(case)


@named(STRANGE)
def test_bytes_that_are_hardly_python(case: Hostile) -> None:
    check(case)


@pytest.mark.slow
@named(LONG)
def test_work_without_end(case: Hostile) -> None:
    check(case)


MEASURE = """
import resource
from tests.code.hostile import EVERYTHING, outcome
for case in EVERYTHING:
    outcome(case)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_all_of_it_in_one_process_stays_small() -> None:
    root = Path(__file__).parents[2]
    told = subprocess.run(
        [sys.executable, "-c", MEASURE], cwd=root, check=True, capture_output=True, text=True
    )
    assert len(EVERYTHING) >= 75
    assert int(told.stdout) // 1024 < MEGABYTES
