"""What is measured, part by part: each takes the ground to work on and gives figures as JSON."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import patterns, truth
from benchmarks.ground import Ground
from benchmarks.measure import PYTHON, Sample, beside, run, say
from benchmarks.wire import Wire, totals

INVESTIGATE = [PYTHON, "-m", "investigator"]
ANY_VERDICT = (0, 1, 3)
MIXED, FULL = "z-lab/Qwen3.6-27B-DFlash", "z-lab/Qwen3-8B-DFlash-b16"
SNAPSHOT = "snapshot-2026-10"
"""The drafters' configs as they were recorded, so that every run asks about the same numbers."""
RELEASES = ("0.20.1", "0.33.0")
REWRITTEN = "0.26.0"
"""The release that is tried in other shapes."""

Figures = dict[str, Any]


def startup(ground: Ground) -> Figures:
    """The help text and the version, each beside the import of the library that prints them."""
    click = partial(run, [PYTHON, "-c", "import click"])
    words = {"--help": ["--help"], "--version": ["--version"], "run --help": ["run", "--help"]}
    return {
        name: vars(beside(partial(run, [*INVESTIGATE, *given]), click, 3 * ground.rounds)[0])
        for name, given in words.items()
    }


# -- one release ------------------------------------------------------------------------


def one_release(ground: Ground) -> Figures:
    """A whole run on one release, cold and warm, beside the plain parse; counted at the wire apart."""
    return {version: _one(ground, version) for version in RELEASES}


