"""Run every variant of an experiment folder, one process each. Copied there as ``run.py``.

Needs Python alone; start it with the interpreter that has the engine. A variant that has its
result is not run again, so an interrupted experiment goes on where it stopped. A variant that
dies, hangs or runs out of memory is reported, and the rest go on.

    python run.py [--only VARIANT ...] [--parallel N] [--print-results]
"""

import argparse
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

MARK = "INVESTIGATE-RESULT "
"""Starts a line of output that holds one variant's result (``--print-results``)."""

OPTIONAL = ("attention_backend", "skip_tokenizer_init", "enable_prefix_caching", "kv_cache_memory_bytes")
"""Options that a variant is tried without when the engine refuses them by name."""

_STILL_RUNNING: set[int] = set()
_LOCK = threading.Lock()


def say(event: str, **details: Any) -> None:
    """One line of progress, as JSON."""
    print(json.dumps({"event": event, "time": round(time.time(), 1), **details}), flush=True)  # noqa: T201


def mirror(package: Path, patched: Path, into: Path) -> None:
    """Make ``into`` look like ``package`` with the files of ``patched`` in place of its own.

    Only folders on the way to a patched file are made; all else is a link. Compiled files of
    those folders are left behind, so that no old one stands in for a patched source.
    """
    into.mkdir(parents=True)
    own = {entry.name: entry for entry in patched.iterdir()}
    for name in sorted({entry.name for entry in package.iterdir()} | set(own)):
        if name == "__pycache__":
            continue
        if name not in own:
            (into / name).symlink_to(package / name)
        elif own[name].is_dir():
            mirror(package / name, own[name], into / name)
        else:
            shutil.copyfile(own[name], into / name)


def engine_package(name: str) -> Path:
    """Where the engine is installed, found without importing it."""
    spec = importlib.util.find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise FileNotFoundError(f"{name} is not importable with {sys.executable}")
    return Path(places[0]).resolve()


def overlay(folder: Path, experiment: Mapping[str, Any], variant: Mapping[str, Any]) -> Path | None:
    """The folder to put first on PYTHONPATH for this variant, made if need be."""
    if not variant.get("overlay"):
        return None
    name = experiment["engine"]["package"]
    package = engine_package(str(name))
    for path, expected in experiment["before"].items():
        file = package.parent / path
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != expected:
            raise ValueError(f"{path} is not the file that the patches were made for")
    site = folder / "overlays" / ".made" / str(variant["name"])
    if not site.exists():
        part = site.with_name(site.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        mirror(package, folder / variant["overlay"] / name, part / name)
        part.rename(site)
    return site


def command_of(
    folder: Path, experiment: Mapping[str, Any], variant: Mapping[str, Any], out: Path
) -> list[str]:
    """The worker's command line."""
    if variant["kind"] == "engine":
        return [sys.executable, str(folder / "harness.py"), str(folder), variant["name"], str(out)]
    pair = experiment["pair"]
    return [
        sys.executable, str(folder / "reference"),
        "--target", str(folder / pair["target"]), "--draft", str(folder / pair["draft"]),
        "--prompts", str(folder / experiment["prompts"]), "--out", str(out),
        "--variant", variant["name"], "--new-tokens", str(experiment["new_tokens"]),
        "--speculative-tokens", str(experiment["speculative_tokens"]),
        "--device", experiment["reference_device"], "--dtype", experiment["reference_dtype"],
        *(part for fault in variant["faults"] for part in ("--fault", fault)),
    ]  # fmt: skip


def work(command: Sequence[str], environment: Mapping[str, str], log: Path, limit: float) -> str | None:
    """Run one worker; a line about its end when it did not end by itself."""
    with log.open("ab") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env=dict(environment), start_new_session=True
        )
        with _LOCK:
            _STILL_RUNNING.add(process.pid)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return f"still running after {limit:.0f} s"
        finally:
            kill(process.pid)
            process.wait()
            with _LOCK:
                _STILL_RUNNING.discard(process.pid)
    return f"ended by signal {-code}" if code < 0 else None


