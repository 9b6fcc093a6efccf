"""Commands timed as the operating system counts them: wall, processor and peak memory of the whole tree."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = sys.executable
TIMER = Path(__file__).with_name("timer.py")
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Byte code may be kept, as it is where a package is installed."""


def say(text: str) -> None:
    """Progress goes to standard error."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Sample:
    """One run. ``cpu``: user and system seconds of the process and its children; ``peak``: bytes of the
    largest process; ``output``: its standard output; ``code``: its exit code."""

    wall: float
    cpu: float
    peak: int
    code: int
    output: str = ""


def run(command: Sequence[str], env: Mapping[str, str] | None = None, check: Sequence[int] = (0,)) -> Sample:
    """Run a command once. Raises RuntimeError for an exit code that is not among ``check``."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "cost.json"
        done = subprocess.run(
            [PYTHON, "-I", str(TIMER), str(result), *command],
            cwd=ROOT,
            env={**os.environ, **COMPILED, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        if not result.exists():
            raise RuntimeError(f"{command[0]} cannot be started: {done.stderr[-400:]}")
        cost = json.loads(result.read_text(encoding="utf-8"))
    if cost["code"] not in check:
        raise RuntimeError(f"{' '.join(command[:6])} ... exits with {cost['code']}: {done.stderr[-400:]}")
    return Sample(**cost, output=done.stdout)


@dataclass(frozen=True)
class Ratio:
    """One thing beside another, measured in turns: medians, and the median of the rounds' ratios."""

    wall: float
    cpu: float
    peak: int
    wall_ratio: float
    cpu_ratio: float
    rounds: int


def beside(thing: Callable[[], Sample], other: Callable[[], Sample], rounds: int) -> tuple[Ratio, Ratio]:
    """``thing`` and ``other`` in turns, so that both see the same load; the second's ratios are 1."""
    pairs = [(thing(), other()) for _ in range(rounds)]
    mine, its = [a for a, _ in pairs], [b for _, b in pairs]
    return (
        _ratio(
            mine,
            [a.wall / b.wall for a, b in pairs],
            [a.cpu / b.cpu for a, b in pairs],
        ),
        _ratio(its, [1.0], [1.0]),
    )


def _ratio(samples: Sequence[Sample], walls: Sequence[float], cpus: Sequence[float]) -> Ratio:
    return Ratio(
        wall=statistics.median(s.wall for s in samples),
        cpu=statistics.median(s.cpu for s in samples),
        peak=max(s.peak for s in samples),
        wall_ratio=statistics.median(walls),
        cpu_ratio=statistics.median(cpus),
        rounds=len(samples),
    )
