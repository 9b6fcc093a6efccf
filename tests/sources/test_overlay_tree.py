"""A patched tree is its base with some files changed, and says so of each file."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import pytest

from investigator.errors import NotFoundError
from investigator.model import Origin, Source, SourceKind
from investigator.sources.overlay_tree import PatchedTree

SOURCE = Source(
    id="vllm",
    kind=SourceKind.FOLDER,
    name="memory",
    revision="1",
    origin=Origin.LOCAL,
    retrieved_at=datetime(2026, 1, 1, tzinfo=UTC),
)


class MemoryTree:
    """A tree of two files."""

    source = SOURCE

    def __init__(self) -> None:
        self.files = {"a.py": b"a = 1\n", "b.py": b"b = 1\n"}
        self.prefetched: list[str] = []

    def paths(self) -> Sequence[str]:
        return sorted(self.files)

    def digest(self, path: str) -> str:
        return "digest of " + path

    def read(self, path: str) -> bytes:
        return self.files[path]

    def prefetch(self, paths: Iterable[str]) -> None:
        self.prefetched += paths


def test_changed_added_and_deleted_files() -> None:
    base = MemoryTree()
    tree = PatchedTree(base, {"a.py": b"a = 2\n", "sub/c.py": b"", "b.py": None})

    assert list(tree.paths()) == ["a.py", "sub/c.py"]
    assert tree.read("a.py") == b"a = 2\n"
    assert tree.digest("a.py") == hashlib.sha256(b"a = 2\n").hexdigest()
    assert tree.source is SOURCE
    with pytest.raises(NotFoundError, match=r"the patch deletes b\.py"):
        tree.read("b.py")
    with pytest.raises(NotFoundError):
        tree.digest("b.py")
    assert base.files["a.py"] == b"a = 1\n"


def test_the_rest_is_the_bases() -> None:
    base = MemoryTree()
    tree = PatchedTree(base, {"a.py": b""})

    tree.prefetch(["a.py", "b.py"])

    assert tree.read("b.py") == b"b = 1\n"
    assert tree.digest("b.py") == "digest of b.py"
    assert base.prefetched == ["b.py"]


def test_patches_lie_on_patches() -> None:
    first = PatchedTree(MemoryTree(), {"a.py": b"a = 2\n"})
    second = PatchedTree(first, {"b.py": b"b = 2\n"})

    assert (second.read("a.py"), second.read("b.py")) == (b"a = 2\n", b"b = 2\n")


def test_what_was_laid_over_cannot_change_afterwards() -> None:
    changes: dict[str, bytes | None] = {"a.py": b"a = 2\n"}
    tree = PatchedTree(MemoryTree(), changes)
    changes["a.py"] = b"a = 3\n"

    assert tree.read("a.py") == b"a = 2\n"
