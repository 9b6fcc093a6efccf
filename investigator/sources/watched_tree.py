"""A tree that remembers what was looked at in it, so that what came of it can be kept."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from investigator.model import Source
from investigator.sources.interface import Tree

LISTING = "*"
"""Stands for the names of all files; no file is called so."""


class WatchedTree:
    """``base``, and the hash of everything that was read of it (:attr:`seen`)."""

    def __init__(self, base: Tree) -> None:
        self._base = base
        self._seen: dict[str, str] = {}

    @property
    def seen(self) -> Mapping[str, str]:
        """Path -> sha256 of each file that was read or compared; ``LISTING`` -> hash of the names."""
        return dict(self._seen)

    @property
    def source(self) -> Source:
        """The base's source."""
        return self._base.source

    def paths(self) -> Sequence[str]:
        """Every file's path, sorted."""
        self._seen[LISTING] = listing(self._base)
        return self._base.paths()

    def digest(self, path: str) -> str:
        """sha256 of the file. Raises NotFoundError."""
        if path not in self._seen:
            self._seen[path] = self._base.digest(path)
        return self._seen[path]

    def read(self, path: str) -> bytes:
        """The file's bytes. Raises what reading the base raises."""
        self.digest(path)
        return self._base.read(path)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Bring these files near; that alone is no look at them."""
        self._base.prefetch(paths)


def listing(tree: Tree) -> str:
    """One hash over the names of a tree's files."""
    return hashlib.sha256("\0".join(tree.paths()).encode("utf-8", "surrogatepass")).hexdigest()


def is_as_seen(tree: Tree, seen: Mapping[str, str]) -> bool:
    """Whether ``tree`` would show the same again, file by file."""
    if seen.get(LISTING, listing(tree)) != listing(tree):
        return False
    present = frozenset(tree.paths())
    return all(
        path == LISTING or (path in present and tree.digest(path) == sha) for path, sha in seen.items()
    )
