"""A timeline as the command makes it, one release after another, each with what it cost.

python -m benchmarks.release_by_release CACHE_DIR FIRST LAST DRAFT

Prints JSON: ``background`` and a row per release: wall and processor seconds, bytes, requests, the
wheel's own size, full searches, and its verdicts.
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
        self.heading = "list"

    def __call__(self, event: Event) -> None:
        row = self.rows.setdefault(self.heading, {"bytes": 0, "requests": 0, "searches": 0})
        details = event.details
        if details.get("requests"):
            row["requests"] += details["requests"]
            row["bytes"] += details.get("bytes") or 0
        if "searched" in details:
            row["searches"] += 1

    def time(self, heading: str) -> "Ledger":
        """Start a heading."""
        self.heading = heading
        self.rows.setdefault(heading, {"bytes": 0, "requests": 0, "searches": 0})
        return self

    def __enter__(self) -> dict[str, Any]:
        self._began = time.monotonic(), time.process_time()
        return self.rows[self.heading]

    def __exit__(self, *error: object) -> None:
        wall, cpu = self._began
        self.rows[self.heading] |= {"wall": time.monotonic() - wall, "cpu": time.process_time() - cpu}


def main(cache: str, first: str, last: str, draft: str) -> None:
    """Ask, count, print."""
    ledger = Ledger()
    workspace = Workspace.open(cache_dir=Path(cache), events=ledger)
    kind = known("vllm")
    with workspace.transport:
        with ledger.time("list"):
            releases = chosen(workspace.index.releases("vllm"), first, last)
        case = Case(
            engine=EngineSpec(EngineKind.RELEASE, releases[0].version),
            draft=RepoSpec.parse(draft),
            references=DEFAULT_REFERENCES,
            pull_requests=(),
        )
        with ledger.time("background"):
            given = background(case, assembly(case, workspace, ledger).team)
        memory = Memory(workspace.store, given.checkpoint, {})
        for release in releases:
            with ledger.time(release.version) as row:
                row["wheel"] = release.best_wheel().size
                tree = open_release("vllm", release.version, workspace)
                made = ask_release(kind, release, tree, given, memory)
                row["runner"] = made.runner.value if made.runner else None
                row["verdicts"] = {
                    f"{c.contract}/{c.runner.value if c.runner else 'any'}": c.verdict.value
                    for c in made.cells
                }
    print(json.dumps(ledger.rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
