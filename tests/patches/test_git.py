"""git is run where no repository can mislead it, and only on patches that change text."""

import subprocess
from pathlib import Path

import pytest

from investigator.errors import IncompleteError, PatchError
from investigator.patches.diff import diff_edits, unified
from investigator.patches.edits import Edit
from investigator.patches.git import Workplace, applied, touched_paths
from investigator.pull_requests.merge import merge

BEFORE = b"x = 1\n"
AFTER = b"x = 2\n"
PATCH = unified(diff_edits([Edit("pkg/mod.py", 4, 5, b"2")], {"pkg/mod.py": BEFORE}))


def test_applies_inside_another_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trap: below a repository's top, plain git apply skips the patch and exits with 0."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    inner = tmp_path / "sp"
    inner.mkdir()
    monkeypatch.setenv("TMPDIR", str(inner))
    monkeypatch.setattr("tempfile.tempdir", str(inner))
    monkeypatch.chdir(inner)
    plain = subprocess.run(["git", "apply"], input=PATCH, cwd=inner, capture_output=True, check=False)
    assert plain.returncode == 0, "the trap itself, without which this test shows nothing"
    assert applied(PATCH, {"pkg/mod.py": BEFORE}) == {"pkg/mod.py": AFTER}


def test_says_when_it_is_applied_already() -> None:
    with pytest.raises(PatchError, match="applied already"):
        applied(PATCH, {"pkg/mod.py": AFTER})


def test_says_when_it_does_not_apply() -> None:
    with pytest.raises(PatchError, match=r"does not apply: error: patch failed: pkg/mod\.py:1"):
        applied(PATCH, {"pkg/mod.py": b"y = 1\n"})


def test_says_when_the_file_is_missing() -> None:
    with pytest.raises(PatchError, match=r"does not apply: error: pkg/mod.py: No such file"):
        applied(PATCH, {})


def test_reads_no_configuration_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".gitconfig").write_text("[apply]\n\twhitespace = fix\n[core]\n\tautocrlf = true\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    trailing = unified(diff_edits([Edit("mod.py", 4, 5, b"2  ")], {"mod.py": BEFORE}))
    assert applied(trailing, {"mod.py": BEFORE}) == {"mod.py": b"x = 2  \n"}


def diff(path: str = "pkg/mod.py", header: str = "", other: str | None = None) -> bytes:
    other = path if other is None else other
    return (
        f"diff --git a/{path} b/{other}\n{header}--- a/{path}\n+++ b/{other}\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    ).encode()


RENAME = "similarity index 90%\nrename from pkg/mod.py\nrename to pkg/other.py\n"
ADDED_LINK = b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"
REMOVAL = b"diff --git a/m b/m\ndeleted file mode 100644\n--- a/m\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
BINARY = b"diff --git a/b.so b/b.so\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo\n\n"


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param(diff("../../evil.txt"), id="up and out"),
        pytest.param(diff("/etc/passwd"), id="absolute"),
        pytest.param(diff(".git/hooks/pre-commit"), id="git's own"),
        pytest.param(diff(header="old mode 100644\nnew mode 100755\n"), id="mode"),
        pytest.param(diff(other="pkg/other.py", header=RENAME), id="rename"),
        pytest.param(diff(other="pkg/other.py"), id="silent rename"),
        pytest.param(diff(header="index 1111111..2222222 120000\n"), id="symlink changed"),
        pytest.param(ADDED_LINK, id="symlink added"),
        pytest.param(REMOVAL, id="removal"),
        pytest.param(BINARY, id="binary"),
        pytest.param(diff() + diff(), id="twice"),
        pytest.param(b"hello\n", id="no patch"),
        pytest.param(b"--- a/m.py\n+++ b/m.py\n@@ -1,5 +1 @@\n-x\n", id="cut off"),
    ],
)
def test_refuses_before_git_sees_it(patch: bytes) -> None:
    with pytest.raises(PatchError):
        touched_paths(patch)


def test_names_the_files_of_a_plain_patch() -> None:
    assert touched_paths(b"A mail's head.\n\n" + PATCH) == ("pkg/mod.py",)


def test_a_patch_that_changes_nothing() -> None:
    same = b"--- a/pkg/mod.py\n+++ b/pkg/mod.py\n@@ -1 +1 @@\n-x = 1\n+x = 1\n"

    with pytest.raises(PatchError, match="the patch changes nothing"):
        applied(same, {"pkg/mod.py": b"x = 1\n"})


def test_a_git_that_changes_another_file_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(self: Workplace, patch: bytes, *options: str) -> str | None:
        self.write({"evil.py": b"x = 2\n"})
        return None

    monkeypatch.setattr(Workplace, "git_apply", elsewhere)

    with pytest.raises(PatchError, match="git apply changed other files than the patch names"):
        applied(diff(), {"pkg/mod.py": b"x = 1\n"})


def test_without_git_it_is_said_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(PatchError, match="there is no git command") as caught:
        applied(diff(), {"pkg/mod.py": b"x = 1\n"})
    with pytest.raises(IncompleteError, match=r"a change could not be merged: .*'git'"):
        merge(b"a\n", b"b\n", b"c\n")

    assert caught.value.advice == "install git; patches are checked with it"


def test_a_patch_over_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("investigator.patches.git.MAX_PATCH_BYTES", len(diff()))
    assert touched_paths(diff()) == ("pkg/mod.py",)

    with pytest.raises(PatchError, match=rf"a patch of {len(diff()) + 1} bytes"):
        touched_paths(b"\n" + diff())
