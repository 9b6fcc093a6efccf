"""What apply and revert do to a disk, few and small steps, each durable when it returns."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from investigator.errors import PatchError


class Disk:
    """The steps. A test puts its own in place of one to let it fail at a chosen moment."""

    def create(self, path: Path, content: bytes, like: Path | None = None) -> None:
        """Write a file that is not there yet, with the mode, attributes and owner of ``like``."""
        with path.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if like is not None:
            shutil.copystat(like, path)
            os.utime(path)
            if os.geteuid() == 0:
                owner = like.stat()
                os.chown(path, owner.st_uid, owner.st_gid)

    def keep(self, path: Path, kept: Path) -> None:
        """Let ``kept`` be the file at ``path`` as it is, a link as a link, without moving it.

        A second name for the same file where the file system has that: taking it back then
        restores the very file, needs no space, and cannot half succeed. Else a copy.
        """
        try:
            os.link(path, kept, follow_symlinks=False)
        except OSError:
            shutil.copy2(path, kept, follow_symlinks=False)

    def replace(self, source: Path, target: Path) -> None:
        """Let ``source`` take the place of ``target``, at once. A link is replaced, not followed."""
        source.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file that may be gone already."""
        path.unlink(missing_ok=True)

    def sync(self, folder: Path) -> None:
        """Make what happened to a folder's entries durable."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def telling(what: str) -> Iterator[None]:
    """Tell what the disk refuses as a PatchError: ``what`` failed, and why."""
    try:
        yield
    except OSError as error:
        raise PatchError(f"{what} failed: {error}", "see to the disk, then try again") from error


def sha256_of(path: Path) -> str | None:
    """The hash of a file's content, links followed; None when there is no file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Keep every other apply and revert away from ``root``. Raises PatchError when one is at work.

    The lock is on the folder itself: it leaves no file behind, and ends with the process.
    """
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PatchError(
                f"another apply or revert is at work in {root}", "wait until it is done, then try again"
            ) from None
        yield
    finally:
        os.close(descriptor)
