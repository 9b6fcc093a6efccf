"""``investigate overlay``: a patched engine beside the installed one."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from investigator import cli
from tests.patches.places import install, state
from tests.support.toy_run import SERVE, write_run

Invoke = Callable[..., tuple[int, str, str]]

SLOTS = (
    "from vllm.config.speculative import SpeculativeConfig as C\n"
    "from vllm.v1.core.sched.scheduler import Scheduler as S\n"
    "print(S(C('dflash'), []).num_lookahead_tokens)\n"
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return install(tmp_path / "site-packages")


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


@pytest.fixture
def invoke(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Invoke:
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = cli.invoke([str(argument) for argument in arguments])
        return code, *capfd.readouterr()

    return call


def test_the_line_that_is_printed_switches_it_on(
    site: Path, run_folder: Path, invoke: Invoke, tmp_path: Path
) -> None:
    before = state(site)

    code, out, err = invoke("overlay", run_folder, "--base", site, "--out", "re paired")

    assert code == 0
    assert out == f"export PYTHONPATH='{tmp_path}/re paired'${{PYTHONPATH:+:$PYTHONPATH}}\n"
    assert err.splitlines()[1:] == ["then, in the same shell:", SERVE]
    shell = f"{out}exec '{sys.executable}' -c \"$1\""
    done = subprocess.run(
        ["/bin/sh", "-c", shell, "sh", SLOTS], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(site)},
    )  # fmt: skip
    assert done.stdout == "8\n"
    assert state(site) == before


def test_quiet_prints_that_line_alone(site: Path, run_folder: Path, invoke: Invoke) -> None:
    code, out, err = invoke("overlay", run_folder, "--base", site, "--out", "made", "-q")

    assert (code, out.count("\n"), err) == (0, 1, "")


def test_another_version_is_refused_and_leaves_nothing(site: Path, tmp_path: Path, invoke: Invoke) -> None:
    folder = write_run(tmp_path / "run", version="0.20.1")

    code, out, err = invoke("overlay", folder, "--base", site, "--out", "made")

    assert (code, out) == (4, "")
    assert "the patches are for vllm 0.20.1" in err
    assert not (tmp_path / "made").exists()


def test_a_folder_that_is_there_is_not_written(site: Path, run_folder: Path, invoke: Invoke) -> None:
    code, _, err = invoke("overlay", run_folder, "--base", site, "--out", run_folder)

    assert code == 2
    assert "exists already" in err


def test_an_environment_without_the_engine(run_folder: Path, invoke: Invoke) -> None:
    code, _, err = invoke("overlay", run_folder, "--base", "no-such-folder", "--out", "made")

    assert code == 2
    assert "no-such-folder is not a folder" in err