def _one(ground: Ground, version: str) -> Figures:
    cache = ground.fresh("cold") / "cache"

    def cold() -> Sample:
        nonlocal cache
        cache = ground.fresh("cold") / "cache"
        return _investigate(ground, version, cache)[0]

    say(f"vllm {version}: cold runs")
    parse = partial(ground.parse, "vllm", version)
    cold_ratio, parsed = beside(cold, parse, max(2, ground.rounds // 2))
    say(f"vllm {version}: warm runs")
    warm_ratio, _ = beside(lambda: _investigate(ground, version, cache)[0], parse, ground.rounds)
    say(f"vllm {version}: counted at the wire")
    with _wire(ground) as wire:
        counted = ground.fresh("counted") / "cache"
        counts = [_counted(ground, version, counted, wire) for _ in ("cold", "warm")]
    return {
        "cold": {**vars(cold_ratio), **counts[0]},
        "warm": {**vars(warm_ratio), **counts[1]},
        "parse": {**vars(parsed), "files": int(parse().output.split()[0])},
        "download": _download(ground, version),
    }


def _investigate(
    ground: Ground, version: str, cache: Path, env: Mapping[str, str] | None = None
) -> tuple[Sample, Path]:
    """One whole run of the tool, and its folder."""
    out = ground.fresh("out") / "run"
    arguments = ["--engine", f"vllm=={version}", "--draft", f"{MIXED}@{SNAPSHOT}"]
    command = [*INVESTIGATE, "run", *arguments, "--cache-dir", str(cache), "--out", str(out)]
    return run(command, env, check=ANY_VERDICT), out


def _counted(ground: Ground, version: str, cache: Path, wire: Wire) -> Figures:
    _, out = _investigate(ground, version, cache, wire.environment)
    sent = totals(wire.taken())
    engine = [count for name, count in sent.items() if name.startswith("vllm")]
    return {
        "engine_requests": sum(requests for requests, _ in engine),
        "engine_bytes": sum(size for _, size in engine),
        "requests": sum(requests for requests, _ in sent.values()),
        "bytes": sum(size for _, size in sent.values()),
        "own": _own_counts(out, wire.address),
    }


def _own_counts(out: Path, address: str) -> list[int]:
    """Requests and bytes by the run's own log, of what was asked of this address."""
    lines = (out / "log.jsonl").read_text(encoding="utf-8").splitlines()
    host = urlsplit(address).netloc
    fetched = [event for event in map(json.loads, lines) if event.get("host") == host]
    return [sum(e["requests"] for e in fetched), sum(e.get("bytes") or 0 for e in fetched)]


def _download(ground: Ground, version: str) -> Figures:
    """What fetching the whole wheel costs."""
    wheel = ground.workspace.index.wheel("vllm", version)
    with _wire(ground) as wire:
        began, size = time.monotonic(), 0
        with wire.client.stream("GET", wheel.url) as answer:
            answer.raise_for_status()
            for chunk in answer.iter_bytes():
                size += len(chunk)
        return {"bytes": size, "wall": time.monotonic() - began}


def _wire(ground: Ground) -> Wire:
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    pip = ground.workspace.pip
    return Wire(pip.index_url or PYPI_SIMPLE_ENDPOINT, pip.cert)


# -- every release ----------------------------------------------------------------------


def vllm_timeline(ground: Ground) -> Figures:
    """Every vLLM release that the truth is known of."""
    versions = list(dict.fromkeys(release for _, release, _ in truth.cells()))
    return _timeline(ground, "vllm", versions, RELEASES)


def sglang_timeline(ground: Ground) -> Figures:
    """Every SGLang release that the truth is known of."""
    versions = list(dict.fromkeys(release for _, release, _ in truth.cells(["sglang.json"])))
    return _timeline(ground, "sglang", versions, versions[:1])


def _timeline(ground: Ground, engine: str, versions: Sequence[str], parse_of: Sequence[str]) -> Figures:
    first, last = versions[0], versions[-1]
    say(f"{engine}: release by release, counted at the wire")
    cache = ground.fresh("timeline") / "cache"

    def rows(draft: str, env: Mapping[str, str] | None = None) -> Figures:
        child = [PYTHON, "-m", "benchmarks.release_by_release", engine, str(cache), first, last]
        found: Figures = json.loads(run([*child, f"{draft}@{SNAPSHOT}"], env).output)
        return found

    with _wire(ground) as wire:
        cold_rows, cold_sent = rows(MIXED, wire.environment), totals(wire.taken())
        warm_rows, warm_sent = rows(MIXED, wire.environment), totals(wire.taken())
    say(f"{engine}: the command, cold")
    cold_cache = ground.fresh("timeline") / "cache"
    command = [*INVESTIGATE, "timeline", "--engine", engine, "--from", first, "--to", last]
    case = ["--draft", f"{MIXED}@{SNAPSHOT}", "--format", "json", "--cache-dir", str(cold_cache)]
    asked = partial(run, [*command, *case])
    parse = partial(ground.parse, engine)
    parses = {version: parse(version).cpu for version in versions}
    cold = beside(asked, partial(parse, parse_of[0]), 1)[0]
    say(f"{engine}: the command, warm")
    warm = {version: beside(asked, partial(parse, version), ground.rounds)[0] for version in parse_of}
    return {
        "first": first,
        "last": last,
        "cold_rows": cold_rows,
        "warm_rows": warm_rows,
        "cold_sent": cold_sent,
        "warm_sent": warm_sent,
        "cold": vars(cold),
        "warm": {version: vars(ratio) for version, ratio in warm.items()},
        "parse_cpu": parses,
        "verdicts": {MIXED: _verdicts(cold_rows), FULL: _verdicts(rows(FULL))},
    }


def _verdicts(rows: Figures) -> dict[str, dict[str, str]]:
    return {version: row["verdicts"] for version, row in rows.items() if "verdicts" in row}


# -- patterns ---------------------------------------------------------------------------


def matchers(ground: Ground) -> Figures:
    """Pattern matchers on the releases, and on one that was rewritten; the tool on the latter, too."""
    versions = list(dict.fromkeys(release for _, release, _ in truth.cells()))
    trees = {version: partial(ground.unpacked, "vllm", version) for version in versions}
    return {
        "investigate": {"release": REWRITTEN, "rewritten": _own_shapes(ground)},
        **{tool.name: _matcher(ground, tool, trees) for tool in patterns.TOOLS},
    }


def _own_shapes(ground: Ground) -> Figures:
    """What the tool says of the rewritten trees."""
    found: Figures = {}
    for shape, tree in ground.rewritten(REWRITTEN).items():
        say(f"investigate: {REWRITTEN}, {shape}")
        case = ["--engine", f"path:{tree}", "--draft", f"{MIXED}@{SNAPSHOT}", "--format", "json"]
        out = ["--out", str(ground.fresh("out") / "run"), "--cache-dir", str(ground.fresh("shape") / "cache")]
        findings = json.loads(run([*INVESTIGATE, "run", *case, *out], check=ANY_VERDICT).output)["findings"]
        found[shape] = {f"{f['contract']}/{f['runner'] or 'any'}": f["verdict"] for f in findings}
    return found


def _matcher(ground: Ground, tool: patterns.Tool, trees: Mapping[str, Callable[[], Path]]) -> Figures:
    say(f"{tool.name}: installing")
    try:
        place = patterns.install(tool, ground.folder / "tools")
    except subprocess.CalledProcessError as error:
        return {"missing": (error.stderr or b"").decode()[-300:]}
    ids = patterns.rule_ids(tool.rules)
    home = ground.fresh("home")
    draft_hits = {
        draft: patterns.hits(tool, place, _config(ground, draft), home)[0] for draft in (MIXED, FULL)
    }
    found: dict[str, dict[str, dict[str, str]]] = {MIXED: {}, FULL: {}}
    costs: dict[str, Figures] = {}
    for version, tree in trees.items():
        say(f"{tool.name}: {version}")
        matched, sample = patterns.hits(tool, place, tree(), home)
        costs[version] = {"wall": sample.wall, "cpu": sample.cpu, "peak": sample.peak}
        for draft, more in draft_hits.items():
            found[draft][version] = patterns.verdicts(matched | more, ids)
    shapes: Figures = {}
    for shape, folder in ground.rewritten(REWRITTEN).items():
        matched, _ = patterns.hits(tool, place, folder, home)
        shapes[shape] = patterns.verdicts(matched | draft_hits[MIXED], ids)
    return {"verdicts": found, "rewritten": shapes, "costs": costs}


def _config(ground: Ground, draft: str) -> Path:
    """A folder with the drafter's config.json, for rules about it."""
    from importlib.resources import files

    folder = ground.folder / "drafts" / draft.replace("/", "__")
    folder.mkdir(parents=True, exist_ok=True)
    kept = files("investigator.fixtures").joinpath("hub", draft.replace("/", "__"), "snapshot.json")
    config = json.loads(kept.read_text(encoding="utf-8"))["config"]
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    return folder


PARTS: Mapping[str, Callable[[Ground], Figures]] = {
    "startup": startup,
    "one-release": one_release,
    "vllm": vllm_timeline,
    "sglang": sglang_timeline,
    "patterns": matchers,
}
