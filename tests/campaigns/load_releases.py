"""Many investigations of real releases at once in one process, with cold stores, from the package index.

Prints how fast the index was asked and how much memory it took; finds are verdicts that differ from those
of one investigation alone (which is asked afterwards, from what was fetched), and failed agents.
"""

import resource
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import investigator
from investigator.case import Case, EngineSpec, RepoSpec
from investigator.events import Event, ignore
from investigator.model import Investigation
from investigator.settings import Settings
from tests.campaigns.faults import verdicts

DRAFT = "z-lab/Qwen3.6-27B-DFlash@snapshot-2026-10"
"""As it was recorded: only the index is asked."""


class Rate:
    """Counts requests, second by second; told from several threads."""

    def __init__(self) -> None:
        self.by_second: Counter[int] = Counter()
        self.bytes = 0
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """One event of one run."""
        with self._lock:
            self.by_second[int(time.monotonic())] += int(str(event.details.get("requests") or 0))
            self.bytes += int(str(event.details.get("bytes") or 0))


def campaign(count: int, engines: Sequence[str]) -> Counter[str]:
    """``count`` investigations at once, which take the engines in turn (``vllm==0.20.1``)."""
    counts: Counter[str] = Counter()
    rate = Rate()
    with tempfile.TemporaryDirectory() as folder:
        caches = [Path(folder) / f"cache-{number}" for number in range(count)]
        asked = [engines[number % len(engines)] for number in range(count)]
        started = time.monotonic()
        with ThreadPoolExecutor(count) as pool:
            found = list(pool.map(lambda engine, cache: _investigate(engine, cache, rate), asked, caches))
        seconds = time.monotonic() - started
        alone = {
            engine: verdicts(_investigate(engine, cache))
            for engine, cache in zip(asked[: len(engines)], caches, strict=False)
        }
    for engine, investigation in zip(asked, found, strict=True):
        told = verdicts(investigation)
        counts["as alone" if told == alone[engine] else "FIND: otherwise than alone"] += 1
        for finding in investigation.findings:
            question = (finding.contract, str(finding.runner))
            if told[question] != alone[engine].get(question):
                print(
                    engine,
                    *question,
                    f"{finding.verdict}, alone {alone[engine].get(question)}: {finding.why}",
                )
        counts["FIND: an agent failed"] += any(report.error for report in investigation.agents)
    requests = sum(rate.by_second.values())
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{count} at once, cold: {seconds:.0f} s, {requests} requests ({requests / seconds:.1f} a second, "
        f"at most {max(rate.by_second.values(), default=0)} in one), {rate.bytes / 1e6:.1f} MB, "
        f"peak {megabytes} MB",
        flush=True,
    )
    return counts


def _investigate(engine: str, cache: Path, rate: Rate | None = None) -> Investigation:
    case = Case(engine=EngineSpec.parse(engine), draft=RepoSpec.parse(DRAFT))
    return investigator.investigate(case, Settings(cache_dir=cache), sink=rate or ignore)
