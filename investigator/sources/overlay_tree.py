"""A tree with some files replaced in memory: what a patch would make of it."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from investigator.errors import NotFoundError
from investigator.model import Source
from investigator.sources.interface import Tree


class PatchedTree:
    """``base`` with ``changed`` laid over it; a path that maps to None is deleted.

    Its source is the base's own: evidence in a patched tree still speaks of that engine.
    """

    def __init__(self, base: Tree, changed: Mapping[str, bytes | None]) -> None:
        self._base = base
        self._changed = dict(changed)
        self._digests: dict[str, str] = {}
        kept = {path for path in base.paths() if path not in self._changed}
        added = {path for path, data in self._changed.items() if data is not None}
        self._paths = tuple(sorted(kept | added))

    @property
    def source(self) -> Source:
        """The base's source."""
        return self._base.source

    @property
    def changed(self) -> Mapping[str, bytes | None]:
        """What was laid over the base."""
        return self._changed

    def paths(self) -> Sequence[str]:
        """Every file's path after the change, sorted."""
        return self._paths

    def digest(self, path: str) -> str:
        """sha256 of the file after the change."""
        if path not in self._changed:
            return self._base.digest(path)
        if path not in self._digests:
            self._digests[path] = hashlib.sha256(self.read(path)).hexdigest()
        return self._digests[path]

    def read(self, path: str) -> bytes:
        """The file after the change. Raises NotFoundError for one that was deleted."""
        if path not in self._changed:
            return self._base.read(path)
        data = self._changed[path]
        if data is None:
            raise NotFoundError(f"the patch deletes {path}", "look at the tree before the patch")
        return data

    def prefetch(self, paths: Iterable[str]) -> None:
        """Bring the unchanged ones of these near."""
        self._base.prefetch(path for path in paths if path not in self._changed)
