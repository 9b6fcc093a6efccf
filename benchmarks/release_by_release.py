"""A timeline as the command makes it, one release after another, each with what it cost.

    python -m benchmarks.release_by_release ENGINE CACHE_DIR FIRST LAST DRAFT

Prints JSON: ``list`` and ``background``, and a row per release under its version: wall and processor
seconds, bytes and requests by the program's own counters, what the whole tree was searched for, the
wheel's name and size, and the release's verdicts.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from investigator.case import DEFAULT_REFERENCES, Case, EngineKind, EngineSpec, RepoSpec
from investigator.engines.registry import known
from investigator.engines.remembered import Memory
from investigator.events import Event
from investigator.sources.open import Workspace, open_release
from investigator.team import assembly
from investigator.timeline import ask_release, background, chosen


class Ledger:
    """Counts what is fetched, under the heading of the moment."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.heading = ""

    def __call__(self, event: Event) -> None:
        row, details = self.rows[self.heading], event.details
        if details.get("requests"):
            row["requests"] += details["requests"]
            row["bytes"] += details.get("bytes") or 0

    def searched(self, what: str) -> None:
        """A full search."""
        self.rows[self.heading]["searches"].append(what)

    def time(self, heading: str) -> "Ledger":
        """Start a heading."""
        self.heading = heading
        self.rows[heading] = {"bytes": 0, "requests": 0, "searches": []}
        return self

    def __enter__(self) -> dict[str, Any]:
        self._began = time.monotonic(), time.process_time()
        return self.rows[self.heading]

    def __exit__(self, *error: object) -> None:
        wall, cpu = self._began
        self.rows[self.heading] |= {"wall": time.monotonic() - wall, "cpu": time.process_time() - cpu}


def main(engine: str, cache: str, first: str, last: str, draft: str) -> None:
    """Ask, count, print."""
    ledger = Ledger()
    with ledger.time("list"):
        workspace = Workspace.open(cache_dir=Path(cache), events=ledger)
        releases = chosen(workspace.index.releases(engine), first, last)
    kind = known(engine)
    case = Case(
        engine=EngineSpec(EngineKind.RELEASE, releases[0].version, engine),
        draft=RepoSpec.parse(draft),
        references=DEFAULT_REFERENCES,
        pull_requests=(),
    )
    with workspace.transport:
        with ledger.time("background"):
            given = background(case, assembly(case, workspace, ledger).team)
        memory = Memory(workspace.store, given.checkpoint, {})
        for release in releases:
            with ledger.time(release.version) as row:
                wheel = release.best_wheel()
                row |= {"wheel": wheel.filename, "wheel_bytes": wheel.size}
                tree = open_release(engine, release.version, workspace)
                made = ask_release(kind, release, tree, given, memory, ledger.searched)
                row["runner"] = made.runner.value if made.runner else None
                row["verdicts"] = {
                    f"{c.contract}/{c.runner.value if c.runner else 'any'}": c.verdict.value
                    for c in made.cells
                }
    print(json.dumps(ledger.rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
