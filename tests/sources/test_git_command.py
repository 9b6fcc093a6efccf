"""What git may be asked, and what it is kept from doing."""

import re
import socket
from pathlib import Path

import pytest

from investigator.errors import SourceError, UsageError
from investigator.sources.git_command import (
    GitRepository,
    checked_ref,
    checked_url,
    last_line,
    local_repository,
)
from tests.support.git_server import commit, git


@pytest.mark.parametrize(
    "ref", ["main", "v0.20.1", "release/0.20", "heads/main", "c96427a", "a" * 40, "v1+cu129"]
)
def test_refs_that_may_be_asked_for(ref: str) -> None:
    assert checked_ref(ref) == ref


NO_REFS = ["", "-upload-pack=x", "--help", "a..b", "a b", "a^", "a~1", "@{-1}", "a:b", "a//b", "x.lock", "a/"]
NO_REFS += ["a\n", "a" * 201, ".a", "a*", "a?", "refs\\x", "é"]


@pytest.mark.parametrize("ref", NO_REFS)
def test_refs_that_may_not(ref: str) -> None:
    with pytest.raises(UsageError, match="is no name of a branch, tag or commit"):
        checked_ref(ref)


@pytest.mark.parametrize(
    "url",
    [
        "https://host.invalid/owner/name",
        "https://host.invalid:8443/owner/name.git",
        "http://127.0.0.1:8000/name",
        "http://localhost/~me/name",
    ],
)
def test_addresses_that_may_be_asked(url: str) -> None:
    assert checked_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://host.invalid/owner/name",
        "ssh://host.invalid/owner/name",
        "git://host.invalid/owner/name",
        "file:///etc",
        "ext::sh -c touch% x",
        "https://user:token@host.invalid/owner/name",
        "https://host.invalid",
        "https://host.invalid/",
        "https://host.invalid/a?b=c",
        "https://host.invalid/a#b",
        "https://host.invalid/a b",
        "https://host.invalid/a\nb",
        "https://host.invalid/a\tb",
        "https://host.invalid/--upload-pack=x;y",
        "https://-host.invalid/a",
        "https://host.invalid:0/a",
        "https://host.invalid:x/a",
        "https://[::1]/a",
        "https://[::1/a",
    ],
)
def test_addresses_that_may_not(url: str) -> None:
    with pytest.raises(UsageError, match="is no address of a git repository"):
        checked_url(url)


def test_a_repository_with_a_working_tree_and_a_bare_one(tmp_path: Path) -> None:
    commit(tmp_path / "work", {"a.py": b"a = 1\n"})
    git(tmp_path, "clone", "--quiet", "--bare", "work", "bare.git")

    assert local_repository(tmp_path / "work").git_dir == (tmp_path / "work/.git").resolve()
    assert local_repository(tmp_path / "bare.git").git_dir == (tmp_path / "bare.git").resolve()


@pytest.mark.parametrize("name", ["gone", "folder", "work/below"])
def test_what_is_no_repository(tmp_path: Path, name: str) -> None:
    commit(tmp_path / "work", {"below/a.py": b"a = 1\n"})
    (tmp_path / "folder").mkdir()

    with pytest.raises(UsageError, match="is no git repository"):
        local_repository(tmp_path / name)


def test_gits_own_words_reach_the_user(tmp_path: Path) -> None:
    commit(tmp_path, {"a.py": b""})

    with pytest.raises(
        SourceError, match=re.escape(f"git cannot ls-tree in {tmp_path.resolve() / '.git'}: fatal:")
    ):
        local_repository(tmp_path).run("ls-tree", "0" * 40)
    assert last_line("warning: x\nfatal: y\n\n") == "fatal: y"
    assert last_line("") == "no reason given"


def test_a_program_that_a_repository_names_is_not_started(tmp_path: Path) -> None:
    """Its configuration is foreign: monitor, pager, alias, ssh command, remote: none is started."""
    commit(tmp_path / "work", {"a.py": b""})
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    work = tmp_path / "work"
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.askPass", "credential.helper"):
        git(work, "config", key, str(trap))
    git(work, "config", "alias.ls-tree", f"!{trap}")
    git(work, "config", "remote.origin.url", f"ext::{trap}")
    git(work, "config", "remote.origin.promisor", "true")
    git(work, "config", "extensions.partialClone", "origin")
    repository = local_repository(work)

    repository.run("ls-tree", "-r", "HEAD")
    status, _, error = repository.attempt("cat-file", "-p", "1" * 40)

    assert status != 0
    assert "ext" in error or "not allowed" in error
    assert not (tmp_path / "sprung").exists()


def test_the_users_own_git_settings_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GIT_DIR that a hook left behind must not lead elsewhere."""
    here, there = tmp_path / "here", tmp_path / "there"
    commit(here, {"a.py": b"here"})
    commit(there, {"b.py": b"there"})
    monkeypatch.setenv("GIT_DIR", str(there / ".git"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.quotePath")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "false")

    assert local_repository(here).run("ls-tree", "--name-only", "HEAD") == b"a.py\n"


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    commit(tmp_path, {"a.py": b""})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_url = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        repository = GitRepository(tmp_path / ".git", ("http",))

        with pytest.raises(SourceError, match=r"git cannot fetch in .*it took over 0\.5 seconds"):
            repository.run("fetch", silent_url, "main", timeout=0.5)


def test_nothing_but_the_protocols_that_are_allowed(tmp_path: Path) -> None:
    commit(tmp_path / "work", {"a.py": b""})
    repository = GitRepository(tmp_path / "work" / ".git", ("https",))

    with pytest.raises(SourceError, match="not allowed"):
        repository.run("fetch", str(tmp_path / "work"), "main")


def test_without_git_it_is_said_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(tmp_path, {"a.py": b""})
    repository = local_repository(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))

    with pytest.raises(SourceError, match="git does not start") as caught:
        repository.run("rev-parse", "HEAD")

    assert caught.value.advice == "is git installed?"
