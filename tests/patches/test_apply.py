"""Applied whole or not at all, and taken back without a trace."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from investigator.errors import PatchError
from investigator.model import Verdict
from investigator.patches.apply import apply
from investigator.patches.diff import diff_edits, unified
from investigator.patches.disk import Disk
from investigator.patches.edits import Edit
from investigator.patches.plan import NamedPatch
from investigator.patches.receipt import NEW, Drawer, State
from investigator.patches.revert import revert
from investigator.sources.text_tree import TextTree
from tests.patches import miniature, places
from tests.patches.miniature import DROP, LOOKAHEAD
from tests.patches.places import OLD, PATCHED, install, patches, sources, state


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return install(tmp_path / "site-packages")


def test_applies_and_takes_back_without_a_trace(root: Path) -> None:
    before = state(root)
    done = apply(root, "vllm", patches())
    assert sources(root) == places.new()
    assert done.receipt.state is State.APPLIED
    assert done.receipt.patches == ("0001-cache-drop.patch", "0002-lookahead.patch")
    revert(root, "vllm")
    assert state(root) == before


def test_the_toy_keeps_its_promises_while_it_is_patched(root: Path) -> None:
    apply(root, "vllm", patches())
    verdicts = miniature.judge()(TextTree(miniature.tree().source, sources(root)))
    assert (verdicts[DROP], verdicts[LOOKAHEAD]) == (Verdict.HONOURED, Verdict.HONOURED)


def test_compiled_caches_of_old_and_new_files_never_outlive_them(root: Path) -> None:
    """Even caches that Python would not check against their source."""
    cache = root / "vllm/v1/core/sched/__pycache__"
    (old,) = cache.iterdir()
    apply(root, "vllm", patches())
    assert list(cache.iterdir()) == []
    (cache / "scheduler.cpython-399.pyc").write_bytes(b"made while patched")
    (cache / old.name).write_bytes(b"made while patched, too")
    revert(root, "vllm")
    assert list(cache.iterdir()) == [old]


def test_python_runs_the_new_code_and_then_the_old(root: Path) -> None:
    def eagle_and_flash() -> str:
        script = (
            "from vllm.config.speculative import SpeculativeConfig as C; from vllm.v1.core.sched.scheduler "
            "import Scheduler as S; print(S(C('dflash'), []).num_lookahead_tokens)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True,
            env={"PYTHONPATH": str(root)},
        )  # fmt: skip
        return done.stdout.strip()

    assert eagle_and_flash() == "7"
    apply(root, "vllm", patches())
    assert eagle_and_flash() == "8"
    revert(root, "vllm")
    assert eagle_and_flash() == "7"


def test_a_checkout_shows_no_untracked_file(tmp_path: Path) -> None:
    for path, content in OLD.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    apply(tmp_path, "vllm", patches())
    status = subprocess.run(
        ["git", "status", "--short"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [line[1] for line in status.stdout.splitlines() if line[1] != " "] == ["M"] * 3


def test_the_notes_tell_what_pip_will_notice(root: Path) -> None:
    notes = apply(root, "vllm", patches()).notes
    assert any(note.startswith("RECORD of vllm does not match any more for vllm/config") for note in notes)
    assert "3 compiled caches of the patched files set aside" in notes


def test_hard_links_into_a_package_cache_are_broken_first(root: Path, tmp_path: Path) -> None:
    cached = tmp_path / "cache" / "scheduler.py"
    cached.parent.mkdir()
    os.link(root / PATCHED[2], cached)
    done = apply(root, "vllm", patches())
    assert cached.read_bytes() == OLD[PATCHED[2]]
    assert any(note.startswith(f"{PATCHED[2]}: shared with a package cache") for note in done.notes)
    revert(root, "vllm")
    assert (root / PATCHED[2]).samefile(cached)


def test_links_into_a_package_cache_are_replaced_and_come_back(root: Path, tmp_path: Path) -> None:
    cached = tmp_path / "cache" / "scheduler.py"
    cached.parent.mkdir()
    (root / PATCHED[2]).replace(cached)
    (root / PATCHED[2]).symlink_to(cached)
    apply(root, "vllm", patches())
    assert not (root / PATCHED[2]).is_symlink()
    assert cached.read_bytes() == OLD[PATCHED[2]]
    revert(root, "vllm")
    assert (root / PATCHED[2]).readlink() == cached


def test_a_folder_that_others_share_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "vllm").rename(tmp_path / "shared")
    (root / "vllm").symlink_to(tmp_path / "shared")
    with pytest.raises(PatchError, match=r"is a link to .*shared"):
        apply(root, "vllm", patches())


def test_mode_is_kept(root: Path) -> None:
    (root / PATCHED[0]).chmod(0o750)
    apply(root, "vllm", patches())
    assert (root / PATCHED[0]).stat().st_mode & 0o777 == 0o750


def rewrite(target: Path) -> None:
    target.write_text("x = 1\n")


def make_read_only(target: Path) -> None:
    target.chmod(0o444)


def make_a_pipe(target: Path) -> None:
    target.unlink()
    os.mkfifo(target)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (rewrite, r"is not the file that 0001-cache-drop\.patch was made for"),
        (Path.unlink, r"there is no .*scheduler\.py"),
        (make_read_only, "is read-only"),
        (make_a_pipe, "is no regular file"),
    ],
)
def test_what_is_not_as_expected_is_refused(root: Path, spoil: Callable[[Path], None], reason: str) -> None:
    spoil(root / PATCHED[2])
    names = sorted(path.as_posix() for path in root.rglob("*"))
    with pytest.raises(PatchError, match=reason):
        apply(root, "vllm", patches())
    assert sorted(path.as_posix() for path in root.rglob("*")) == names


def test_another_version_is_refused(root: Path) -> None:
    with pytest.raises(PatchError, match=r"for vllm 0\.9, and .* holds 1\.0"):
        apply(root, "vllm", patches(), version="0.9")


def test_no_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="there is no vllm in"):
        apply(tmp_path, "vllm", patches())


def test_a_patch_that_leads_out_is_refused(root: Path) -> None:
    evil = b"--- a/../evil.py\n+++ b/../evil.py\n@@ -0,0 +1 @@\n+x = 1\n"
    with pytest.raises(PatchError, match="must not name"):
        apply(root, "vllm", [NamedPatch("evil.patch", evil)])


def test_a_patch_that_adds_a_file_is_for_a_checkout(root: Path) -> None:
    added = unified(diff_edits([Edit("tests/test_new.py", 0, 0, b"x = 1\n")], {}))
    with pytest.raises(PatchError, match=r"x\.patch adds tests/test_new\.py"):
        apply(root, "vllm", [NamedPatch("x.patch", added)])


def test_on_top_of_a_patched_tree_is_refused(root: Path) -> None:
    apply(root, "vllm", patches())
    after = state(root)
    with pytest.raises(PatchError, match="is patched already") as caught:
        apply(root, "vllm", patches())
    assert caught.value.advice == f"take that back first: investigate revert --from {root}"
    assert state(root) == after


def test_nothing_to_take_back(root: Path) -> None:
    with pytest.raises(PatchError, match=r"nothing of vllm in .* is patched"):
        revert(root, "vllm")


def test_after_a_reinstall_of_the_same_version_revert_refuses_and_apply_starts_anew(root: Path) -> None:
    apply(root, "vllm", patches())
    for path, content in OLD.items():
        (root / path).write_bytes(content)
    with pytest.raises(
        PatchError, match=r"speculative.py is the original again \(was the package reinstalled\?\)"
    ):
        revert(root, "vllm")
    apply(root, "vllm", patches())
    assert sources(root) == places.new()


def test_after_a_reinstall_of_another_version_revert_refuses(root: Path) -> None:
    apply(root, "vllm", patches())
    (root / "vllm-1.0.dist-info").rename(root / "vllm-1.1.dist-info")
    with pytest.raises(PatchError, match=r"was 1\.0 when it was patched and is 1\.1 now"):
        revert(root, "vllm")


def test_after_a_hand_edit_revert_refuses_and_leaves_the_edit(root: Path) -> None:
    apply(root, "vllm", patches())
    (root / PATCHED[0]).write_text("mine = True\n")
    after = state(root)
    with pytest.raises(PatchError, match=r"speculative.py was edited since it was patched"):
        revert(root, "vllm")
    assert state(root) == after


def test_after_an_uninstall_revert_refuses(root: Path) -> None:
    apply(root, "vllm", patches())
    (root / PATCHED[0]).unlink()
    with pytest.raises(PatchError, match=r"speculative.py is gone"):
        revert(root, "vllm")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        "[" * 200_000,
        '{"schema": 2}',
        '{"schema": 1, "files": [{"path": "../x", "before": "", "after": ""}]}',
    ],
)
def test_a_receipt_that_cannot_be_read_is_told(root: Path, text: str) -> None:
    apply(root, "vllm", patches())
    (root / ".investigate/vllm/receipt.json").write_text(text)
    with pytest.raises(PatchError):
        revert(root, "vllm")


def test_two_at_once(root: Path) -> None:
    """The second one is told, and the first one's lock leaves no file."""
    holder = os.open(root, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        for attempt in (lambda: apply(root, "vllm", patches()), lambda: revert(root, "vllm")):
            with pytest.raises(PatchError, match="another apply or revert is at work"):
                attempt()
    finally:
        os.close(holder)
    assert sources(root) == OLD
    apply(root, "vllm", patches())


def test_where_files_cannot_have_two_names_a_copy_is_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*arguments: object, **keywords: object) -> None:
        raise PermissionError("this file system has no hard links")

    before = state(root)
    monkeypatch.setattr(os, "link", no_links)
    apply(root, "vllm", patches())
    revert(root, "vllm")
    assert state(root) == before


