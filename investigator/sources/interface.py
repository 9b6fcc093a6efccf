"""What every source of files looks like to the rest of the house."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from investigator.model import Source


class Tree(Protocol):
    """A read-only tree of files at one revision.

    Paths are POSIX, relative to the tree's root (the folder that holds the package, so
    ``vllm/config/vllm.py``). Reading is lazy and blocking: call it from a worker thread.
    A tree may be read from several threads at once.
    """

    @property
    def source(self) -> Source:
        """Which source this is; evidence carries its ``id``."""
        ...

    def paths(self) -> Sequence[str]:
        """Every file's path, sorted."""
        ...

    def digest(self, path: str) -> str:
        """sha256 of the file, hex. Cheap where the source vouches for hashes (RECORD).

        Raises NotFoundError when there is no such file.
        """
        ...

    def read(self, path: str) -> bytes:
        """The file's bytes, checked against its digest.

        Raises NotFoundError, IntegrityError, OfflineError, LimitError or SourceError.
        """
        ...

    def prefetch(self, paths: Iterable[str]) -> None:
        """Bring these files near in as few requests as possible; unknown paths are ignored."""
        ...
