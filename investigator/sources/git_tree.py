"""A git commit as a tree, and how one is read out of a clone on this machine."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from investigator.errors import (
    IntegrityError,
    LimitError,
    NotFoundError,
    SourceError,
    UsageError,
)
from investigator.model import Origin, Source, SourceKind
from investigator.sources.git_command import (
    GitRepository,
    checked_ref,
    is_commit,
    local_repository,
)
from investigator.sources.range_zip import MAX_MEMBER

MAX_FILES = 100_000
MAX_LISTING = 32 * 1024 * 1024
"""Bytes of a commit's list of files: a few small trees can name each other into billions of files."""
MAX_CONTENTS = 512 * 1024 * 1024
"""Bytes of files of one commit that are taken out, all together."""
BATCH = 64 * 1024 * 1024
"""Bytes of files that are taken out of a repository at a time."""
Load = Callable[[Sequence[str]], Mapping[str, bytes]]
"""Object ids to their bytes; ids that are over the size limit are missing from the answer."""


@dataclass(frozen=True)
class GitFile:
    """One file of a commit: its path and its object id (SHA-1 of header and content)."""

    path: str
    oid: str


class GitTree:
    """The files of one commit (see :class:`investigator.sources.interface.Tree`)."""

    def __init__(self, source: Source, files: Iterable[GitFile], load: Load) -> None:
        self._source = source
        self._oids = {file.path: file.oid for file in files}
        self._paths = tuple(sorted(self._oids))
        self._load = load
        self._lock = threading.Lock()
        self._contents: dict[str, bytes] = {}

    @property
    def source(self) -> Source:
        """The repository at this commit."""
        return self._source

    def paths(self) -> Sequence[str]:
        """Every regular file's path, sorted; links and submodules are not files."""
        return self._paths

    def digest(self, path: str) -> str:
        """sha256 of the file. It has to be read for that: git vouches with its own hash."""
        return hashlib.sha256(self.read(path)).hexdigest()

    def read(self, path: str) -> bytes:
        """The file, checked against its object id."""
        oid = self._oids.get(path)
        if oid is None:
            raise NotFoundError(
                f"{self._source.name} has no file {path} at {self._source.revision[:12]}", "check it"
            )
        self.prefetch([path])
        with self._lock:
            if oid not in self._contents:
                raise LimitError(f"{path} is over {MAX_MEMBER} bytes", "it is not read")
            return self._contents[oid]

    def prefetch(self, paths: Iterable[str]) -> None:
        """Take these files out of the repository together."""
        with self._lock:
            oids = {self._oids[p] for p in paths if p in self._oids} - self._contents.keys()
            if oids:
                self._contents.update(self._load(sorted(oids)))
                check_total(map(len, self._contents.values()), self._source.name)


def open_local(path: Path, ref: str | None, *, id: str, package: str | None) -> GitTree:
    """A commit of a repository on this machine; ``HEAD`` when no ref is given.

    Raises UsageError (no repository, no such ref, no such package in it), SourceError.
    """
    repository = local_repository(path)
    commit = _resolve(repository, ref or "HEAD", path)
    source = Source(
        id=id,
        kind=SourceKind.GIT,
        name=str(path),
        revision=commit,
        origin=Origin.LOCAL,
        retrieved_at=datetime.now(UTC),
        released_at=_committed_at(repository, commit),
    )
    return git_tree(
        source, list_files(repository, commit), package, lambda oids: read_blobs(repository, oids)
    )


def git_tree(source: Source, files: Sequence[GitFile], package: str | None, load: Load) -> GitTree:
    """The tree of all files, or of one package and then from where that package stands."""
    if package is None:
        return GitTree(source, files, load)
    paths = {file.path for file in files}
    for prefix in ("", "src/", "python/"):
        if f"{prefix}{package}/__init__.py" in paths:
            below = f"{prefix}{package}/"
            inside = [GitFile(f.path.removeprefix(prefix), f.oid) for f in files if f.path.startswith(below)]
            link = source.permalink and source.permalink.replace("{path}", prefix + "{path}")
            return GitTree(replace(source, permalink=link), inside, load)
    raise UsageError(
        f"{source.name} at {source.revision[:12]} holds no {package}/__init__.py",
        "is it the right repository and ref?",
    )


