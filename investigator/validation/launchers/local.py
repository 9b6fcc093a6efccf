"""On this machine: the conductor as a child process, ended with this one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from investigator.errors import IncompleteError
from investigator.validation.launchers.interface import Say

GRACE = 10.0
"""Seconds that a conductor has to end its workers when this process is interrupted; then it is killed."""


@dataclass(frozen=True, kw_only=True)
class LocalLauncher:
    """``python`` is the interpreter that imports the engine (or torch, for the reference)."""

    python: str = sys.executable
    parallel: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, folder: Path, names: Sequence[str], say: Say) -> None:
        """Run ``run.py`` in the folder and pass its progress on."""
        command = [self.python, str(folder / "run.py"), "--only", *names]
        if self.parallel:
            command += ["--parallel", str(self.parallel)]
        try:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                env={**os.environ, **self.environment},
            )
        except OSError as error:
            raise IncompleteError(
                f"cannot start {self.python}: {error.strerror}", "name the engine's interpreter with --python"
            ) from error
        last = follow(process, say)
        if process.returncode not in (0, 1):
            raise IncompleteError(
                f"the experiment ended with code {process.returncode}: {last}", "see results/"
            )


def follow(process: "subprocess.Popen[str]", say: Say) -> str:
    """Pass a conductor's lines on until it ends, and end it with this process. The last line."""
    last = ""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            last = line.strip() or last
            say(readable(line))
        process.wait()
    except BaseException:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return last


def readable(line: str) -> str:
    """A conductor's JSON line as a person reads it; anything else as it is."""
    try:
        event = json.loads(line)
        name = str(event["event"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return line.rstrip()
    match name:
        case "conducting":
            count, whole, width = (event.get(key) for key in ("left", "variants", "parallel"))
            return f"{count} of {whole} variants to run, {width} at once"
        case "finished" if event.get("status") != "done":
            return f"{event.get('variant')}: {event.get('status')}: {event.get('error')}"
        case "finished":
            return f"{event.get('variant')}: done in {event.get('seconds')} s"
        case "retried":
            return f"{event.get('variant')}: again without {', '.join(event.get('without') or ())}"
    return f"{event.get('variant')}: {name}"
