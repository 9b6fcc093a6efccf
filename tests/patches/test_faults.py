"""Whatever fails, and wherever: the tree is the old one or the new one, and revert works."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from investigator.errors import PatchError
from investigator.patches.apply import apply
from investigator.patches.disk import Disk
from investigator.patches.revert import revert
from tests.patches import places
from tests.patches.places import OLD, PATCHED, install, patches, sources, state


class Faulty(Disk):
    """Does ``fault`` in the place of the ``nth`` step; ``steps`` counts them, across processes."""

    def __init__(self, nth: int, fault: Callable[[], None], counter: Path) -> None:
        self._nth = nth
        self._fault = fault
        self._counter = counter

    def _step(self) -> None:
        with self._counter.open("ab") as file:
            file.write(b".")
        if self._counter.stat().st_size == self._nth:
            self._fault()

    def create(self, path: Path, content: bytes, like: Path | None = None) -> None:
        self._step()
        super().create(path, content, like)

    def keep(self, path: Path, kept: Path) -> None:
        self._step()
        super().keep(path, kept)

    def replace(self, source: Path, target: Path) -> None:
        self._step()
        super().replace(source, target)

    def remove(self, path: Path) -> None:
        self._step()
        super().remove(path)

    def sync(self, folder: Path) -> None:
        self._step()
        super().sync(folder)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is about what survives a power cut, or about what git makes of a patch."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr("investigator.patches.plan.applied", places.remembered)


def disk_full() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupted() -> None:
    raise KeyboardInterrupt


@contextmanager
def suppressing(text: str) -> Iterator[None]:
    """Let a PatchError pass that says this."""
    try:
        yield
    except PatchError as error:
        if text not in str(error):
            raise


def steps_of(tmp_path: Path, act: Callable[[Path, Disk], object]) -> int:
    """How many steps an undisturbed run takes."""
    root = install(tmp_path / "rehearsal")
    counter = tmp_path / "rehearsal-steps"
    act(root, Faulty(0, disk_full, counter))
    return counter.stat().st_size


def apply_on(root: Path, disk: Disk) -> object:
    return apply(root, "vllm", patches(), disk=disk)


def revert_on(root: Path, disk: Disk) -> object:
    apply(root, "vllm", patches())
    return revert(root, "vllm", disk=disk)


@pytest.mark.parametrize("fault", [disk_full, interrupted])
def test_apply_fails_anywhere(tmp_path: Path, fault: Callable[[], None]) -> None:
    total = steps_of(tmp_path, apply_on)
    assert total > 20
    for nth in range(1, total + 1):
        root = install(tmp_path / str(nth))
        before = state(root)
        try:
            apply(root, "vllm", patches(), disk=Faulty(nth, fault, tmp_path / f"{nth}.steps"))
        except (PatchError, KeyboardInterrupt):
            assert state(root) == before, f"step {nth} of {total}"
            continue
        assert sources(root) == places.new(), f"step {nth} of {total}"
        revert(root, "vllm")
        assert state(root) == before


@pytest.mark.parametrize("fault", [disk_full, interrupted])
def test_revert_fails_anywhere(tmp_path: Path, fault: Callable[[], None]) -> None:
    total = steps_of(tmp_path, revert_on)
    for nth in range(1, total + 1):
        root = install(tmp_path / str(nth))
        before = state(root)
        try:
            revert_on(root, Faulty(nth, fault, tmp_path / f"{nth}.steps"))
        except (PatchError, KeyboardInterrupt, OSError):
            revert(root, "vllm")
        assert state(root) == before, f"step {nth} of {total}"


DRIVER = """
import os, signal, sys
from pathlib import Path
from tests.patches.places import OLD, patches, remembered
from tests.patches.test_faults import Faulty, apply_on, revert_on
os.fsync = lambda descriptor: None
sys.modules["investigator.patches.plan"].applied = remembered
for patch in patches():
    remembered(patch.content, OLD)
act = {"apply": apply_on, "revert": revert_on}[sys.argv[1]]
for line in sys.stdin:
    nth, who, root = line.split()
    acting = os.fork()
    if acting == 0:
        main = os.getpid()
        kill = lambda: os.kill(main if who == "main" else os.getpid(), signal.SIGKILL)
        try:
            act(Path(root), Faulty(int(nth), kill, Path(root + ".steps")))
        except BaseException:
            os._exit(3)
        os._exit(0)
    os.waitpid(acting, 0)
    print("done", flush=True)
