"""The folder that a run leaves: each file is there whole or not at all."""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from filelock import FileLock, Timeout

from investigator.errors import UsageError

LOG = "log.jsonl"
PATCHES = "patches"
_LOCK = ".lock"
_OUR_PATCH = re.compile(r"\d{4}-[A-Za-z0-9.=_-]+\.patch")


class RunFolder:
    """One run's folder, held by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def log(self) -> Iterator[TextIO]:
        """A fresh ``log.jsonl``, open for writing."""
        stream = (self.path / LOG).open("w", encoding="utf-8")
        try:
            yield stream
        finally:
            with suppress(OSError):  # a disk that is full has its own error, where it matters
                stream.close()

    def write(self, name: str, text: str) -> Path:
        """Put one file in place, whole. Raises UsageError when the disk does not take it."""
        target = self.path / name
        part = self.path / f".{name}.part"
        try:
            part.write_text(text, encoding="utf-8", newline="\n")
            part.replace(target)
        except OSError as error:
            raise _unwritable(target, error) from error
        finally:
            part.unlink(missing_ok=True)
        return target

    def write_patches(self, contents: Mapping[str, bytes]) -> Path | None:
        """Put all patches in place together; what an earlier run left there goes. None: there are none."""
        target = self.path / PATCHES
        fresh, stale = self.path / ".patches.part", self.path / ".patches.old"
        try:
            for leftover in (fresh, stale):
                shutil.rmtree(leftover, ignore_errors=True)
            fresh.mkdir()
            for name, content in contents.items():
                (fresh / slug(name)).write_bytes(content)
            if target.exists():
                target.rename(stale)
            if contents:
                fresh.rename(target)
        except OSError as error:
            raise _unwritable(target, error) from error
        finally:
            for leftover in (fresh, stale):
                shutil.rmtree(leftover, ignore_errors=True)
        return target if contents else None


@contextmanager
def open_run_folder(out: Path | None, case_name: str) -> Iterator[RunFolder]:
    """Make (or take) the folder and hold it; ``out`` None: ``runs/<time>-<case>`` here.

    Raises UsageError before any work is done: it cannot be written, or another run holds it.
    """
    path = out if out is not None else _fresh(Path("runs"), case_name)
    try:
        path.mkdir(parents=True, exist_ok=True)
        _leave_others_patches(path / PATCHES)
        lock = FileLock(path / _LOCK, blocking=False)
        lock.acquire()
        (path / LOG).touch()
    except Timeout as error:
        raise UsageError(f"{path} is being written by another run", "give each run its own --out") from error
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        yield RunFolder(path)
    finally:
        lock.release()
        (path / _LOCK).unlink(missing_ok=True)


def _leave_others_patches(folder: Path) -> None:
    """Patches of an earlier run are replaced; a folder that holds anything else is somebody's own."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder} is in the way", "give a folder of its own with --out")
    for entry in folder.iterdir() if folder.exists() else ():
        if not _OUR_PATCH.fullmatch(entry.name) or entry.is_symlink() or not entry.is_file():
            raise UsageError(
                f"{folder} holds {entry.name!r}, which no run has left there",
                "a run replaces that folder: give another one with --out",
            )


def _fresh(parent: Path, case_name: str) -> Path:
    stem = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{slug(case_name)}"
    candidates = (parent / (stem if n == 1 else f"{stem}-{n}") for n in range(1, 10_000))
    return next(path for path in candidates if not path.exists())


def slug(text: str) -> str:
    """A name that is safe as a folder's on any file system, at most 80 characters."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "-", text).strip("-.")[:80] or "case"


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"cannot write {path}: {error.strerror or error}", "give a folder that you may write with --out"
    )