def test_no_patch_at_all(root: Path) -> None:
    with pytest.raises(PatchError, match="the patches change nothing") as caught:
        apply(root, "vllm", [])
    assert caught.value.advice == "name at least one patch file"


def test_another_users_file_is_left_to_them(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(root)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    with pytest.raises(PatchError, match=r"speculative.py belongs to another user") as caught:
        apply(root, "vllm", patches())

    assert caught.value.advice == "apply as that user, or use an overlay"
    assert state(root) == before


def begun(root: Path) -> Drawer:
    """The folder as after an apply that was cut short once every file was in place."""
    drawer = Drawer(root, "vllm", Disk())
    drawer.mark(apply(root, "vllm", patches()).receipt, State.APPLYING)
    return drawer


def test_an_interrupted_run_is_not_undone_over_a_hand_edit(root: Path) -> None:
    begun(root)
    (root / PATCHED[0]).write_text("mine = True\n")

    with pytest.raises(PatchError, match=r"speculative.py was changed since it was patched"):
        revert(root, "vllm")

    assert (root / PATCHED[0]).read_text() == "mine = True\n"
    assert (root / PATCHED[2]).read_bytes() == places.new()[PATCHED[2]]


def test_an_original_that_was_damaged_is_not_put_back(root: Path) -> None:
    drawer = begun(root)
    drawer.original(0).unlink()
    drawer.original(0).write_text("x")

    with pytest.raises(PatchError, match=r"originals/0 is not the original of vllm/.* any more") as caught:
        revert(root, "vllm")

    assert caught.value.advice == "reinstall the engine, then remove the .investigate folder"
    assert sources(root) == places.new()


def test_a_disk_that_fails_and_then_fails_again_is_told_with_both_reasons(root: Path) -> None:
    class Dying(Disk):
        def create(self, path: Path, content: bytes, like: Path | None = None) -> None:
            if like is not None:
                raise OSError("first")
            super().create(path, content, like)

        def remove(self, path: Path) -> None:
            if path.name.endswith(NEW) and path.parent.name != "vllm":
                raise OSError("second")
            super().remove(path)

    with pytest.raises(PatchError, match=r"failed \(first\), and so did taking it back: second") as caught:
        apply(root, "vllm", patches(), disk=Dying())

    assert caught.value.advice == "run investigate revert; it goes on from here"
    revert(root, "vllm")
    assert sources(root) == OLD
