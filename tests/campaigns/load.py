"""Many investigations at once in one process, and a timeline of many releases for five drafters.

Prints what was asked of each server, how many connections were under way together, how long it took and how
much memory it took; finds are verdicts that differ from those of one investigation alone, failed agents,
and more connections than each investigation may have.
"""

import json
import os
import random
import resource
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import anyio
import anyio.to_thread

from investigator import cli
from investigator.sources.connections import MAX_CONNECTIONS
from tests.campaigns.faults import asked, verdicts
from tests.support import mini_vllm, miniature_vllm
from tests.support.wheels import build_wheel
from tests.support.whole_case import WholeCase, whole_case

RELEASES = 20
DRAFTERS = 5
PATIENCE = 1200
"""Seconds after which many at once count as a deadlock."""


def campaign(count: int, chance: random.Random) -> Counter[str]:
    """``count`` investigations at once, with cold stores and then with one warm store; a timeline."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name, whole_case(Path(name)) as case:
        os.environ |= case.environment(case.folder / "cache")
        right = verdicts(asked(case, case.folder / "cache"))
        _say(case, "one alone", 0.0)
        for label, shared in (("cold", False), ("warm", True)):
            started = time.monotonic()
            caches = [case.folder / ("cache" if shared else f"cache-{n}") for n in range(count)]
            found = anyio.run(_all_at_once, case, caches)
            for investigation in found:
                same = investigation is not None and verdicts(investigation) == right
                counts["as alone" if same else "FIND: otherwise than alone"] += 1
                failed = investigation is None or any(report.error for report in investigation.agents)
                counts["FIND: an agent failed"] += failed
            together = sum(proxy.most_under_way for proxy in case.proxies.values())
            counts["FIND: too many connections"] += together > count * MAX_CONNECTIONS
            _say(case, f"{count} at once, {label}", started)
        counts += _timeline(case)
    counts["threads left"] = threading.active_count()
    return counts


async def _all_at_once(case: WholeCase, caches: list[Path]) -> list[object]:
    found: list[object] = [None] * len(caches)
    limiter = anyio.CapacityLimiter(len(caches))

    async def one(number: int) -> None:
        found[number] = await anyio.to_thread.run_sync(asked, case, caches[number], limiter=limiter)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            for number in range(len(caches)):
                group.start_soon(one, number)
    return found


def _timeline(case: WholeCase) -> Counter[str]:
    """Every release of an index, each a little different, for five drafters in one command."""
    for number in range(1, RELEASES):
        shapes = {"shift": ("none", "inline", "helper")[number % 3], "drop": ("eagle", "own")[number % 2]}
        files = {path: text.encode() for path, text in mini_vllm.texts(**shapes).items()}
        files["vllm/__init__.py"] = b"number = %d\n" % number
        case.index.add(version=f"0.20.{number}", data=build_wheel("vllm", f"0.20.{number}", files))
    arguments = [
        "timeline",
        "-q",
        "--from",
        "0.20.0",
        "--format",
        "json",
        "--out",
        str(case.folder / "t.json"),
    ]
    arguments += [
        "--cache-dir",
        str(case.folder / "cache-timeline"),
        "--reference",
        f"path:{case.folder / 'reference'}",
    ]
    for number in range(DRAFTERS):
        folder = case.folder / f"draft-{number}"
        folder.mkdir()
        config = {**miniature_vllm.DRAFT, "block_size": 4 + number, "num_target_layers": 6}
        (folder / "config.json").write_text(json.dumps(config))
        arguments += ["--draft", f"path:{folder}"]
    started = time.monotonic()
    code = cli.invoke(arguments)
    _say(case, f"a timeline of {RELEASES} releases for {DRAFTERS} drafters", started)
    document = json.loads((case.folder / "t.json").read_text())
    read = sum(len(made["releases"]) for made in document.get("timelines", [document]))
    wrong = code not in (0, 3) or read != RELEASES * DRAFTERS
    return Counter({"timeline cells' releases": read, "FIND: a timeline with gaps": int(wrong)})


def _say(case: WholeCase, what: str, started: float) -> None:
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    seconds = f"{time.monotonic() - started:.0f} s, " if started else ""
    asked_for = {name: proxy.seen for name, proxy in case.proxies.items()}
    together = {name: proxy.most_under_way for name, proxy in case.proxies.items()}
    print(
        f"{what}: {seconds}requests {asked_for}, together {together}, peak {megabytes} MB",
        flush=True,
    )
    for proxy in case.proxies.values():
        proxy.seen = proxy.most_under_way = 0
