"""Commits of a clone on this machine, bare or not."""

import hashlib
import threading
from pathlib import Path

import pytest

from investigator.case import EngineSpec
from investigator.errors import IntegrityError, LimitError, NotFoundError, SourceError, UsageError
from investigator.model import Origin, SourceKind
from investigator.sources import git_tree as git_tree_module
from investigator.sources.open import Workspace, open_engine, open_git, split_git
from tests.support.git_server import commit, git


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return tmp_path / "ddtree"


def test_a_commit_is_a_tree(clone: Path, workspace: Workspace) -> None:
    first = commit(clone, {"model/dflash.py": b"offset = 1\n", "readme.md": b"# x\n"})

    tree = open_git(f"git:{clone}", workspace)

    assert list(tree.paths()) == ["model/dflash.py", "readme.md"]
    assert tree.read("model/dflash.py") == b"offset = 1\n"
    assert tree.digest("readme.md") == hashlib.sha256(b"# x\n").hexdigest()
    source = tree.source
    assert (source.id, source.kind, source.name) == ("ddtree", SourceKind.GIT, str(clone))
    assert (source.revision, source.origin, source.permalink) == (first, Origin.LOCAL, None)
    assert source.released_at is not None
    assert int(source.released_at.timestamp()) == int(git(clone, "log", "-1", "--format=%ct"))


def test_what_is_not_committed_is_not_there(clone: Path, workspace: Workspace) -> None:
    commit(clone, {"a.py": b"committed\n"})
    (clone / "a.py").write_bytes(b"edited\n")
    (clone / "b.py").write_bytes(b"new\n")

    tree = open_git(f"git:{clone}", workspace)

    assert list(tree.paths()) == ["a.py"]
    assert tree.read("a.py") == b"committed\n"


def test_any_ref(clone: Path, tmp_path: Path, workspace: Workspace) -> None:
    first = commit(clone, {"a.py": b"1\n"})
    git(clone, "tag", "v1")
    git(clone, "tag", "--annotate", "--message", "x", "v1-annotated")
    git(clone, "branch", "feature/x")
    second = commit(clone, {"a.py": b"2\n"})
    git(tmp_path, "clone", "--quiet", "--bare", "ddtree", "bare.git")

    for ref in ["@v1", "@v1-annotated", "@feature/x", f"@{first}", f"@{first[:8]}", "@tags/v1"]:
        assert open_git(f"git:{clone}{ref}", workspace).source.revision == first, ref
    for ref in ["", "@main", "@HEAD", "@heads/main"]:
        assert open_git(f"git:{tmp_path}/bare.git{ref}", workspace).source.revision == second, ref


def test_a_name_that_is_a_branch_and_a_tag(clone: Path, workspace: Workspace) -> None:
    commit(clone, {"a.py": b"1\n"})
    git(clone, "tag", "both")
    commit(clone, {"a.py": b"2\n"})
    git(clone, "branch", "both")

    with pytest.raises(UsageError, match="both is a branch and a tag"):
        open_git(f"git:{clone}@both", workspace)
    assert open_git(f"git:{clone}@tags/both", workspace).read("a.py") == b"1\n"


def test_a_ref_that_is_not_there(clone: Path, workspace: Workspace) -> None:
    commit(clone, {"a.py": b"1\n"})

    with pytest.raises(UsageError, match="has no branch, tag or commit gone"):
        open_git(f"git:{clone}@gone", workspace)


def test_an_empty_repository(clone: Path, workspace: Workspace) -> None:
    clone.mkdir()
    git(clone, "init", "--quiet")

    with pytest.raises(UsageError, match="has no branch, tag or commit HEAD"):
        open_git(f"git:{clone}", workspace)


@pytest.mark.parametrize("prefix", ["", "src/", "python/"])
def test_an_engine_in_a_repository(clone: Path, workspace: Workspace, prefix: str) -> None:
    commit(clone, {f"{prefix}vllm/__init__.py": b"", f"{prefix}vllm/a.py": b"a\n", "tests/vllm/b.py": b"b\n"})

    tree = open_engine(EngineSpec.parse(f"git:{clone}@main"), workspace)

    assert list(tree.paths()) == ["vllm/__init__.py", "vllm/a.py"]
    assert tree.read("vllm/a.py") == b"a\n"
    assert tree.source.id == "vllm"


def test_a_repository_without_the_engine(clone: Path, workspace: Workspace) -> None:
    commit(clone, {"a.py": b""})

    with pytest.raises(UsageError, match=r"holds no vllm/__init__\.py"):
        open_engine(EngineSpec.parse(f"git:{clone}"), workspace)


def test_links_and_submodules_are_no_files(clone: Path, workspace: Workspace) -> None:
    commit(clone, {"a.py": b"a\n"})
    (clone / "link.py").symlink_to("/etc/passwd")
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    commit(clone, {"b.py": b"b\n"})

    assert list(open_git(f"git:{clone}", workspace).paths()) == ["a.py", "b.py"]


def test_a_path_that_is_not_there(clone: Path, workspace: Workspace) -> None:
    commit(clone, {"a.py": b""})
    tree = open_git(f"git:{clone}", workspace)

    tree.prefetch(["gone.py"])
    with pytest.raises(NotFoundError, match=r"has no file gone\.py"):
        tree.read("gone.py")


def test_odd_names_and_contents(clone: Path, workspace: Workspace) -> None:
    files = {"a b.py": b"x\n", "é.py": b"\r\n\0\n", 'q"uote.py': b"", "new\nline.py": b"no end of line"}
    commit(clone, files)

    tree = open_git(f"git:{clone}", workspace)

    assert {path: tree.read(path) for path in tree.paths()} == files


