"""The whole command killed at random moments, by each of three signals.

Afterwards every file of the run folder is whole, every entry of the store has its hash, an
interrupt reported what was found, and the next run finds exactly what an undisturbed one finds.
"""

import hashlib
import json
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.support.whole_case import WholeCase, essence, whole_case

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
EVERY = 4
"""After so many kills, and after the last, a run is let finish."""
INTERRUPTED = 130
PATIENCE = 30
"""Seconds that a run may take to tell what it found, on a machine that does much else."""


def campaign(count: int, chance: random.Random) -> Counter[str]:
    """``count`` kills; every other one of a run that has nothing in its store."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name, whole_case(Path(name)) as case:
        started = time.monotonic()
        case.run(case.folder / "undisturbed", case.folder / "cache-first")
        patience = time.monotonic() - started
        right = essence(case.folder / "undisturbed")
        out = case.folder / "out"
        for number in range(count):
            cache = case.folder / f"cache-{number // 2}"
            one = SIGNALS[number % len(SIGNALS)]
            sent = time.time()
            code, seconds = killed(case, out, cache, one, chance.uniform(0, patience))
            log = out / "log.jsonl"
            began = log.exists() and log.stat().st_mtime > sent  # before, Python itself ends as it does
            counts[f"{one.name}: {code}"] += 1
            counts["FIND: took long to end"] += code == INTERRUPTED and seconds > PATIENCE
            counts["FIND: died of an interrupt"] += code in (-signal.SIGINT, -signal.SIGTERM) and began
            for find in unsound(out, cache, interrupted=code == INTERRUPTED):
                counts[f"FIND: {find}"] += 1
            if number % EVERY == EVERY - 1 or number == count - 1:
                case.run(out, cache)
                counts["finished alike"] += essence(out) == right
                counts["FIND: other findings after a kill"] += essence(out) != right
    return counts


def killed(case: WholeCase, out: Path, cache: Path, one: signal.Signals, after: float) -> tuple[int, float]:
    """Start a run and send it a signal; its exit code, and the seconds until it had ended."""
    process = subprocess.Popen(
        case.command(out),
        env=case.environment(cache),
        cwd=case.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # What runs in the background of a shell ignores interrupts, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.send_signal(one)
    started = time.monotonic()
    return process.wait(120), time.monotonic() - started


def unsound(out: Path, cache: Path, *, interrupted: bool = False) -> list[str]:
    """What is wrong with a run folder and a store."""
    found = []
    for blob in cache.glob("v1/blobs/*/*"):
        if hashlib.sha256(blob.read_bytes()).hexdigest() != blob.parent.name + blob.name:
            found.append("a blob without its hash")
    for record in cache.glob("v1/records/*/*"):
        head, _, body = record.read_bytes().partition(b"\n")
        if json.loads(head)["sha256"] != hashlib.sha256(body).hexdigest():
            found.append("a record without its hash")
    for name in ("investigation.json", "findings.sarif"):
        if (out / name).exists():
            json.loads((out / name).read_text())
    log = (out / "log.jsonl").read_text() if (out / "log.jsonl").exists() else ""
    events = [json.loads(line) for line in log.split("\n")[:-1]]
    finished = [event for event in events if event["event"] == "finished"]
    if interrupted and finished and not (out / "investigation.json").exists():
        found.append("an interrupt that lost what was found")
    return found
