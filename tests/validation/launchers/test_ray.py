"""Against a real local cluster: ``ray start --head``."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from investigator.errors import IncompleteError
from investigator.validation.launchers.ray import RayLauncher
from tests.validation.launchers.test_slurm import interpreter, statuses

NAMES = ["as-released", "all-repairs"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("ray.job_submission", reason="the extra 'ray' is not installed")
    ray = str(Path(sys.executable).with_name("ray"))
    dashboard = free_port()
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    place = tmp_path_factory.mktemp("ray")
    started = subprocess.run(
        [ray, "start", "--head", f"--port={free_port()}", f"--dashboard-port={dashboard}", "--num-cpus=2",
         "--node-ip-address=127.0.0.1", "--dashboard-host=127.0.0.1", "--disable-usage-stats",
         f"--temp-dir={place}"],
        env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if started.returncode != 0:
        pytest.fail(started.stderr[-2000:])
    try:
        yield f"127.0.0.1:{dashboard}"
    finally:
        # Only what this test started: ray stop would end every cluster of this user.
        found = subprocess.run(["pgrep", "-f", str(place)], capture_output=True, text=True).stdout.split()
        for pid in found:
            subprocess.run(["kill", "-9", pid], check=False)


@pytest.mark.slow
def test_one_job_a_variant_with_results_out_of_the_log(
    cluster: str, folder: Path, site: Path, tmp_path: Path
) -> None:
    said: list[str] = []
    RayLauncher(address=cluster, python=str(interpreter(tmp_path, site)), gpus=0).run(
        folder, NAMES, said.append
    )
    assert statuses(folder) == dict.fromkeys(NAMES, "done")
    accepted = json.loads((folder / "results" / "all-repairs.json").read_text())["passes"]["fresh"][
        "counters"
    ]
    assert accepted["accepted"] > 0


@pytest.mark.slow
def test_a_job_that_dies_in_the_middle_is_sent_again(
    cluster: str, folder: Path, site: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "died"
    once = f'case "$*" in *all-repairs*) if [ ! -e {mark} ]; then touch {mark}; kill -9 $$; fi;; esac'
    said: list[str] = []
    python = interpreter(tmp_path, site, once)
    RayLauncher(address=cluster, python=str(python), gpus=0).run(folder, NAMES, said.append)
    assert statuses(folder) == dict.fromkeys(NAMES, "done")
    assert "again: all-repairs" in said


def test_no_cluster_there_is_an_error_that_says_so(folder: Path) -> None:
    pytest.importorskip("ray.job_submission", reason="the extra 'ray' is not installed")
    with pytest.raises(IncompleteError, match="no Ray cluster answers"):
        RayLauncher(address=f"127.0.0.1:{free_port()}").run(folder, NAMES, lambda line: None)