def kill(group: int) -> None:
    """End a worker and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def tail(log: Path, length: int = 3000) -> str:
    """The end of a log."""
    return log.read_bytes()[-length:].decode("utf-8", "replace") if log.exists() else ""


def run_variant(folder: Path, experiment: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    """One variant's result; nothing that happens to it raises."""
    name = variant["name"]
    out, log = folder / "results" / f"{name}.json", folder / "results" / f"{name}.log"
    say("started", variant=name)
    began = time.monotonic()
    try:
        site = overlay(folder, experiment, variant)
    except (OSError, ValueError) as error:
        result = {"variant": name, "status": "failed", "error": f"no overlay: {error}"}
    else:
        environment = {**os.environ, **experiment.get("environment", {}), "PYTHONUNBUFFERED": "1"}
        if site is not None:
            environment["PYTHONPATH"] = os.pathsep.join(
                filter(None, [str(site), os.environ.get("PYTHONPATH")])
            )
        command = command_of(folder, experiment, variant, out)
        result = attempt(command, environment, out, log, variant)
        refused = [option for option in OPTIONAL if option in result.get("error", "")]
        if result["status"] == "refused" and refused and variant["kind"] == "engine":
            say("retried", variant=name, without=refused)
            result = attempt([*command, "--without", *refused], environment, out, log, variant)
    result["wall_seconds"] = round(time.monotonic() - began, 2)
    out.write_text(json.dumps(result))
    say(
        "finished",
        variant=name,
        status=result["status"],
        error=result.get("error"),
        seconds=result["wall_seconds"],
    )
    return result


def attempt(
    command: Sequence[str], environment: Mapping[str, str], out: Path, log: Path, variant: Mapping[str, Any]
) -> dict[str, Any]:
    """Run the worker once and read what it wrote."""
    out.unlink(missing_ok=True)
    ending = work(command, environment, log, variant["time_limit"])
    if out.exists():
        return dict(json.loads(out.read_text()))
    status = "hung" if ending and ending.startswith("still") else "died"
    return {
        "variant": variant["name"],
        "status": status,
        "error": ending or "ended without a result",
        "log": tail(log),
    }


def room(experiment: Mapping[str, Any]) -> int:
    """How many variants go at once: as many engines as the GPU holds, or one a core on a CPU."""
    if experiment["reference_device"] == "cpu" and all(v["kind"] != "engine" for v in experiment["variants"]):
        return os.cpu_count() or 1
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"],
            capture_output=True, text=True, check=True, timeout=30,
        ).stdout.split()  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return 1
    free = int(answer[0]) << 20
    return max(1, min(int(0.85 * free / experiment["memory_bytes"]), (os.cpu_count() or 2) // 2))


@contextmanager
def alone(folder: Path, only: Sequence[str]) -> Iterator[None]:
    """Hold these variants: a second conductor waits, then finds the results of the first."""
    with (folder / "results" / "-".join([".lock", *only])).open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def finished(out: Path) -> dict[str, Any] | None:
    """A result that need not be made again."""
    try:
        result = json.loads(out.read_text())
    except (OSError, ValueError):
        return None
    return result if result.get("status") in ("done", "refused") else None


def conduct(folder: Path, only: Sequence[str], parallel: int | None) -> list[dict[str, Any]]:
    """Run what has no result yet, and return the results of all variants asked for."""
    experiment = json.loads((folder / "experiment.json").read_text())
    wanted = [v for v in experiment["variants"] if not only or v["name"] in only]
    results = {v["name"]: finished(folder / "results" / f"{v['name']}.json") for v in wanted}
    left = [v for v in wanted if results[v["name"]] is None]
    count = parallel or room(experiment)
    say("conducting", variants=len(wanted), left=len(left), parallel=count)
    with ThreadPoolExecutor(count) as pool:
        for result in pool.map(lambda v: run_variant(folder, experiment, v), left):
            results[result["variant"]] = result
    return [result for result in results.values() if result is not None]


def stop(number: int, _: object) -> None:
    """End every worker with the conductor."""
    for group in tuple(_STILL_RUNNING):
        kill(group)
    os._exit(128 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the folder that this file stands in."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--parallel", type=int)
    parser.add_argument(
        "--print-results", action="store_true", help="for places whose output is all one gets"
    )
    options = parser.parse_args(arguments)
    folder = Path(__file__).resolve().parent
    (folder / "results").mkdir(exist_ok=True)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    with alone(folder, options.only):
        results = conduct(folder, options.only, options.parallel)
    if options.print_results:
        for result in results:
            print(MARK + json.dumps(result), flush=True)  # noqa: T201
    return 0 if all(result["status"] == "done" for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
