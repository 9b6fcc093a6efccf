#!/usr/bin/env python3
"""Make ``.venv`` in this folder where it is missing or out of date, then run a command in it.

    python3 bootstrap.py investigate [ARGS]    the tool
    python3 bootstrap.py test [ARGS]           the tests (ARGS go to pytest)

Needs Python 3.11 or later, git, and the package index as pip is set up to reach it. Nothing
else is required: the standard library only. An interrupted first run is repaired by the next.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
EXTRAS = {"investigate": "", "test": "[test]"}
PROBE = "import investigator.agents, investigator.reports, investigator.fixtures"


def fail(message):
    """End with one line on standard error and the exit code of a usage error."""
    print("bootstrap: " + message, file=sys.stderr)
    raise SystemExit(2)


def wanted():
    """What the environment is made from; a change of any of these makes it anew."""
    parts = [sys.version.encode(), str(ROOT).encode()]
    parts += [(ROOT / name).read_bytes() for name in ("pyproject.toml", "setup.py")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def is_ready(command, digest):
    """Whether an earlier run finished for this command and nothing changed since."""
    names = (command, "test")  # the tests' environment holds all that the tool needs
    return any(stamp(name).is_file() and stamp(name).read_text() == digest for name in names)


def stamp(command):
    """The file that says which environment was finished."""
    return VENV / ("ready-" + command)


@contextlib.contextmanager
def one_at_a_time():
    """Hold a lock beside ``.venv``, so that two first runs do not build in each other's way."""
    with Path(str(VENV) + ".lock").open("w") as handle:
        if os.name != "nt":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def quiet(arguments, what):
    """Run one step; its output is shown only when it fails."""
    done = subprocess.run(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=str(ROOT)
    )
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        fail(what + " failed; the lines above say why")


def build(command, digest):
    """Make or complete the environment, and leave the stamp last."""
    if not any(stamp(name).is_file() and stamp(name).read_text() == digest for name in EXTRAS):
        if VENV.exists():
            shutil.rmtree(str(VENV))  # of another Python or another pyproject, or cut off half way
        print("bootstrap: preparing .venv (about a minute, once)", file=sys.stderr, flush=True)
        hint = " (on Debian: apt-get install python3-venv)" if os.name == "posix" else ""
        quiet([sys.executable, "-m", "venv", str(VENV)], "making .venv" + hint)
    pip = [str(BIN / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    quiet([*pip, "--editable", str(ROOT) + EXTRAS[command]], "installing from the package index")
    quiet([str(BIN / "python"), "-c", PROBE], "importing what was installed")
    stamp(command).write_text(digest)


def main():
    """Check, prepare, run; the exit code is the command's own."""
    if sys.version_info < (3, 11):
        fail("Python 3.11 or later is needed, this is " + sys.version.split()[0])
    if len(sys.argv) < 2 or sys.argv[1] not in EXTRAS:
        fail("usage: python3 bootstrap.py {investigate|test} [ARGS]")
    command, arguments = sys.argv[1], sys.argv[2:]
    digest = wanted()
    if not is_ready(command, digest):
        with one_at_a_time():
            if not is_ready(command, digest):
                build(command, digest)
    if command == "investigate":
        program = [str(BIN / "investigate"), *arguments]
    else:
        os.chdir(str(ROOT))
        program = [str(BIN / "python"), "-m", "pytest", *arguments]
    if os.name == "nt":
        raise SystemExit(subprocess.run(program).returncode)
    os.execv(program[0], program)  # signals and the exit code are the command's own


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nbootstrap: interrupted; the next run starts over where needed", file=sys.stderr)
        raise SystemExit(130) from None
