"""Measure, and write ``RESULTS.md``, ``results.json`` and ``per-release.svg``.

    python -m benchmarks [PART ...] [--rounds 5] [--work DIR] [--out DIR]

Parts: startup, one-release, vllm, sglang, patterns; all of them when none is named, and a part that is
not measured stays as results.json has it. Needs the package index and about 4 GB of temporary disk;
with --work unpacked releases stay there for the next time.
What is compared is measured in turns, so that both sides see the same load.
"""

import argparse
import json
import platform
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import investigator
from benchmarks import page, plot, truth
from benchmarks.ground import Ground
from benchmarks.measure import say
from benchmarks.parts import FULL, MIXED, PARTS

HERE = Path(__file__).parent


def main() -> None:
    """Measure, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    if strangers := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(strangers))}; there are {', '.join(PARTS)}")
    kept = options.out / "results.json"
    results: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="investigate-benchmarks-") as folder:
        ground = Ground(Path(folder), options.work or Path(folder), options.rounds)
        with ground.workspace.transport:
            for name in options.parts or PARTS:
                results[name] = {**about(options.rounds), "figures": PARTS[name](ground)}
                write(options.out, results)
                say(f"{name}: written to {options.out}")


def about(rounds: int) -> dict[str, Any]:
    """What a part's figures were measured with."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": investigator.__version__,
        "python": platform.python_version(),
        "rounds": rounds,
    }


def write(folder: Path, results: dict[str, Any]) -> None:
    """The figures, and the page and the plot where every part was measured."""
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if not PARTS.keys() - results.keys():
        drawn = plot.svg(results["vllm"]["figures"])
        (folder / "per-release.svg").write_text(drawn, encoding="utf-8")
        text = page.render(results, truth.cells(), truth.cells(["sglang.json"]), (MIXED, FULL))
        (folder / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
