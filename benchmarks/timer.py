"""Runs one command and writes what it cost; started by :mod:`benchmarks.measure`.

    python timer.py RESULT COMMAND...

A process's peak memory counts what its parent held when it was started, so a small process has to
start what is measured. Needs nothing but the standard library.
"""

import json
import os
import subprocess
import sys
import time


def main(result: str, *command: str) -> None:
    """Run, wait, write JSON to ``result``. The command's output goes where ours goes."""
    began = time.monotonic()
    process = subprocess.Popen(list(command))
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    cost = {
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "code": process.returncode,
    }
    with open(result, "w", encoding="utf-8") as file:
        json.dump(cost, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
