"""A tree under another source id, where two sources of one investigation are called alike."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from investigator.model import Source
from investigator.sources.interface import Tree


class RenamedTree:
    """``base``, whose source has the id ``id``."""

    def __init__(self, base: Tree, id: str) -> None:
        self._base = base
        self._id = id

    @property
    def source(self) -> Source:
        """The base's source under its new id."""
        return replace(self._base.source, id=self._id)

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