"""


@pytest.mark.parametrize("what", ["apply", "revert"])
@pytest.mark.parametrize("who", ["main", "whoever runs the step"])
def test_killed_anywhere(tmp_path: Path, what: str, who: str) -> None:
    """kill -9 at each step in turn: of the process that was started, or of the one at work."""
    total = steps_of(tmp_path, apply_on if what == "apply" else revert_on)
    top = str(Path(__file__).parents[2])
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=top,
        env={**os.environ, "PYTHONPATH": top},
    )
    assert driver.stdin is not None
    assert driver.stdout is not None
    seen = set()
    for nth in range(1, total + 1, 3 if who == "main" else 1):
        root = install(tmp_path / str(nth))
        before = state(root)
        driver.stdin.write(f"{nth} {who.partition(' ')[0]} {root}\n")
        driver.stdin.flush()
        assert driver.stdout.readline() == "done\n"
        wait_for(root)
        now = sources(root)
        assert now in (OLD, places.new()), f"step {nth} of {total} left a mixed tree"
        seen.add(now == OLD)
        with suppressing("nothing of vllm"):
            revert(root, "vllm")
        assert state(root) == before, f"step {nth} of {total}"
    driver.stdin.close()
    assert driver.wait(timeout=20) == 0
    assert seen == ({True} if (what, who) == ("apply", "whoever runs the step") else {True, False})


def wait_for(root: Path) -> None:
    """Until no process holds the lock: one may still be finishing what a killed one began."""
    holder = os.open(root, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    os.close(holder)


STOPPED = """
import os, signal, sys
from pathlib import Path
from investigator.patches.apply import apply
from investigator.patches.disk import Disk
from tests.patches.places import patches

class Stopping(Disk):
    left = int(sys.argv[2])

    def replace(self, source, target):
        if ".investigate" not in str(target):
            self.left -= 1
            if self.left == 0:
                os.killpg(0, signal.SIGKILL)
        super().replace(source, target)

apply(Path(sys.argv[1]), "vllm", patches(), disk=Stopping())
"""


@pytest.mark.parametrize("recover", ["revert", "apply"])
@pytest.mark.parametrize("file", [2, 3])
def test_the_machine_stops_between_two_files(tmp_path: Path, file: int, recover: str) -> None:
    """Both processes die: the receipt says so, and the next revert or apply goes on from there."""
    root = install(tmp_path / "site-packages")
    before = state(root)
    top = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": top}
    command = [sys.executable, "-c", STOPPED, str(root), str(file)]
    subprocess.run(command, cwd=top, env=environment, start_new_session=True, check=False)
    wait_for(root)
    assert sources(root) not in (OLD, places.new()), "it was not stopped between two files"
    if recover == "apply":
        apply(root, "vllm", patches())
        assert sources(root) == places.new()
    revert(root, "vllm")
    assert state(root) == before


def test_a_file_that_someone_changes_in_between_is_theirs(tmp_path: Path) -> None:
    """Between the check and the write: nothing is patched, and their change stays."""
    root = install(tmp_path / "site-packages")
    theirs = root / PATCHED[2]

    class Meddled(Disk):
        def create(self, path: Path, content: bytes, like: Path | None = None) -> None:
            super().create(path, content, like)
            if like == theirs:
                theirs.write_text("theirs = True\n")

    with pytest.raises(PatchError, match=r"scheduler.py was changed by someone else meanwhile"):
        apply(root, "vllm", patches(), disk=Meddled())
    assert sources(root) == {**OLD, PATCHED[2]: b"theirs = True\n"}
    assert not (root / ".investigate").exists()
    assert not list(root.rglob("*.investigate-new"))


def test_two_applies_at_once_make_one(tmp_path: Path) -> None:
    root = install(tmp_path / "site-packages")
    before = state(root)
    made = patches()  # here: the miniature is imported to be asked, which two threads cannot do at once
    outcomes: list[str] = []

    class Slow(Disk):
        def create(self, path: Path, content: bytes, like: Path | None = None) -> None:
            time.sleep(0.05)
            super().create(path, content, like)

    def run() -> None:
        try:
            apply(root, "vllm", made, disk=Slow())
            outcomes.append("applied")
        except PatchError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcomes.remove("applied")
    assert "another apply or revert is at work" in outcomes[0]
    assert sources(root) == places.new()
    revert(root, "vllm")
    assert state(root) == before
