"""A commit of a repository behind https, of which only what is asked for is fetched.

A remote repository is never cloned whole: one commit without its files is fetched into the
store's folder (depth 1, blobless), and then the files that are asked for, many at once.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from investigator.errors import SourceError, UsageError
from investigator.model import Json, Origin, Source, SourceKind
from investigator.sources.git_command import (
    TIMEOUT,
    GitRepository,
    checked_ref,
    checked_url,
    is_commit,
    last_line,
)
from investigator.sources.git_tree import GitFile, GitTree, check_total, git_tree, list_files, read_blobs
from investigator.sources.reachable import Reachable, is_proxied
from investigator.sources.store import Store
from investigator.sources.transport import Transport

REF_AGE = timedelta(hours=6)
"""How long a branch or tag stands for the commit it named, when online."""

CONNECT = 5.0
"""Seconds within which a host has to answer before git is started at all."""

AT_ONCE = 1000
"""Files that one fetch asks for, at most."""

T = TypeVar("T")


def open_remote(
    url: str, ref: str | None, *, id: str, package: str | None, store: Store, transport: Transport
) -> GitTree:
    """A commit of a repository behind https. Raises UsageError, OfflineError, SourceError."""
    remote = _Remote(checked_url(url.removesuffix("/")), store, transport, id)
    commit, origin, when = remote.resolve(ref)
    files = remote.files(commit)
    source = Source(
        id=id,
        kind=SourceKind.GIT,
        name=url,
        revision=commit,
        origin=origin,
        retrieved_at=when,
        permalink=permalink(url, commit),
    )
    return git_tree(source, files, package, remote.load)


class _Remote:
    """What the store holds of one remote repository, and how to get the rest."""

    def __init__(self, url: str, store: Store, transport: Transport, id: str) -> None:
        self._url = url
        self._store = store
        self._transport = transport
        self._id = id
        self._server = Reachable(url, CONNECT, "it")
        name = hashlib.sha256(url.encode()).hexdigest()[:24]
        self._repository = GitRepository(
            store.root / "git" / f"{name}.git",
            (urlsplit(url).scheme,),
            transport.policy.ca_bundle,
            transport.policy.proxy,
        )

    def resolve(self, ref: str | None) -> tuple[str, Origin, datetime]:
        """The commit that a ref names, and since when that is known."""
        name = checked_ref(ref) if ref is not None else "HEAD"
        if is_commit(name):
            known = self._store.entry("git-files", self._key(name))
            return name, Origin.CACHE if known else Origin.LIVE, known.kept_at if known else datetime.now(UTC)
        entry = self._store.entry("git-ref", self._key(name))
        if entry is not None and isinstance(entry.value, str):
            age = datetime.now(UTC) - entry.kept_at
            if self._transport.offline or timedelta(0) <= age < REF_AGE:
                return entry.value, Origin.CACHE, entry.kept_at
        commit = self._ask(name)
        self._store.keep("git-ref", self._key(name), commit)
        return commit, Origin.LIVE, datetime.now(UTC)

    def files(self, commit: str) -> tuple[GitFile, ...]:
        """The files of a commit."""
        kept = self._store.record("git-files", self._key(commit))
        if isinstance(kept, Mapping):
            return tuple(GitFile(path, str(oid)) for path, oid in kept.items())
        files = self._at_work(lambda: self._fetch_files(commit))
        listing: dict[str, Json] = {file.path: file.oid for file in files}
        self._store.keep("git-files", self._key(commit), listing)
        return files

    def load(self, oids: Sequence[str]) -> Mapping[str, bytes]:
        """Contents by object id, out of the store or fetched in one go."""
        contents: dict[str, bytes] = {}
        missing = []
        for oid in oids:
            sha256 = self._store.record("git-blob", oid)
            data = self._store.blob(sha256) if isinstance(sha256, str) else None
            if data is None:
                missing.append(oid)
            else:
                contents[oid] = data
        for at in range(0, len(missing), AT_ONCE):
            fetched = self._at_work(partial(self._fetch_blobs, missing[at : at + AT_ONCE]))
            for oid, data in fetched.items():
                self._store.keep("git-blob", oid, self._store.keep_blob(data))
            contents.update(fetched)
            check_total(map(len, contents.values()), self._url)
        return contents

    def _fetch_files(self, commit: str) -> tuple[GitFile, ...]:
        self._fetch(f"commit {commit[:12]}", "--depth=1", "origin", commit)
        return list_files(replace(self._repository, protocols=()), commit)

    def _fetch_blobs(self, oids: Sequence[str]) -> dict[str, bytes]:
        self._fetch(f"{len(oids)} files", "origin", *oids)
        return read_blobs(replace(self._repository, protocols=()), oids)

    def _key(self, name: str) -> str:
        return f"{name} of {self._url}"

    def _ask(self, name: str) -> str:
        """The commit of a branch or tag, as the remote says now. Raises UsageError, SourceError."""
        out = self._at_work(
            lambda: self._over_network("ls-remote", name, "--", "origin", name, f"{name}^{{}}")
        )
        rows = [line.split("\t") for line in out.decode("utf-8", "replace").splitlines()]
        commits = {row[1]: row[0] for row in rows if len(row) == 2 and is_commit(row[0])}
        tag = commits.get(f"refs/tags/{name}^{{}}") or commits.get(f"refs/tags/{name}")
        found = {c for c in (tag, commits.get(f"refs/heads/{name}"), commits.get(name)) if c}
        if len(found) != 1:
            why = "is a branch and a tag" if found else "is no branch or tag"
            raise UsageError(f"{name} {why} of {self._url}", "write the whole commit id (40 hex digits)")
        return found.pop()

    def _fetch(self, what: str, *arguments: str) -> None:
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none")
        self._over_network("fetch", what, *options, *arguments)

    def _over_network(self, command: str, what: str, *arguments: str) -> bytes:
        before, started = self._bytes(), time.monotonic()
        left = self._transport.seconds_left(TIMEOUT)
        if left == 0:
            raise self._unreachable("the time for it is up")
        negotiation = ("-c", "fetch.negotiationAlgorithm=noop")
        status, out, error = self._repository.attempt(*negotiation, command, *arguments, timeout=left)
        self._transport.count(
            source=self._id,
            what=f"{what} of {self._url}",
            host=urlsplit(self._url).netloc,
            bytes=max(0, self._bytes() - before) + len(out),
            seconds=time.monotonic() - started,
        )
        if status != 0:
            raise self._unreachable(error)
        return out

    def _unreachable(self, error: str) -> SourceError:
        return SourceError(
            f"{self._url} cannot be fetched: {last_line(error)}",
            "check the address and the network; or clone it yourself and give git:PATH@REF",
        )

    def _bytes(self) -> int:
        return sum(pack.stat().st_size for pack in self._repository.git_dir.glob("objects/pack/*.pack"))

    def _at_work(self, action: Callable[[], T]) -> T:
        """Do something in the repository's folder, alone; once more in a new folder when it fails.

        The folder is only a workplace (what counts is in the store), so damage in it, as a
        killed process or a bad disk leaves it, is mended by making it anew.
        """
        import filelock

        folder = self._repository.git_dir
        self._transport.require(self._url, urlsplit(self._url).netloc)
        self._check_reachable()
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with filelock.FileLock(f"{folder}.lock", timeout=TIMEOUT):
                if self._ready.exists():
                    with suppress(SourceError):
                        return action()
                self._make()
                return action()
        except OSError as error:
            raise SourceError(
                f"{folder.parent} cannot be used: {error.strerror or error}",
                "give --cache-dir another folder",
            ) from error

    def _check_reachable(self) -> None:
        """Starting git several times is slow; a host that is not there is told of without."""
        if self._repository.proxy is None and not is_proxied(os.environ):
            try:
                self._server.check()
            except SourceError as error:
                raise self._unreachable(str(error)) from None

    @property
    def _ready(self) -> Path:
        """A mark that is made last, when the folder is whole."""
        return self._repository.git_dir / "investigate-ready"

    def _make(self) -> None:
        folder = self._repository.git_dir
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        repository = replace(self._repository, protocols=())
        repository.run("init", "--quiet", "--bare", "--template=")
        repository.run("config", "remote.origin.url", self._url)
        repository.run("config", "remote.origin.promisor", "true")
        repository.run("config", "extensions.partialClone", "origin")
        repository.run("config", "core.repositoryFormatVersion", "1")
        self._ready.touch()


def permalink(url: str, commit: str) -> str | None:
    """Pattern of a line's address (``{path}``, ``{line}``), for hosts laid out like GitHub."""
    parts = urlsplit(url.removesuffix("/").removesuffix(".git"))
    if (parts.hostname or "").split(".")[0] != "github" or parts.path.count("/") != 2:
        return None
    return f"{parts.geturl()}/blob/{commit}/{{path}}#L{{line}}"
