"""What a command writes its answer to: a file, whole or not at all, or a folder."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from investigator.errors import UsageError


def require_writable(path: Path) -> None:
    """Find out before any work whether the file can be written. Raises UsageError."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".investigate."):
            pass
    except OSError as error:
        raise _unwritable(path, error) from None


def require_folder(path: Path) -> None:
    """Find out before any work whether a folder can be made (or filled) there. Raises UsageError."""
    here = path.absolute()
    there = next(place for place in (here, *here.parents) if place.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=there, prefix=".investigate."):
            pass
    except OSError as error:
        raise _unwritable(path, error) from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the disk refuses while a folder is filled, as the UsageError that it is to the user."""
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error) from error


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises UsageError."""
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".investigate.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> UsageError:
    why = error.strerror or error
    return UsageError(f"cannot write {path}: {why}", "name a place in a folder that you can write")
