"""A disk that has no room for temporary files is one clear error, whoever needs one."""

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from investigator.errors import IncompleteError
from investigator.patches.verify import try_patch
from investigator.pull_requests.merge import merge
from investigator.scratch import scratch_folder
from investigator.sources.git_command import GitRepository


def test_a_folder_is_there_for_a_while_by_its_real_path() -> None:
    with scratch_folder() as folder:
        (folder / "x").write_bytes(b"1")
        assert folder == folder.resolve()

    assert not folder.exists()


def test_what_does_not_fit_is_told_with_what_to_do() -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(IncompleteError, match="No space left on device") as caught, scratch_folder():
        raise full

    assert caught.value.advice == "make room there, or name another folder with TMPDIR"


@pytest.mark.parametrize(
    "work",
    [
        lambda folder: try_patch(b"", {"a.py": b"x = 1\n"}, {}),
        lambda folder: merge(b"1\n", b"2\n", b"3\n"),
        lambda folder: GitRepository(folder).run("version", stdin=b"x"),
    ],
    ids=["a patch is tried", "a change is merged", "git is given a list"],
)
def test_everything_that_needs_one_tells_it(
    work: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))

    with pytest.raises(IncompleteError, match="nothing can be kept where temporary files go"):
        work(tmp_path)
