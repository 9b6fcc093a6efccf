"""Through submitit's local executor, which runs jobs as Slurm would on this machine."""

import json
import sys
from pathlib import Path

import pytest

from investigator.errors import IncompleteError
from investigator.validation.launchers.slurm import SlurmLauncher

NAMES = ["as-released", "all-repairs"]


def interpreter(tmp_path: Path, site: Path, before: str = "") -> Path:
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\n{before}\nPYTHONPATH={site} exec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return script


def statuses(folder: Path) -> dict[str, str]:
    return {f.stem: json.loads(f.read_text())["status"] for f in (folder / "results").glob("*.json")}


@pytest.mark.slow
def test_one_job_a_variant(folder: Path, site: Path, tmp_path: Path) -> None:
    pytest.importorskip("submitit", reason="the extra 'slurm' is not installed")
    said: list[str] = []
    SlurmLauncher(python=str(interpreter(tmp_path, site)), cluster="local").run(folder, NAMES, said.append)
    assert statuses(folder) == dict.fromkeys(NAMES, "done")
    assert said == ["2 jobs on local"]


@pytest.mark.slow
def test_a_job_whose_node_dies_is_sent_again(folder: Path, site: Path, tmp_path: Path) -> None:
    pytest.importorskip("submitit", reason="the extra 'slurm' is not installed")
    mark = tmp_path / "died"
    once = f'case "$*" in *all-repairs*) if [ ! -e {mark} ]; then touch {mark}; kill -9 $$; fi;; esac'
    said: list[str] = []
    SlurmLauncher(python=str(interpreter(tmp_path, site, once)), cluster="local").run(
        folder, NAMES, said.append
    )
    assert statuses(folder) == dict.fromkeys(NAMES, "done")
    assert "again: all-repairs" in said


def test_without_sbatch_the_place_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("submitit", reason="the extra 'slurm' is not installed")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(IncompleteError, match="no sbatch"):
        SlurmLauncher().run(folder, NAMES, lambda line: None)
