"""The whole command while the machine fails: interrupts, a full disk, a store that is damaged."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from investigator.engines.vllm.engine import QUESTIONS
from tests.support.fault_proxy import Fault
from tests.support.whole_case import WholeCase, essence, whole_case


@pytest.fixture
def case(tmp_path: Path) -> Iterator[WholeCase]:
    with whole_case(tmp_path) as running:
        yield running


def finished(out: Path) -> set[str]:
    """The agents that the log says have finished."""
    log = out / "log.jsonl"
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return {str(e["agent"]) for e in map(json.loads, lines) if e["event"] in ("finished", "failed")}


@pytest.mark.parametrize("one", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_one_server_keeps_silent_reports_what_was_found(
    case: WholeCase, tmp_path: Path, one: signal.Signals
) -> None:
    case.proxies["github"].every = Fault.STALL
    out = tmp_path / "out"
    process = subprocess.Popen(
        case.command(out),
        env=case.environment(tmp_path / "cache"),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 100
    while not {"vllm", "hub", "reference"} <= finished(out) and time.monotonic() < deadline:
        time.sleep(0.1)

    process.send_signal(one)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "Traceback" not in err
    document = json.loads((out / "investigation.json").read_text())
    assert "broken" in {finding["verdict"] for finding in document["findings"]}
    assert {agent["name"]: agent["status"] for agent in document["agents"]}["pull_requests"] == "failed"


def test_nobody_reads_the_answer_to_its_end(case: WholeCase, tmp_path: Path) -> None:
    command = " ".join(case.command(tmp_path / "out", "--format", "json"))
    command += " | head -n 1; echo ${PIPESTATUS[0]}"
    done = subprocess.run(
        ["bash", "-c", command],
        env=case.environment(tmp_path / "cache"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.stdout.splitlines()[0] == "{"
    assert done.stdout.splitlines()[-1] in ("1", "130")  # it may all have fitted into the pipe
    assert "Traceback" not in done.stderr
    assert len(essence(tmp_path / "out")["findings"]) == len(QUESTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("kib", [1, 4, 16, 64])
def test_a_disk_that_is_full_is_one_clear_error_and_the_next_run_finishes(
    case: WholeCase, tmp_path: Path, kib: int
) -> None:
    """No file may grow over so many KiB: a full disk, as far as one process can have one of its own."""
    out, cache = tmp_path / "out", tmp_path / "cache"
    done = subprocess.run(
        ["bash", "-c", f'ulimit -f {kib}; exec "$@"', "bash", *case.command(out)],
        env=case.environment(cache),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert not list(out.glob(".*.part"))
    assert case.run(out, cache).returncode == 1
    assert len(essence(out)["findings"]) == len(QUESTIONS)


@pytest.mark.slow
def test_a_home_that_cannot_be_written_costs_no_finding(case: WholeCase, tmp_path: Path) -> None:
    environment = case.environment(tmp_path / "unused")
    environment |= {"HOME": "/proc/self", "XDG_CACHE_HOME": "/proc/self"}
    del environment["INVESTIGATE_CACHE_DIR"]
    done = subprocess.run(
        case.command(tmp_path / "out"),
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert len(essence(tmp_path / "out")["findings"]) == len(QUESTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "folders"])
def test_a_store_that_is_damaged_everywhere_is_filled_again(
    case: WholeCase, tmp_path: Path, damage: str
) -> None:
    cache = tmp_path / "cache"
    case.run(tmp_path / "first", cache)
    for path in [path for path in (cache / "v1").rglob("*") if path.is_file()]:
        data = path.read_bytes()
        match damage:
            case "cut":
                path.write_bytes(data[: len(data) // 2])
            case "flipped":
                path.write_bytes(data[:-1] + bytes([byte ^ 1 for byte in data[-1:]]))
            case "emptied":
                path.write_bytes(b"")
            case _:
                path.unlink()
                path.mkdir()

    done = case.run(tmp_path / "second", cache)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert essence(tmp_path / "second") == essence(tmp_path / "first")


@pytest.mark.slow
def test_a_clock_that_jumps_changes_no_finding(case: WholeCase, tmp_path: Path) -> None:
    """Entries that were kept in another century, before or after this one."""
    cache = tmp_path / "cache"
    case.run(tmp_path / "first", cache)
    for year in ("1971", "2199"):
        for path in [path for path in (cache / "v1/records").rglob("*") if path.is_file()]:
            head, _, body = path.read_bytes().partition(b"\n")
            header = {**json.loads(head), "kept_at": f"{year}-01-01T00:00:00+00:00"}
            path.write_bytes(json.dumps(header).encode() + b"\n" + body)
            os.utime(path, (0, 0) if year == "1971" else (7e9, 7e9))

        assert case.run(tmp_path / year, cache).returncode == 1
        assert essence(tmp_path / year) == essence(tmp_path / "first")
