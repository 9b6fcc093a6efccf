"""What can be known of a tree's contents, fact by fact: what an answer rests on, and whether it still does.

A fact is named by a text and told by another:

- ``a/b.py``: the file's sha256; empty where there is no such file
- ``a/``: a hash of the names of the Python files directly in the folder
- ``a/**``: not empty where anything stands below the folder
- ``*``: a hash of all Python files, names and contents
- ``requires NAME``: what the distribution's metadata say about needing another one
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property

from investigator.errors import LimitError
from investigator.sources.interface import Tree

EVERYTHING = "*"
BELOW = "**"
REQUIRES = "requires "
Facts = Mapping[str, str]
"""Name of a fact -> what it was."""


class Contents:
    """The facts about one tree, each worked out once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._found: dict[str, str] = {}
        self.paths = tuple(tree.paths())
        """Every file's path, sorted."""
        self.present = frozenset(self.paths)

    @cached_property
    def python(self) -> tuple[str, ...]:
        """The Python files, sorted."""
        return tuple(path for path in self.paths if path.endswith(".py"))

    def python_in(self, folder: str) -> list[str]:
        """The Python files directly in a folder, whose name ends with a slash."""
        inside = (path for path in self._below(folder) if path.endswith(".py"))
        return [path for path in inside if "/" not in path[len(folder) :]]

    def fact(self, name: str) -> str:
        """What a fact is in this tree. Raises what reading the tree raises."""
        if name not in self._found:
            self._found[name] = self._look(name)
        return self._found[name]

    def hold(self, facts: Facts) -> bool:
        """Whether all of these are so in this tree, too."""
        return all(self.fact(name) == value for name, value in facts.items())

    def _look(self, name: str) -> str:
        if name in self.present:
            return self._tree.digest(name)
        if name == EVERYTHING:
            return self._fingerprint()
        if name.endswith(f"/{BELOW}"):
            return BELOW if self._below(name.removesuffix(BELOW)) else ""
        if name.endswith("/"):
            return hashlib.sha256("\n".join(self.python_in(name)).encode()).hexdigest()
        if name.startswith(REQUIRES):
            return self._required(name.removeprefix(REQUIRES))
        return ""

    def _below(self, folder: str) -> tuple[str, ...]:
        """The paths that begin with a folder's name, which ends with a slash."""
        begin, end = bisect_left(self.paths, folder), bisect_left(self.paths, f"{folder}\U0010ffff")
        return self.paths[begin:end]

    def _fingerprint(self) -> str:
        digest = hashlib.sha256()
        for path in self.python:
            try:
                content = self._tree.digest(path)
            except LimitError:  # a file that is too large is not read, whatever it holds
                content = ""
            digest.update(f"{path}\0{content}\n".encode())
        return digest.hexdigest()

    def _required(self, distribution: str) -> str:
        metadata = next((path for path in self.paths if path.endswith(".dist-info/METADATA")), None)
        if metadata is None:
            return ""
        text = self._tree.read(metadata).decode("utf-8", "replace")
        wanted = re.compile(rf"(?mi)^Requires-Dist: *({re.escape(distribution)}(?![\w.-])[^\n;]*)")
        return "\n".join(found.strip() for found in wanted.findall(text))
