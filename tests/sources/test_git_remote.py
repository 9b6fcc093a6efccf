"""Repositories behind HTTP: one commit without its files, then the files that are asked for."""

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from investigator.errors import LimitError, NotFoundError, OfflineError, SourceError, UsageError
from investigator.events import Event, EventKind
from investigator.model import Origin
from investigator.sources import git_remote, git_tree
from investigator.sources.git_remote import permalink
from investigator.sources.open import Workspace, open_git
from tests.support.git_server import GitServer, commit, git
from tests.support.wheels import incompressible

FILES = {
    "model/dflash.py": b"offset = 1\n",
    "readme.md": b"# x\n",
    "weights.bin": incompressible(1_000_000),
}


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    """The repository that is served; its second commit is the newest."""
    folder = tmp_path / "upstream"
    commit(folder, {"model/dflash.py": b"offset = 0\n"})
    git(folder, "tag", "v1")
    git(folder, "tag", "--annotate", "--message", "x", "v1-annotated")
    commit(folder, FILES)
    return folder


@pytest.fixture
def server(httpserver: HTTPServer, tmp_path: Path) -> GitServer:
    return GitServer(httpserver, tmp_path / "served")


@pytest.fixture
def url(server: GitServer, upstream: Path) -> str:
    return server.publish(upstream, "ddtree")


def test_the_newest_commit_is_a_tree(url: str, upstream: Path, workspace: Workspace) -> None:
    tree = open_git(f"git:{url}", workspace)

    assert list(tree.paths()) == sorted(FILES)
    assert tree.read("model/dflash.py") == b"offset = 1\n"
    source = tree.source
    assert (source.id, source.name, source.origin) == ("ddtree", url, Origin.LIVE)
    assert source.revision == git(upstream, "rev-parse", "HEAD")


@pytest.mark.parametrize("ref", ["v1", "v1-annotated"])
def test_a_tag(url: str, upstream: Path, workspace: Workspace, ref: str) -> None:
    tree = open_git(f"git:{url}@{ref}", workspace)

    assert tree.source.revision == git(upstream, "rev-parse", "v1")
    assert tree.read("model/dflash.py") == b"offset = 0\n"


def test_a_branch_and_a_commit(url: str, upstream: Path, workspace: Workspace) -> None:
    first = git(upstream, "rev-parse", "v1")

    assert open_git(f"git:{url}@main", workspace).read("readme.md") == b"# x\n"
    assert open_git(f"git:{url}@{first}", workspace).read("model/dflash.py") == b"offset = 0\n"


def test_files_that_nobody_asks_for_stay_where_they_are(
    url: str, workspace: Workspace, events: list[Event]
) -> None:
    tree = open_git(f"git:{url}", workspace)
    tree.prefetch(["model/dflash.py", "readme.md"])

    usage = workspace.transport.usage()
    assert usage.bytes < 20_000
    assert usage.requests == 3  # the ref, the commit, the two files together
    assert [event.kind for event in events] == [EventKind.FETCHED] * 3
    assert {event.details["source"] for event in events} == {"ddtree"}

    assert tree.read("weights.bin") == FILES["weights.bin"]
    assert workspace.transport.usage().bytes > 1_000_000


def test_a_second_run_asks_nobody(
    url: str, server: GitServer, workspace: Workspace, reopened: Callable[..., Workspace]
) -> None:
    open_git(f"git:{url}", workspace).read("model/dflash.py")
    sent = len(server.server.log)

    for offline in (False, True):
        again = open_git(f"git:{url}", reopened(offline=offline))
        assert again.read("model/dflash.py") == b"offset = 1\n"
        assert again.source.origin is Origin.CACHE
    assert len(server.server.log) == sent


def test_offline_and_not_there(url: str, workspace: Workspace, reopened: Callable[..., Workspace]) -> None:
    with pytest.raises(OfflineError, match=r"would have to be fetched.*and this run is offline"):
        open_git(f"git:{url}", reopened(offline=True))

    open_git(f"git:{url}", workspace)
    tree = open_git(f"git:{url}", reopened(offline=True))
    with pytest.raises(OfflineError):
        tree.read("model/dflash.py")


