"""Running git on repositories that nobody has vouched for, through GitPython.

Every command is a fixed list of arguments written in this project; what comes from outside (a
URL, a ref, object ids) is checked against a strict pattern first and stands where git cannot
take it for an option. No configuration but the repository's own is read, and of that nothing
that could start a program is honoured: no hooks, no file-system monitor, no credential helper,
no ssh, no submodules, and only the protocols that the caller allows.
"""

import io
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import Any

from investigator.errors import LimitError, SourceError, UsageError
from investigator.scratch import refusals_told
from investigator.sources.web import is_secure, parts_of

TIMEOUT = 300.0
"""Seconds that one git command may take."""

_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}\Z")
_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+/?\Z")

_GUARDS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.sshCommand=false",
    "core.askPass=",
    "credential.helper=",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "transfer.unpackLimit=1",
    "http.followRedirects=initial",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=30",
)


def checked_ref(ref: str) -> str:
    """A branch, tag or commit, when it is written like one. Raises UsageError."""
    if not _REF.match(ref) or ".." in ref or "//" in ref or ref.endswith((".lock", "/", ".")):
        raise UsageError(
            f"{ref!r} is no name of a branch, tag or commit", "write it as `git branch` shows it"
        )
    return ref


def checked_url(url: str) -> str:
    """A repository's address: https (http on this machine only), no credentials, no query.

    Raises UsageError.
    """
    parts = parts_of(url)  # drops tabs and line ends without a word
    if (
        parts is None
        or not is_secure(url)
        or not _HOST.fullmatch(parts.hostname or "")
        or not _PATH.match(parts.path)
        or any(character <= " " for character in url)
        or parts.query
        or parts.fragment
    ):
        raise UsageError(
            f"{url!r} is no address of a git repository that can be read",
            "write git:https://host/owner/name@REF, or clone it and give git:PATH@REF",
        )
    return url


def is_commit(text: str) -> bool:
    """Whether this is a whole commit id."""
    return _COMMIT.match(text) is not None


@dataclass(frozen=True)
class GitRepository:
    """One repository's ``.git`` folder. ``protocols``: those it may fetch over; none by default."""

    git_dir: Path
    protocols: tuple[str, ...] = ()
    ca_bundle: str | None = None
    proxy: str | None = None

    def run(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        timeout: float = TIMEOUT,
        most: int | None = None,
    ) -> bytes:
        """Standard output of one git command. Raises SourceError with git's own last line.

        ``most``: bytes of output, at most (LimitError beyond); for commands that say little
        on standard error.
        """
        status, out, error = self.attempt(*arguments, stdin=stdin, timeout=timeout, most=most)
        if status != 0:
            raise SourceError(
                f"git cannot {arguments[0]} in {self.git_dir}: {last_line(error)}",
                "try the same with git itself; a damaged or partial clone has to be made anew",
            )
        return out

    def attempt(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        timeout: float = TIMEOUT,
        most: int | None = None,
    ) -> tuple[int, bytes, str]:
        """Exit status, standard output and standard error of one git command."""
        git = import_git()
        guards = [*_GUARDS, f"safe.directory={self.git_dir}", f"safe.directory={self.git_dir.parent}"]
        if self.proxy is not None:
            guards.append(f"http.proxy={self.proxy}")
        command = ["git", f"--git-dir={self.git_dir}"]
        for guard in guards:
            command += ["-c", guard]
        begun = time.monotonic()
        bounded = None if most is None else _Bounded(most)
        with refusals_told(), TemporaryFile() as feed:
            feed.write(stdin or b"")
            feed.seek(0)
            try:
                status, out, error = git.Git(str(self.git_dir)).execute(
                    [*command, *arguments],
                    istream=feed,
                    output_stream=bounded,
                    with_extended_output=True,
                    with_exceptions=False,
                    stdout_as_string=False,
                    strip_newline_in_stdout=False,
                    kill_after_timeout=None if os.name == "nt" else timeout,
                    env=self._environment(),
                )
            except (git.CommandError, OSError) as failure:
                raise SourceError(
                    f"git does not start: {last_line(str(failure))}", "is git installed?"
                ) from failure
            except _Overflow:
                raise LimitError(
                    f"`git {arguments[0]}` in {self.git_dir} says more than {most} bytes", "it is not read"
                ) from None
        out = out if bounded is None else bounded.getvalue()
        said = error if isinstance(error, str) else error.decode("utf-8", "replace")
        # GitPython kills first and takes note of it afterwards: the clock tells as well.
        late = said.startswith("Timeout: ") or (status < 0 and time.monotonic() - begun >= timeout)
        return status, out, f"it took over {timeout:g} seconds" if late else said

    def _environment(self) -> dict[str, str]:
        environment = {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_COUNT": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_ALLOW_PROTOCOL": ":".join(self.protocols) or "none",
        }
        if self.ca_bundle is not None and "GIT_SSL_CAINFO" not in os.environ:
            environment["GIT_SSL_CAINFO"] = self.ca_bundle
        return environment


class _Overflow(Exception):
    """Git said more than it may."""


class _Bounded(io.BytesIO):
    """Takes a command's output up to a number of bytes."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > self._most:
            raise _Overflow
        return super().write(data)


def last_line(text: str) -> str:
    """The last line that says something, at most 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no reason given"


def local_repository(path: Path) -> GitRepository:
    """The repository at a path, bare or with a working tree. Raises UsageError."""
    git = import_git()
    try:
        with git.Repo(path, search_parent_directories=False) as repo:
            return GitRepository(Path(repo.git_dir).resolve())
    except (git.InvalidGitRepositoryError, git.NoSuchPathError, ValueError, OSError):
        raise UsageError(f"{path} is no git repository", "give git: a clone, bare or not") from None


def import_git() -> ModuleType:
    """GitPython, which does not import where git is not installed. Raises SourceError."""
    try:
        import git
    except ImportError as error:
        raise SourceError("git is not installed, or not on PATH", "install git") from error
    return git
