"""A tree with some files replaced: what the engine looks like once a patch is in."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from investigator.model import Source
from investigator.sources.interface import Tree


@dataclass(frozen=True)
class PatchedTree:
    """``base`` with the files of ``contents`` in place of its own, or added to it."""

    base: Tree
    contents: Mapping[str, bytes]
    _paths: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_paths", tuple(sorted({*self.base.paths(), *self.contents})))

    @property
    def source(self) -> Source:
        """The source of the tree below: evidence is about it, not about the patch."""
        return self.base.source

    def paths(self) -> Sequence[str]:
        """Every file's path, sorted."""
        return self._paths

    def digest(self, path: str) -> str:
        """sha256 of the file as patched, hex."""
        content = self.contents.get(path)
        return self.base.digest(path) if content is None else hashlib.sha256(content).hexdigest()

    def read(self, path: str) -> bytes:
        """The file's bytes as patched."""
        content = self.contents.get(path)
        return self.base.read(path) if content is None else content

    def prefetch(self, paths: Iterable[str]) -> None:
        """Bring near what still has to come from the tree below."""
        self.base.prefetch(path for path in paths if path not in self.contents)
