"""A wheel read member by member, over HTTP ranges or from a local file; never the whole.

Cold: some requests for the archive's tail, RECORD and slices of the directory
(:mod:`investigator.sources.wheel_directory`), then one for each group of members that lie close
together. Warm: none, what was read of the directory and every member read so far are in the store.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from investigator.errors import IntegrityError, LimitError, NotFoundError
from investigator.model import Origin, Source, SourceKind
from investigator.sources import range_zip, wheel_directory
from investigator.sources.byte_range import Bytes, LocalBytes, RemoteBytes
from investigator.sources.index_page import WheelFile, file_url_path
from investigator.sources.range_zip import Member
from investigator.sources.store import Store
from investigator.sources.transport import Credential, Transport
from investigator.sources.wheel_directory import SLACK, WheelDirectory, read_directory

GAP = 16 * 1024
"""Bytes between two members that are rather fetched along than skipped with another request."""
WIDEST_GAP = 96 * 1024
"""The same, where there would be more than ``REQUESTS`` otherwise."""
REQUESTS = 21
"""Ranged requests of one prefetch, as long as no gap gets wider than that."""
MAX_CONTENTS = 512 * 1024 * 1024
"""Bytes of files that one prefetch unpacks."""
LONGEST = 8 * 1024 * 1024
"""Bytes of one ranged request."""
AT_ONCE = 4
"""Ranged requests of one wheel that are under way together."""


class WheelTree:
    """The files of one wheel as a tree (see :class:`investigator.sources.interface.Tree`)."""

    def __init__(
        self, source: Source, file: Bytes, directory: WheelDirectory, store: Store, key: str
    ) -> None:
        self._key = key
        self._source = source
        self._file = file
        self._directory = directory
        self._store = store
        self._lock = threading.Lock()
        self._paths = tuple(sorted(directory.names))

    @property
    def source(self) -> Source:
        """The wheel: its release, and the sha256 that the index names for the whole file.

        Its origin turns from cache to live when a file has to be fetched after all.
        """
        return self._source

    def paths(self) -> Sequence[str]:
        """Every file's path, sorted."""
        return self._paths

    def digest(self, path: str) -> str:
        """sha256 by the wheel's RECORD. Raises NotFoundError, IntegrityError."""
        if path not in self._directory:
            raise NotFoundError(f"{self._source.name} has no file {path}", "check the path")
        try:
            return self._directory.hashes[path]
        except KeyError:
            raise IntegrityError(
                f"{self._source.name}: its RECORD names no sha256 for {path}", "do not trust this wheel"
            ) from None

    def read(self, path: str) -> bytes:
        """The file, checked against RECORD."""
        sha256 = self.digest(path)
        data = self._store.blob(sha256)
        if data is not None:
            return data
        with self._lock:
            (member,) = self._located([path])
            if not _fits(member):
                raise LimitError(
                    f"{self._source.name}: {path} is {member.size} bytes, over the limit for one file",
                    "it is not read",
                )
            data = self._store.blob(sha256)
            if data is None:
                end = min(member.limit, member.least_end + SLACK)
                data = self._unpack(member, self._file.read(member.start, end))
        return data

    def prefetch(self, paths: Iterable[str]) -> None:
        """Fetch the files that the store lacks, neighbours together.

        A file that turns out damaged or too large is left for :meth:`read` to tell of.
        """
        known = self._directory
        wanted = [p for p in dict.fromkeys(paths) if p in known and p in known.hashes]
        with self._lock:
            missing = [p for p in wanted if not self._store.has_blob(known.hashes[p])]
            self._fetch([member for member in self._located(missing) if _fits(member)])

    def _located(self, paths: Sequence[str]) -> list[Member]:
        """Where these files stand, read in the archive's directory if need be."""
        if self._directory.locate(paths, self._file) and not self._file.local:
            wheel_directory.keep_places(self._store, self._key, self._directory)
        return [self._directory.member(path) for path in paths]

    def _fetch(self, members: Sequence[Member]) -> None:
        """Bring the contents of these members into the store; damaged ones are left out."""
        if sum(member.size for member in members) > MAX_CONTENTS:
            raise LimitError(
                f"the files of {self._source.name} that are asked for hold more than {MAX_CONTENTS} bytes",
                "do not trust this wheel",
            )
        spans = [(m.start, min(m.limit, m.least_end + SLACK)) for m in members]
        gap = range_zip.gap_for(spans, GAP, WIDEST_GAP, LONGEST, REQUESTS)
        for start, end, data in self._read_spans(range_zip.coalesce(spans, gap, LONGEST)):
            for member in members:
                if start <= member.start < end:
                    with suppress(IntegrityError, LimitError):
                        self._unpack(member, data[member.start - start :])

    def _read_spans(self, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, bytes]]:
        """Each span with its bytes; after the first, a few at a time."""
        for start, end in spans[:1]:
            yield start, end, self._file.read(start, end)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            rest = spans[1:]
            for (start, end), data in zip(rest, pool.map(lambda s: self._file.read(*s), rest), strict=True):
                yield start, end, data

    def _unpack(self, member: Member, data: bytes) -> bytes:
        if self._source.origin is Origin.CACHE:
            self._source = replace(self._source, origin=Origin.LIVE)
        needed = range_zip.span_needed(member, data)
        if needed > len(data):
            data += self._file.read(member.start + len(data), member.start + needed)
        content = range_zip.extract(member, data)
        if self._store.keep_blob(content) != self._directory.hashes[member.name]:
            raise IntegrityError(
                f"{self._source.name}: {member.name} does not have the hash that the wheel's RECORD names",
                "do not trust this wheel; get it from another index",
            )
        return content


def _fits(member: Member) -> bool:
    return member.packed <= LONGEST and member.size <= range_zip.MAX_MEMBER


def open_wheel(
    wheel: WheelFile, name: str, transport: Transport, store: Store, credential: Credential | None
) -> WheelTree:
    """The tree of a wheel that the index lists. One request, or none when the store knows it.

    Raises IntegrityError (damaged, or another package), LimitError, OfflineError, SourceError.
    """
    what = f"{name}=={wheel.version}"
    is_file = urlsplit(wheel.url).scheme == "file"
    file: Bytes = (
        LocalBytes(file_url_path(wheel.url))
        if is_file
        else RemoteBytes(transport, wheel.url, what, name, wheel.size, credential)
    )
    key = wheel.sha256 or f"{wheel.url} {wheel.size}"
    directory = None if is_file else wheel_directory.kept(store, key)
    origin = Origin.CACHE
    if directory is None:
        try:
            directory = read_directory(file, name, wheel.version)
        except IntegrityError as error:
            raise IntegrityError(f"{what} ({wheel.filename}): {error}", error.advice) from error
        origin = Origin.LOCAL if is_file else Origin.LIVE
        if not is_file:
            wheel_directory.keep(store, key, directory)
    source = Source(
        id=name,
        kind=SourceKind.WHEEL,
        name=wheel.filename,
        revision=wheel.version,
        origin=origin,
        retrieved_at=directory.retrieved_at,
        sha256=wheel.sha256,
        note=None if wheel.yanked is None else f"yanked from the index: {wheel.yanked or 'no reason given'}",
        released_at=wheel.uploaded,
    )
    return WheelTree(source, file, directory, store, key)
