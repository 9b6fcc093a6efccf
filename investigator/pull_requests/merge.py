"""Merge a change into a text that has moved on, from the text both came from.

``git merge-file`` does the merging, on three files in an empty folder away from every
repository; it reads no configuration but git's own defaults.
"""

import os
import subprocess
from dataclasses import dataclass

from investigator.errors import IncompleteError
from investigator.scratch import scratch_folder

_SECONDS = 30
_OURS, _BASE, _THEIRS = b"<<<<<<< ", b"||||||| ", b">>>>>>> "


@dataclass(frozen=True)
class Merged:
    """``content`` None when there are conflicts; ``conflicts``: their lines in ``ours``, from 1."""

    content: bytes | None
    conflicts: tuple[int, ...] = ()


def merge(ours: bytes, base: bytes, theirs: bytes) -> Merged:
    """``theirs``' change of ``base``, made to ``ours``. Raises IncompleteError without git."""
    label = os.urandom(8).hex()  # no line of a text can pretend to be a marker
    with scratch_folder() as place:
        for name, content in (("ours", ours), ("base", base), ("theirs", theirs)):
            (place / name).write_bytes(content)
        command = ["git", "merge-file", "-p", "--diff3", "-L", label, "-L", label, "-L", label]
        try:
            done = subprocess.run(
                [*command, "ours", "base", "theirs"],
                cwd=place,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
                env={
                    "PATH": os.environ.get("PATH", os.defpath),
                    "HOME": str(place),
                    "LC_ALL": "C",
                    "GIT_CONFIG_NOSYSTEM": "1",
                    "GIT_CONFIG_GLOBAL": os.devnull,
                    "GIT_CEILING_DIRECTORIES": str(place.parent),
                },
            )
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            raise IncompleteError(
                f"a change could not be merged: {error}", "is git installed? merging is done with it"
            ) from error
    if done.returncode == 0:
        return Merged(done.stdout)
    if done.returncode > 127 or not done.stdout:
        return Merged(None, (1,))  # git refused: binary, or too different to compare
    return Merged(None, _conflict_lines(done.stdout, label.encode()))


def _conflict_lines(text: bytes, label: bytes) -> tuple[int, ...]:
    """Where each conflict begins in ``ours``, found by counting the lines that are ours."""
    found: list[int] = []
    line, ours = 1, True
    for shown in text.split(b"\n"):
        if shown.startswith(_OURS + label):
            found.append(line)
        elif shown.startswith(_BASE + label):
            ours = False
        elif shown.startswith(_THEIRS + label):
            ours = True
        elif ours:
            line += 1
    return tuple(found)
