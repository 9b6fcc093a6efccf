"""A commit of a repository behind https, of which only what is asked for is fetched.

A remote repository is never cloned whole: one commit without its files is fetched into the
store's folder (depth 1, blobless), and then the files that are asked for, many at once.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from investigator.errors import OfflineError, SourceError, UsageError
from investigator.model import Json, Origin, Source, SourceKind
from investigator.sources.git_command import (
    TIMEOUT,
    GitRepository,
    checked_ref,
    checked_url,
    is_commit,
    last_line,
)
from investigator.sources.git_tree import GitFile, GitTree, git_tree, list_files, read_blobs
from investigator.sources.store import Store
from investigator.sources.transport import Transport

REF_AGE = timedelta(hours=6)
"""How long a branch or tag stands for the commit it named, when online."""


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
        with self._locked():
            self._fetch(f"commit {commit[:12]}", "--depth=1", "origin", commit)
            files = list_files(self._repository, commit)
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
        if missing:
            with self._locked():
                for at in range(0, len(missing), 1000):
                    part = missing[at : at + 1000]
                    self._fetch(f"{len(part)} files", "origin", *part)
                    fetched = read_blobs(replace(self._repository, protocols=()), part)
                    for oid, data in fetched.items():
                        self._store.keep("git-blob", oid, self._store.keep_blob(data))
                    contents.update(fetched)
        return contents

    def _key(self, name: str) -> str:
        return f"{name} of {self._url}"

    def _ask(self, name: str) -> str:
        """The commit of a branch or tag, as the remote says now. Raises UsageError, SourceError."""
        with self._locked():
            status, out, error = self._over_network(
                "ls-remote", f"{name} of", "--", "origin", name, f"{name}^{{}}"
            )
        if status != 0:
            raise self._unreachable(error)
        rows = [line.split("\t") for line in out.decode("utf-8", "replace").splitlines()]
        commits = {row[1]: row[0] for row in rows if len(row) == 2 and is_commit(row[0])}
        tag = commits.get(f"refs/tags/{name}^{{}}") or commits.get(f"refs/tags/{name}")
        found = {c for c in (tag, commits.get(f"refs/heads/{name}"), commits.get(name)) if c}
        if len(found) != 1:
            why = "is a branch and a tag" if found else "is no branch or tag"
            raise UsageError(f"{name} {why} of {self._url}", "write the whole commit id (40 hex digits)")
        return found.pop()

    def _fetch(self, what: str, *arguments: str) -> None:
        status, _, error = self._over_network(
            "fetch",
            f"{what} of",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--filter=blob:none",
            *arguments,
        )
        if status != 0:
            raise self._unreachable(error)

    def _over_network(self, command: str, what: str, *arguments: str) -> tuple[int, bytes, str]:
        host = urlsplit(self._url).netloc
        self._transport.require(f"{what} {self._url}", host)
        before, started = self._bytes(), time.monotonic()
        left = self._transport.seconds_left(TIMEOUT)
        if left == 0:
            raise self._unreachable("the time for it is up")
        negotiation = ("-c", "fetch.negotiationAlgorithm=noop")
        result = self._repository.attempt(*negotiation, command, *arguments, timeout=left)
        self._transport.count(
            source=self._id,
            what=f"{what} {self._url}",
            host=host,
            bytes=max(0, self._bytes() - before) + len(result[1]),
            seconds=time.monotonic() - started,
        )
        return result

    def _unreachable(self, error: str) -> SourceError:
        return SourceError(
            f"{self._url} cannot be fetched: {last_line(error)}",
            "check the address and the network; or clone it yourself and give git:PATH@REF",
        )

    def _bytes(self) -> int:
        return sum(pack.stat().st_size for pack in self._repository.git_dir.glob("objects/pack/*.pack"))

    def _locked(self) -> "_Lock":
        return _Lock(self._repository, self._url, self._transport.offline)


class _Lock:
    """Holds a remote's folder for this process, and makes it when it is not there yet."""

    def __init__(self, repository: GitRepository, url: str, offline: bool) -> None:
        import filelock

        self._repository = repository
        self._url = url
        self._offline = offline
        self._lock = filelock.FileLock(f"{repository.git_dir}.lock", timeout=600)

    def __enter__(self) -> None:
        folder = self._repository.git_dir
        if self._offline:
            raise OfflineError(
                f"{self._url} would have to be fetched, and this run is offline",
                "run once without --offline: what is fetched is kept, and then --offline works",
            )
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock.acquire()
            if not (folder / "objects" / "pack").exists() or not (folder / "HEAD").exists():
                folder.mkdir(mode=0o700, exist_ok=True)
                repository = replace(self._repository, protocols=())
                repository.run("init", "--quiet", "--bare", "--template=")
                repository.run("config", "remote.origin.url", self._url)
                repository.run("config", "remote.origin.promisor", "true")
                repository.run("config", "extensions.partialClone", "origin")
                repository.run("config", "core.repositoryFormatVersion", "1")
        except OSError as error:
            raise SourceError(
                f"{folder.parent} cannot be written: {error.strerror or error}",
                "give --cache-dir another folder",
            ) from error

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def permalink(url: str, commit: str) -> str | None:
    """Pattern of a line's address (``{path}``, ``{line}``), for hosts laid out like GitHub."""
    parts = urlsplit(url.removesuffix("/").removesuffix(".git"))
    if (parts.hostname or "").split(".")[0] != "github" or parts.path.count("/") != 2:
        return None
    return f"{parts.geturl()}/blob/{commit}/{{path}}#L{{line}}"
