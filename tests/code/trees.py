"""Trees of files that stand in memory, for tests of the interpreter."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping


class MemoryTree:
    """Files by path (see :class:`investigator.sources.interface.Tree`)."""

    source = None

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.read_paths: list[str] = []

    def paths(self) -> list[str]:
        """Every path."""
        return sorted(self.files)

    def read(self, path: str) -> bytes:
        """A file's bytes."""
        self.read_paths.append(path)
        return self.files[path]

    def digest(self, path: str) -> str:
        """Its sha256."""
        return hashlib.sha256(self.files[path]).hexdigest()

    def prefetch(self, paths: Iterable[str]) -> None:
        """Nothing to bring near."""