def test_a_file_over_the_limit(clone: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(clone, {"big.py": b"x" * 1001, "small.py": b"x" * 1000})
    monkeypatch.setattr(git_tree_module, "MAX_MEMBER", 1000)
    tree = open_git(f"git:{clone}", workspace)

    tree.prefetch(tree.paths())
    assert len(tree.read("small.py")) == 1000
    with pytest.raises(LimitError, match=r"big\.py is over 1000 bytes"):
        tree.read("big.py")


def test_too_many_files(clone: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(clone, {f"{n}.py": b"" for n in range(5)})
    monkeypatch.setattr(git_tree_module, "MAX_FILES", 4)

    with pytest.raises(LimitError, match="holds more than 4 files"):
        open_git(f"git:{clone}", workspace)


def test_files_are_read_in_batches(
    clone: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"{n}.py": b"%d" % n * 100 for n in range(8)}
    commit(clone, files)
    monkeypatch.setattr(git_tree_module, "BATCH", 250)
    tree = open_git(f"git:{clone}", workspace)

    tree.prefetch(tree.paths())

    assert {path: tree.read(path) for path in tree.paths()} == files


def test_a_damaged_object(clone: Path, workspace: Workspace) -> None:
    """A loose object replaced by another, sound one: its name no longer is its hash."""
    commit(clone, {"a.py": b"a\n", "b.py": b"b\n"})
    one, other = (git(clone, "rev-parse", f"HEAD:{name}") for name in ("a.py", "b.py"))
    target = clone / ".git/objects" / one[:2] / one[2:]
    target.chmod(0o644)
    target.write_bytes((clone / ".git/objects" / other[:2] / other[2:]).read_bytes())

    with pytest.raises((IntegrityError, SourceError), match=r"damaged|mismatch|corrupt"):
        open_git(f"git:{clone}", workspace).read("a.py")


def test_an_object_that_is_missing(clone: Path, workspace: Workspace) -> None:
    commit(clone, {"a.py": b"a\n"})
    oid = git(clone, "rev-parse", "HEAD:a.py")
    (clone / ".git/objects" / oid[:2] / oid[2:]).unlink()

    with pytest.raises(SourceError, match=f"lacks object {oid}") as error:
        open_git(f"git:{clone}", workspace).read("a.py")

    assert "partial clone" in error.value.advice


def test_threads_share_a_tree(clone: Path, workspace: Workspace) -> None:
    files = {f"{n}.py": b"%d\n" % n for n in range(20)}
    commit(clone, files)
    tree = open_git(f"git:{clone}", workspace)
    seen: list[dict[str, bytes]] = []
    threads = [
        threading.Thread(target=lambda: seen.append({path: tree.read(path) for path in tree.paths()}))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [files] * 4


@pytest.mark.parametrize(
    ("spec", "where", "ref"),
    [
        ("git:/a/b", "/a/b", None),
        ("git:/a/b@main", "/a/b", "main"),
        ("git:https://h.invalid/o/n@v1.0", "https://h.invalid/o/n", "v1.0"),
        ("git:https://h.invalid/o/n", "https://h.invalid/o/n", None),
        ("github:owner/name", "https://github.com/owner/name", None),
        ("github:owner/na.me@feature/x", "https://github.com/owner/na.me", "feature/x"),
    ],
)
def test_how_a_repository_is_written(
    monkeypatch: pytest.MonkeyPatch, spec: str, where: str, ref: str | None
) -> None:
    monkeypatch.delenv("GITHUB_SERVER_URL", raising=False)

    assert split_git(spec) == (where, ref)


def test_another_github(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.example/")

    assert split_git("github:owner/name") == ("https://github.example/owner/name", None)


def test_a_folder_with_an_at_sign(tmp_path: Path, workspace: Workspace) -> None:
    commit(tmp_path / "me@home", {"a.py": b"a\n"})

    assert open_git(f"git:{tmp_path}/me@home", workspace).read("a.py") == b"a\n"
    assert open_git(f"git:{tmp_path}/me@home@main", workspace).read("a.py") == b"a\n"


@pytest.mark.parametrize("spec", ["git:", "svn:x", "x", "github:owner", "github:a/b/c", "github:../x"])
def test_what_names_no_repository(spec: str) -> None:
    with pytest.raises(UsageError, match="cannot read repository"):
        split_git(spec)


def test_trees_that_name_each_other_into_billions_of_files(clone: Path, workspace: Workspace) -> None:
    commit(clone, {"a.py": b""})
    blob = git(clone, "rev-parse", "HEAD:a.py")
    entries = [f"100644 blob {blob}\tf{n}" for n in range(10)]
    for _ in range(9):  # ten to the tenth
        tree = git(clone, "mktree", stdin="\n".join(entries) + "\n")
        entries = [f"040000 tree {tree}\td{n}" for n in range(10)]
    git(clone, "update-ref", "refs/heads/bomb", git(clone, "commit-tree", "-m", "x", tree))

    with pytest.raises(LimitError, match=r"`git ls-tree` in .* says more than 33554432 bytes"):
        open_git(f"git:{clone}@bomb", workspace)


def test_files_that_are_small_packed_and_large_together(
    clone: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_tree_module, "MAX_CONTENTS", 2500)
    commit(clone, {f"{n}.py": b"%d" % n * 1000 for n in range(3)})
    tree = open_git(f"git:{clone}", workspace)

    with pytest.raises(LimitError, match="hold more than 2500 bytes"):
        tree.prefetch(tree.paths())
    tree.prefetch(["0.py", "1.py"])
    with pytest.raises(LimitError, match="hold more than 2500 bytes"):
        tree.read("2.py")