def _resolve(repository: GitRepository, ref: str, path: Path) -> str:
    checked_ref(ref)
    names = [f"refs/heads/{ref}", f"refs/tags/{ref}"]
    found = {out for out in (_commit_of(repository, name) for name in names) if out}
    if len(found) > 1:
        raise UsageError(
            f"{ref} is a branch and a tag of {path}", "write heads/NAME, tags/NAME or the commit"
        )
    commit = next(iter(found), None) or _commit_of(repository, ref)
    if commit is None:
        raise UsageError(
            f"{path} has no branch, tag or commit {ref}", "`git branch --all` and `git tag` list them"
        )
    return commit


def _commit_of(repository: GitRepository, name: str) -> str | None:
    status, out, _ = repository.attempt(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
    )
    commit = out.decode("ascii", "replace").strip()
    return commit if status == 0 and is_commit(commit) else None


def _committed_at(repository: GitRepository, commit: str) -> datetime | None:
    said = repository.run("log", "-1", "--no-show-signature", "--format=%ct", commit)
    try:
        return datetime.fromtimestamp(int(said), UTC)
    except (ValueError, OverflowError, OSError):  # a commit may claim any number of seconds
        return None


def list_files(repository: GitRepository, commit: str) -> tuple[GitFile, ...]:
    """The regular files of a commit."""
    listing = repository.run("ls-tree", "-r", "-z", "--full-tree", commit, most=MAX_LISTING)
    files = []
    for row in listing.split(b"\0"):
        if not row:
            continue
        about, _, raw = row.partition(b"\t")
        mode, kind, oid = about.decode("ascii").split()
        if kind == "blob" and mode in ("100644", "100755"):
            try:
                files.append(GitFile(raw.decode("utf-8"), oid))
            except UnicodeDecodeError:
                continue  # no evidence can point at a path that cannot be written down
        if len(files) > MAX_FILES:
            raise LimitError(f"{commit[:12]} holds more than {MAX_FILES} files", "it is not read")
    return tuple(files)


def read_blobs(repository: GitRepository, oids: Sequence[str]) -> dict[str, bytes]:
    """The contents of objects that are in the repository, each checked against its id."""
    contents: dict[str, bytes] = {}
    sizes = _sizes(repository, oids)
    check_total(sizes.values(), str(repository.git_dir))
    for batch in _batches(sizes):
        out = repository.run("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in batch).encode())
        at = 0
        for oid, size in batch.items():
            start = out.index(b"\n", at) + 1
            data = out[start : start + size]
            at = start + size + 1
            if hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() != oid:
                raise IntegrityError(
                    f"object {oid[:12]} in {repository.git_dir} is damaged", "run `git fsck` there"
                )
            contents[oid] = data
    return contents


def check_total(sizes: Iterable[int], name: str) -> None:
    """Raises LimitError where files that are small when packed are too large all together."""
    if sum(sizes) > MAX_CONTENTS:
        raise LimitError(
            f"the files of {name} hold more than {MAX_CONTENTS} bytes",
            "name the folder of the package itself",
        )


def _sizes(repository: GitRepository, oids: Sequence[str]) -> dict[str, int]:
    out = repository.run("cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in oids).encode())
    sizes: dict[str, int] = {}
    for line in out.decode("ascii", "replace").splitlines():
        match = re.fullmatch(r"([0-9a-f]{40}) blob (\d+)", line)
        if match is None:
            raise SourceError(
                f"{repository.git_dir} lacks object {line[:40]}", "it is a partial clone: make a whole one"
            )
        if int(match[2]) <= MAX_MEMBER:
            sizes[match[1]] = int(match[2])
    return sizes


def _batches(sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    batch: dict[str, int] = {}
    for oid, size in sizes.items():
        if batch and sum(batch.values()) + size > BATCH:
            yield batch
            batch = {}
        batch[oid] = size
    if batch:
        yield batch
