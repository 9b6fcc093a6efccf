"""The folder that one benchmark works in, and the trees in it: releases on disk, and rewritten ones."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.measure import PYTHON, Sample, run
from investigator.sources.open import Workspace, open_release
from tests.support import shapes

SHAPES = (shapes.modules_renamed, shapes.helpers_moved, shapes.helper_written_out, shapes.locals_renamed)
"""Rewrites that leave what the code does as it is."""


class Ground:
    """``folder``: a temporary one; ``work``: where unpacked releases are kept, maybe for the next time;
    ``rounds``: how often a pair is measured."""

    def __init__(self, folder: Path, work: Path, rounds: int) -> None:
        self.folder = folder
        self.trees = work / "trees"
        self.rounds = rounds
        self.workspace = Workspace.open(cache_dir=folder / "sources")
        self._count = 0

    def fresh(self, name: str) -> Path:
        """A folder that nothing was put into yet."""
        self._count += 1
        made = self.folder / f"{name}-{self._count}"
        made.mkdir(parents=True)
        return made

    def unpacked(self, engine: str, version: str) -> Path:
        """A release's Python files on disk, as an installation has them; no part of any figure."""
        folder = self.trees / engine / version
        if not folder.exists():
            tree = open_release(engine, version, self.workspace)
            paths = [path for path in tree.paths() if path.endswith(".py")]
            tree.prefetch(paths)
            _put_all(folder, {path: tree.read(path) for path in paths})
        return folder

    def rewritten(self, version: str) -> dict[str, Path]:
        """A release of vLLM in other shapes, by the shape's name."""
        here = self.unpacked("vllm", version)
        files = {path.relative_to(here).as_posix(): path.read_bytes() for path in here.rglob("*.py")}
        made: dict[str, Path] = {}
        for shape in SHAPES:
            folder = self.folder / "shapes" / shape.__name__ / version
            if not folder.exists():
                _put_all(folder, shape(files))
            made[shape.__name__.replace("_", " ")] = folder
        return made

    def parse(self, engine: str, version: str) -> Sample:
        """The plain baseline on one release."""
        return run([PYTHON, "-m", "benchmarks.parse_tree", str(self.unpacked(engine, version))])


def _put_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a tree; it is there whole or not at all."""
    making = folder.with_name(f"{folder.name}.part")
    for path, content in files.items():
        (making / path).parent.mkdir(parents=True, exist_ok=True)
        (making / path).write_bytes(content)
    making.rename(folder)
