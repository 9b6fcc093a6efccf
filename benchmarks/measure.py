"""Commands timed as the operating system counts them: wall, processor and peak memory of the whole tree."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = sys.executable
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Byte code may be kept, as it is where a package is installed."""


@dataclass(frozen=True)
class Sample:
    """One run. ``cpu``: user and system seconds of the process and its children; ``peak``: bytes of the
    largest process; ``output``: its standard output; ``code``: its exit code."""

    wall: float
    cpu: float
    peak: int
    output: str
    code: int


def run(command: Sequence[str], env: Mapping[str, str] | None = None, check: Sequence[int] = (0,)) -> Sample:
    """Run a command once. Raises RuntimeError for an exit code that is not among ``check``."""
    began = time.monotonic()
    process = subprocess.Popen(
        list(command),
        cwd=ROOT,
        env={**os.environ, **COMPILED, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    output, errors = _drained(process)
    _, status, usage = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code not in check:
        raise RuntimeError(f"{' '.join(command[:6])} ... exits with {code}: {errors[-400:]}")
    scale = 1 if sys.platform == "darwin" else 1024
    return Sample(
        time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale, output, code
    )


def _drained(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """Everything that the process writes, without waiting for it: ``wait4`` has to."""
    import threading

    assert process.stdout is not None
    assert process.stderr is not None
    said: list[str] = []
    stderr = process.stderr
    aside = threading.Thread(target=lambda: said.append(stderr.read()))
    aside.start()
    output = process.stdout.read()
    aside.join()
    return output, "".join(said)


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
