"""Folders and files for a while, where the machine keeps such; what it refuses is one clear error."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from investigator.errors import IncompleteError


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is gone afterwards, by its real path. Raises IncompleteError when the disk refuses it, or
    what is put into it."""
    with refusals_told(), tempfile.TemporaryDirectory(prefix="investigate-") as folder:
        yield Path(folder).resolve()


@contextmanager
def refusals_told() -> Iterator[None]:
    """Tell what the disk refuses as an IncompleteError."""
    try:
        yield
    except OSError as error:
        raise IncompleteError(
            f"nothing can be kept where temporary files go: {error}",
            "make room there, or name another folder with TMPDIR",
        ) from error
