"""Measure everything and write ``benchmarks/RESULTS.md``, ``results.json`` and ``per-release.svg``.

    python -m benchmarks [--rounds 5] [--releases 0.20.1 0.33.0] [--four] [--out DIR]

Needs the package index and about 2 GB of temporary disk. What is compared is measured in turns, so
that both sides see the same load; every figure on the page is a median.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import investigator
from benchmarks import page, patterns, plot, rewrite
from benchmarks.measure import PYTHON, Sample, beside, run
from investigator.sources.open import Workspace, open_release

HERE = Path(__file__).parent
TABLE = json.loads((HERE / "table.json").read_text(encoding="utf-8"))
INVESTIGATE = [PYTHON, "-m", "investigator"]
ANY_VERDICT = (0, 1, 3)
REWRITTEN = "0.26.0"
"""The release that is tried in another shape, too."""


def say(text: str) -> None:
    """Progress goes to standard error."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Bench:
    """The work folder of one benchmark run, and its measurements."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self.folder = folder
        self.rounds = rounds
        self.workspace = Workspace.open(cache_dir=folder / "sources")
        self._count = 0

    def fresh(self, name: str) -> Path:
        """A folder that nothing was put into yet."""
        self._count += 1
        made = self.folder / f"{name}-{self._count}"
        made.mkdir(parents=True)
        return made

    def unpacked(self, version: str) -> Path:
        """A release's Python files on disk, as an installation has them; not part of any figure."""
        folder = self.folder / "trees" / version
        if not folder.exists():
            tree = open_release("vllm", version, self.workspace)
            paths = [path for path in tree.paths() if path.endswith(".py")]
            tree.prefetch(paths)
            for path in paths:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(tree.read(path))
        return folder

    def parse(self, version: str) -> Sample:
        """The plain baseline on one release."""
        return run([PYTHON, "-m", "benchmarks.parse_tree", str(self.unpacked(version))])

    def investigate(self, version: str, cache: Path, out: Path) -> Sample:
        """One whole run of the tool."""
        arguments = ["--engine", f"vllm=={version}", "--draft", TABLE["draft"], "--cache-dir", str(cache)]
        return run([*INVESTIGATE, "run", *arguments, "--out", str(out / "run")], check=ANY_VERDICT)

    # -- one release -------------------------------------------------------------------

    def one_release(self, version: str) -> dict[str, Any]:
        """Cold and warm, each in turns with the plain parse."""
        say(f"{version}: cold runs")
        outs: list[Path] = []

        def cold() -> Sample:
            outs.append(self.fresh("cold"))
            return self.investigate(version, outs[-1] / "cache", outs[-1])

        cold_ratio, parse = beside(cold, partial(self.parse, version), max(2, self.rounds // 2))
        say(f"{version}: warm runs")
        warm_outs: list[Path] = []

        def warm() -> Sample:
            warm_outs.append(self.fresh("warm"))
            return self.investigate(version, outs[-1] / "cache", warm_outs[-1])

        warm()
        warm_ratio, _ = beside(warm, partial(self.parse, version), self.rounds)
        return {
            "version": version,
            "cold": {**vars(cold_ratio), **fetched(outs[-1])},
            "warm": {**vars(warm_ratio), **fetched(warm_outs[-1])},
            "parse": {**vars(parse), "files": int(self.parse(version).output.split()[0])},
        }

    def whole_wheel(self, version: str) -> dict[str, Any]:
        """What downloading the wheel would cost."""
        import httpx

        wheel = self.workspace.index.wheel("vllm", version)
        began, size = time.monotonic(), 0
        with httpx.stream("GET", wheel.url, follow_redirects=True, timeout=60) as answer:
            answer.raise_for_status()
            for chunk in answer.iter_bytes():
                size += len(chunk)
        return {"version": version, "bytes": size, "wall": time.monotonic() - began}

    # -- the timeline ------------------------------------------------------------------

    def timeline(self, first: str, last: str, parse_of: Sequence[str]) -> dict[str, Any]:
        """All releases: one by one with their costs, then the command itself, cold and warm."""
        say("timeline: release by release")
        cache = self.fresh("timeline") / "cache"
        child = [PYTHON, "-m", "benchmarks.release_by_release", str(cache), first, last, TABLE["draft"]]
        cold_rows, warm_rows = json.loads(run(child).output), json.loads(run(child).output)
        say("timeline: the command, cold")
        cold_cache = self.fresh("timeline") / "cache"
        command = [*INVESTIGATE, "timeline", "--from", first, "--to", last, "--draft", TABLE["draft"]]
        asked = partial(run, [*command, "--format", "json", "--cache-dir", str(cold_cache)])
        cold = asked()
        say("timeline: the command, warm")
        asked()
        warm = {version: beside(asked, partial(self.parse, version), self.rounds)[0] for version in parse_of}
        return {
            "first": first,
            "last": last,
            "cold_rows": cold_rows,
            "warm_rows": warm_rows,
            "cold": {"wall": cold.wall, "cpu": cold.cpu, "peak": cold.peak},
            "warm": {version: vars(ratio) for version, ratio in warm.items()},
        }

    # -- patterns ----------------------------------------------------------------------

    def rewritten(self, version: str) -> Path:
        """A release with modules renamed and a helper moved, as the next one might have it: it does the
        same, and keeps every verdict."""
        folder = self.folder / "trees" / f"{version}-rewritten"
        if not folder.exists():
            for path, content in rewrite.files(self.unpacked(version)).items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
        return folder

    def own_verdicts(self, tree: Path) -> dict[str, str]:
        """What the tool says of a folder."""
        out = self.fresh("rewritten")
        case = ["--engine", f"path:{tree}", "--draft", TABLE["draft"], "--format", "json"]
        text = run([*INVESTIGATE, "run", *case, "--out", str(out / "run")], check=ANY_VERDICT).output
        return {
            f"{finding['contract']}/{finding['runner'] or 'any'}": finding["verdict"]
            for finding in json.loads(text)["findings"]
        }

    def patterns(self, tool: patterns.Tool, versions: Sequence[str]) -> dict[str, Any]:
        """One pattern matcher over unpacked releases, and over one that was rewritten."""
        say(f"{tool.name}: installing")
        began = time.monotonic()
        try:
            place = patterns.install(tool, self.folder / "tools")
        except subprocess.CalledProcessError as error:
            return {"name": tool.name, "missing": (error.stderr or b"").decode()[-300:]}
        installed = time.monotonic() - began
        ids = patterns.rule_ids(tool.rules)
        found: dict[str, dict[str, str]] = {}
        costs: dict[str, dict[str, float]] = {}
        for version in versions:
            say(f"{tool.name}: {version}")
            sample = patterns.scan(tool, place, self.unpacked(version), self.fresh("home"))
            found[version] = patterns.verdicts(tool.matched(sample.output), ids)
            costs[version] = {"wall": sample.wall, "cpu": sample.cpu, "peak": sample.peak}
        sample = patterns.scan(tool, place, self.rewritten(REWRITTEN), self.fresh("home"))
        return {
            "name": tool.name,
            "installed": installed,
            "verdicts": found,
            "rewritten": patterns.verdicts(tool.matched(sample.output), ids),
            "costs": costs,
        }

    def startup(self) -> dict[str, float]:
        """How long the shell waits for the help text and for the version."""
        words = {"--help": ["--help"], "--version": ["--version"], "run --help": ["run", "--help"]}
        return {
            name: sorted(run([*INVESTIGATE, *w]).cpu for _ in range(self.rounds))[self.rounds // 2]
            for name, w in words.items()
        }


def fetched(out: Path) -> dict[str, Any]:
    """Bytes and requests by the run's own log: the engine's agent, and all together."""
    counts = {"engine_bytes": 0, "engine_requests": 0, "all_bytes": 0, "all_requests": 0}
    for line in (out / "run" / "log.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        for who in ("all", "engine") if event.get("agent") == "vllm" else ("all",):
            if event.get("requests"):
                counts[f"{who}_bytes"] += event.get("bytes") or 0
                counts[f"{who}_requests"] += event["requests"]
    return counts


def main() -> None:
    """Measure, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--releases", nargs="+", default=["0.20.1", "0.33.0"], metavar="VERSION")
    parser.add_argument(
        "--every-release", action="store_true", help="Patterns on every release of the table."
    )
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    versions = list(TABLE["releases"])
    with tempfile.TemporaryDirectory(prefix="investigate-benchmarks-") as folder:
        bench = Bench(Path(folder), options.rounds)
        results: dict[str, Any] = {
            "schema": 1,
            "version": investigator.__version__,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": {"python": platform.python_version(), "system": platform.platform()},
            "rounds": options.rounds,
            "startup": bench.startup(),
            "one_release": [bench.one_release(version) for version in options.releases],
            "whole_wheel": [bench.whole_wheel(version) for version in options.releases],
            "timeline": bench.timeline(versions[0], versions[-1], options.releases),
            "rewritten": {
                "version": REWRITTEN,
                "verdicts": bench.own_verdicts(bench.rewritten(REWRITTEN)),
            },
            "patterns": [
                bench.patterns(tool, TABLE["four"] if options.four else versions) for tool in patterns.TOOLS
            ],
        }
        bench.workspace.transport.close()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (options.out / "per-release.svg").write_text(plot.svg(results["timeline"]), encoding="utf-8")
    (options.out / "RESULTS.md").write_text(page.render(results, TABLE), encoding="utf-8")
    say(f"written to {options.out}")


if __name__ == "__main__":
    main()