def test_a_branch_that_moved_is_seen_after_a_while(
    url: str, server: GitServer, upstream: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_git(f"git:{url}@main", workspace)
    commit(upstream, {"model/dflash.py": b"offset = 2\n"})
    git(upstream, "push", "--quiet", str(server.root / "ddtree"), "main")

    assert open_git(f"git:{url}@main", workspace).read("model/dflash.py") == b"offset = 1\n"
    monkeypatch.setattr(git_remote, "REF_AGE", timedelta(0))
    assert open_git(f"git:{url}@main", workspace).read("model/dflash.py") == b"offset = 2\n"


def test_a_host_that_does_not_filter(url: str, server: GitServer, workspace: Workspace) -> None:
    git(server.root / "ddtree", "config", "uploadpack.allowFilter", "false")

    assert open_git(f"git:{url}", workspace).read("model/dflash.py") == b"offset = 1\n"


def test_a_ref_that_is_not_there(url: str, workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="gone is no branch or tag of"):
        open_git(f"git:{url}@gone", workspace)


def test_a_name_that_is_a_branch_and_a_tag(server: GitServer, upstream: Path, workspace: Workspace) -> None:
    git(upstream, "branch", "v1")
    url = server.publish(upstream, "both")

    with pytest.raises(UsageError, match="v1 is a branch and a tag of"):
        open_git(f"git:{url}@v1", workspace)


def test_a_repository_that_is_not_there(server: GitServer, workspace: Workspace) -> None:
    with pytest.raises(SourceError, match=r"/gone cannot be fetched: .*not found") as error:
        open_git(f"git:{server.url('gone')}", workspace)

    assert "clone it yourself" in error.value.advice


def test_a_commit_that_is_not_there(url: str, workspace: Workspace) -> None:
    with pytest.raises(SourceError, match="cannot be fetched"):
        open_git(f"git:{url}@{'1' * 40}", workspace)


def test_a_host_that_does_not_answer(workspace: Workspace) -> None:
    with pytest.raises(SourceError, match="cannot be fetched"):
        open_git("git:http://127.0.0.1:9/x", workspace)


def test_nothing_is_asked_past_the_deadline(url: str, workspace: Workspace, events: list[Event]) -> None:
    late = workspace.for_agent("reference", events=events.append, seconds=0)

    with pytest.raises(SourceError, match="the time for it is up"):
        open_git(f"git:{url}", late)


def test_an_address_that_is_never_asked(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="is no address of a git repository"):
        open_git("git:ssh://host.invalid/x", workspace)


def test_a_path_that_is_not_there(url: str, workspace: Workspace) -> None:
    with pytest.raises(NotFoundError, match=r"has no file gone\.py"):
        open_git(f"git:{url}", workspace).read("gone.py")


def test_a_file_over_the_limit(url: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_tree, "MAX_MEMBER", 1000)
    tree = open_git(f"git:{url}", workspace)

    with pytest.raises(LimitError, match=r"weights\.bin is over 1000 bytes"):
        tree.read("weights.bin")


def test_runs_at_once_share_the_folder(url: str, reopened: Callable[..., Workspace]) -> None:
    seen: list[bytes] = []
    threads = [
        threading.Thread(
            target=lambda: seen.append(open_git(f"git:{url}", reopened()).read("model/dflash.py"))
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [b"offset = 1\n"] * 3


def left_half_made(folder: Path) -> None:
    (folder / "HEAD").unlink()
    (folder / "investigate-ready").unlink()


def damaged_packs(folder: Path) -> None:
    for pack in folder.glob("objects/pack/*.pack"):
        pack.chmod(0o644)
        pack.write_bytes(pack.read_bytes()[:-30] + bytes(30))


def killed_while_fetching(folder: Path) -> None:
    (folder / "shallow.lock").write_text("")


def another_config(folder: Path) -> None:
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 99\n")


@pytest.mark.parametrize("harm", [left_half_made, damaged_packs, killed_while_fetching, another_config])
def test_a_damaged_workplace_is_made_anew(
    url: str, workspace: Workspace, harm: Callable[[Path], None]
) -> None:
    tree = open_git(f"git:{url}", workspace)
    [folder] = (workspace.store.root / "git").glob("*.git")
    harm(folder)

    assert tree.read("model/dflash.py") == b"offset = 1\n"
    assert open_git(f"git:{url}@v1", workspace).read("model/dflash.py") == b"offset = 0\n"


def test_a_token_in_the_environment_goes_nowhere(
    url: str, server: GitServer, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "canary-token")
    open_git(f"git:{url}", workspace).read("model/dflash.py")

    assert not any("canary-token" in str(request.headers) for request, _ in server.server.log)
    kept = [path.read_bytes() for path in workspace.store.root.rglob("*") if path.is_file()]
    assert not any(b"canary-token" in data for data in kept)


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://github.com/o/n", "https://github.com/o/n/blob/abc/{path}#L{line}"),
        ("https://github.example/o/n.git", "https://github.example/o/n/blob/abc/{path}#L{line}"),
        ("https://git.example/o/n", None),
        ("https://github.com/o", None),
    ],
)
def test_where_a_line_can_be_seen(url: str, link: str | None) -> None:
    assert permalink(url, "abc") == link


def test_a_cache_that_takes_no_repository(url: str, workspace: Workspace) -> None:
    (workspace.store.root / "git").write_text("a file in the way")

    with pytest.raises(SourceError, match=r"git cannot be used: File exists") as caught:
        open_git(f"git:{url}", workspace).read("model/dflash.py")

    assert caught.value.advice == "give --cache-dir another folder"
