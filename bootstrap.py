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
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
SUFFIX = ".exe" if os.name == "nt" else ""
EXTRAS = {"investigate": "", "test": "[test]"}
PROBE = "import investigator.agents, investigator.reports, investigator.fixtures"
OURS = "made-by-bootstrap"


def fail(message):
    """End with one line on standard error and the exit code of a usage error."""
    say(message)
    raise SystemExit(2)


def say(message):
    """One line on standard error."""
    print("bootstrap: " + message, file=sys.stderr, flush=True)


def wanted():
    """What the environment is made from; a change of any of these makes it anew."""
    parts = [sys.version.encode(), str(ROOT).encode()]
    parts += [(ROOT / name).read_bytes() for name in ("pyproject.toml", "setup.py")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def is_ready(command, digest):
    """Whether an earlier run finished for this command and nothing changed or went away since."""
    names = (command, "test")  # the tests' environment holds all that the tool needs
    return any(is_stamped(name, digest) for name in names) and all(
        (BIN / (name + SUFFIX)).is_file() for name in ("python", "investigate")
    )


def is_stamped(command, digest):
    """Whether the environment was finished for a command, from what is here now."""
    file = stamp(command)
    return file.is_file() and file.read_bytes() == digest.encode()


def stamp(command):
    """The file that says which environment was finished."""
    return VENV / ("ready-" + command)


@contextlib.contextmanager
def one_at_a_time():
    """Hold a lock beside ``.venv``, so that two first runs do not build in each other's way.

    Gives its file: a step that inherits it keeps the lock, also when this process is killed.
    """
    with Path(str(VENV) + ".lock").open("w") as handle:
        if os.name != "nt":
            import fcntl

            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("another run prepares .venv; waiting for it")
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle


def quiet(arguments, what, lock):
    """Run one step, all of which ends with this process; its output is shown only when it fails."""
    own = {} if os.name == "nt" else {"pass_fds": (lock.fileno(),), "start_new_session": True}
    step = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=str(ROOT), **own
    )
    try:
        output = step.communicate()[0]
    except BaseException:
        if os.name == "nt":
            step.kill()
        else:
            os.killpg(step.pid, signal.SIGKILL)  # and what the step started: it would write on
        step.wait()
        raise
    if step.returncode:
        print(output, file=sys.stderr)
        fail(what)


def clear():
    """Remove an environment of another Python or another pyproject, or one that was cut off half way."""
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    elif VENV.is_dir():
        if not any((VENV / name).exists() for name in (OURS, *(stamp(name).name for name in EXTRAS))):
            fail(".venv was not made by this script; move it away or delete it, then run this again")
        shutil.rmtree(str(VENV))


def build(command, digest, lock):
    """Make or complete the environment, and leave the stamp last."""
    whole = (BIN / ("python" + SUFFIX)).is_file() and any(is_stamped(name, digest) for name in EXTRAS)
    if not whole:
        clear()
        say("preparing .venv (about a minute, once)")
        VENV.mkdir()
        (VENV / OURS).touch()
        hint = "; on Debian: apt-get install python3-venv" if os.name == "posix" else ""
        made = "making .venv failed; the lines above say why" + hint
        quiet([sys.executable, "-m", "venv", str(VENV)], made, lock)
    pip = [str(BIN / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    quiet(
        [*pip, "--editable", str(ROOT) + EXTRAS[command]],
        "installing failed; the lines above say why. Can pip reach the package index (network, proxy, "
        "'pip config list')? Then run this again",
        lock,
    )
    quiet([str(BIN / "python"), "-c", PROBE], "what was installed cannot be imported: delete .venv", lock)
    stamp(command).write_text(digest)


def prepare(command):
    """See to it that the environment is there."""
    digest = wanted()
    if not is_ready(command, digest):
        with one_at_a_time() as lock:
            if not is_ready(command, digest):
                build(command, digest, lock)


def main():
    """Check, prepare, run; the exit code is the command's own."""
    if sys.version_info < (3, 11):
        fail("Python 3.11 or later is needed, this is " + sys.version.split()[0])
    if len(sys.argv) < 2 or sys.argv[1] not in EXTRAS:
        fail("usage: python3 bootstrap.py {investigate|test} [ARGS]")
    command, arguments = sys.argv[1], sys.argv[2:]
    try:
        prepare(command)
    except OSError as error:
        fail("cannot prepare .venv: " + str(error) + " (may this folder be written to, is the disk full?)")
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
