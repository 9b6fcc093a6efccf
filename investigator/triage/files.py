"""Opens what ``--symptom`` names."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from investigator.errors import UsageError


@contextmanager
def open_symptom(name: str) -> Iterator[BinaryIO]:
    """A file's bytes, or standard input for ``-``. Raises UsageError."""
    if name == "-":
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(name).open("rb"))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(
                f"the symptom {name!r} cannot be opened: {reason}", "give a file, or - for standard input"
            ) from error
        yield stream
