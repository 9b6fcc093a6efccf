"""Steps that nothing stops half way: what the parent hears of a child that ends in each way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from investigator.errors import PatchError
from investigator.patches.shield import shielded


def test_work_is_done_in_another_process(tmp_path: Path) -> None:
    shielded(lambda: (tmp_path / "pid").write_text(str(os.getpid())) and None)

    assert (tmp_path / "pid").read_text() != str(os.getpid())


def test_what_the_work_says_is_said_here_with_its_advice() -> None:
    def refuse() -> None:
        raise PatchError("the tree moved", "look again")

    with pytest.raises(PatchError, match=r"^the tree moved$") as caught:
        shielded(refuse)

    assert caught.value.advice == "look again"


def test_a_child_that_is_killed_is_told() -> None:
    with pytest.raises(PatchError, match=r"^the writing process was killed \(SIGKILL\)$"):
        shielded(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_an_interrupt_waits_until_the_work_is_done(tmp_path: Path) -> None:
    def slow() -> None:
        time.sleep(0.2)  # until the parent listens
        os.kill(os.getppid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        (tmp_path / "done").touch()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            shielded(slow)
    finally:
        signal.signal(signal.SIGINT, before)

    assert (tmp_path / "done").exists()


WITHIN = """\
import logging, os, signal, sys, threading
from pathlib import Path
from investigator.patches.shield import shielded

def interrupt():
    signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
os.register_at_fork(**{sys.argv[1]: interrupt})
done = Path(sys.argv[2])
try:
    shielded(done.touch)
except KeyboardInterrupt:
    print("interrupted", done.exists())
other = threading.Thread(target=logging.getLogger, args=["another thread"], daemon=True)
other.start()
other.join(5)
print("still waits" if other.is_alive() else "logs")
"""


@pytest.mark.parametrize("hook", ["before", "after_in_parent"])
def test_an_interrupt_in_the_instant_of_the_fork_is_neither_lost_nor_leaves_a_lock(
    hook: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHIN, hook, str(tmp_path / "done")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.stdout, done.stderr) == ("interrupted True\nlogs\n", "")
