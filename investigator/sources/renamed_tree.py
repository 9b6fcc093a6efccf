"""A tree that is told of as another source: under a name of its own, or with a note."""

from collections.abc import Iterable, Sequence

from investigator.model import Source
from investigator.sources.interface import Tree


class RenamedTree:
    """The files of ``base``, as ``source``."""

    def __init__(self, base: Tree, source: Source) -> None:
        self._base = base
        self._source = source

    @property
    def source(self) -> Source:
        """What it is told of as."""
        return self._source

    def paths(self) -> Sequence[str]:
        """Every file's path, sorted."""
        return self._base.paths()

    def digest(self, path: str) -> str:
        """sha256 of the file. Raises NotFoundError."""
        return self._base.digest(path)

    def read(self, path: str) -> bytes:
        """The file's bytes. Raises what reading the base raises."""
        return self._base.read(path)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Bring these files near."""
        self._base.prefetch(paths)
