"""Folders that a user may read and not write: what was kept still serves, and what cannot be is told.

For root no folder is read-only, so that its right to pass over permissions is taken from the command.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.whole_case import WholeCase, essence, whole_case

NO_RIGHTS = "-dac_override,-dac_read_search"


def prefix() -> list[str]:
    """What goes before a command that permissions shall hold for."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv is installed, without which root writes everywhere")
    return ["setpriv", f"--inh-caps={NO_RIGHTS}", f"--bounding-set={NO_RIGHTS}"]


@pytest.fixture
def case(tmp_path: Path) -> Iterator[WholeCase]:
    with whole_case(tmp_path) as running:
        yield running


def set_writable(folder: Path, writable: bool) -> None:
    for place in [folder, *folder.rglob("*")]:
        place.chmod(place.stat().st_mode | 0o200 if writable else place.stat().st_mode & 0o555)


def ask(case: WholeCase, out: Path, cache: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*prefix(), *case.command(out, "--offline")],
        env=case.environment(cache),
        cwd=case.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_read_only_store_serves_and_a_read_only_run_folder_is_told(case: WholeCase, tmp_path: Path) -> None:
    cache, shut = tmp_path / "cache", tmp_path / "shut"
    first = case.run(tmp_path / "first", cache)
    shut.mkdir()
    set_writable(cache, writable=False)
    set_writable(shut, writable=False)
    try:
        again = ask(case, tmp_path / "again", cache)
        refused = ask(case, shut, cache)
    finally:
        set_writable(cache, writable=True)
        set_writable(shut, writable=True)

    assert (first.returncode, again.returncode) == (1, 1)
    assert "Traceback" not in again.stderr
    assert essence(tmp_path / "again") == essence(tmp_path / "first")
    assert refused.returncode == 2
    assert f"cannot write {shut}: Permission denied\n  give a folder that you may write" in refused.stderr
    assert list(shut.iterdir()) == []
