"""Every release against the truth that was worked out by hand, for every contract that exists.

The releases are read from the package index by ranges, into one store that all of them share.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from investigator.case import Case, EngineSpec, RepoSpec
from investigator.engines.registry import known
from investigator.engines.remembered import Memory
from investigator.history import ReleaseRow
from investigator.model import Runner
from investigator.sources.open import Workspace, open_release
from investigator.sources.package_index import Release
from investigator.team import assembly
from investigator.timeline import Background, ask_release, background

pytestmark = pytest.mark.network

TRUTH = Path(__file__).parents[2] / "truth"
FILES = ("vllm_a.json", "vllm_b.json")
SNAPSHOT = "snapshot-2026-10"
"""The drafters' configs as they were recorded, so that a newer config changes no cell."""


@dataclass(frozen=True)
class Cell:
    """What one release does with one drafter; ``verdicts``: any of them, where a careful reader
    may choose."""

    release: str
    draft: str
    contract: str
    runner: Runner | None
    verdicts: tuple[str, ...]


def cells() -> Iterator[Cell]:
    """The cells about published drafters."""
    for name in FILES:
        for table in json.loads((TRUTH / name).read_text()):
            draft = table.get("draft", "")
            if draft.count("/") != 1 or " " in draft:
                continue  # made up for one test of another file
            for row in (*table.get("cells", ()), *table.get("debatable", ())):
                yield Cell(
                    row["release"],
                    draft,
                    row["contract"],
                    Runner(row["runner"]) if row["runner"] else None,
                    tuple(row.get("verdicts", [row.get("verdict")])),
                )


CELLS = tuple(cells())
RELEASES = tuple(dict.fromkeys(cell.release for cell in CELLS))


class Reading:
    """Reads releases with one store; a drafter's and the references' answers are gathered once."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace.open(cache_dir=folder)
        self.given = cache(self._given)

    def _given(self, draft: str) -> Background:
        case = Case(
            engine=EngineSpec.parse(f"vllm=={RELEASES[0]}"),
            draft=RepoSpec.parse(f"{draft}@{SNAPSHOT}"),
            references=("dflash==0.1.0",),
            pull_requests=(),
        )
        return background(case, assembly(case, self.workspace, lambda event: None).team)

    def row(self, version: str, draft: str) -> ReleaseRow:
        """One release with one drafter on it."""
        given = self.given(draft)
        memory = Memory(self.workspace.store, given.checkpoint, {})
        tree = open_release("vllm", version, self.workspace)
        release = Release(version=version, wheels=(), uploaded=None, yanked=None)
        return ask_release(known("vllm"), release, tree, given, memory)


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    """One reading for all releases that a test process is given; the processes share the store."""
    own = tmp_path_factory.getbasetemp()
    return Reading((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "releases")


def otherwise(reading: Reading, release: str, draft: str) -> list[str]:
    """What is found of a release with a drafter that was not read so by hand."""
    found = {(cell.contract, cell.runner): cell for cell in reading.row(release, draft).cells}
    wrong = []
    for cell in CELLS:
        if (cell.release, cell.draft) == (release, draft):
            got = found.get((cell.contract, cell.runner))
            if got is None or got.verdict.value not in cell.verdicts:
                wrong.append(f"{cell}: {got and (got.verdict.value, got.why)}")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_a_release_does_what_was_read_by_hand(release: str, reading: Reading) -> None:
    drafts = dict.fromkeys(cell.draft for cell in CELLS)

    assert [wrong for draft in drafts for wrong in otherwise(reading, release, draft)] == []


def test_so_does_the_newest_in_every_run(reading: Reading) -> None:
    """Both runners with the drafter that asks the most; the README's excerpt is of the oldest."""
    assert otherwise(reading, RELEASES[-1], CELLS[0].draft) == []


def test_the_truth_covers_what_it_says() -> None:
    assert len(RELEASES) == 19
    assert (RELEASES[0], RELEASES[-1]) == ("0.20.0", "0.33.0")
    assert {cell.draft for cell in CELLS} == {"z-lab/Qwen3.6-27B-DFlash", "z-lab/Qwen3-8B-DFlash-b16"}
