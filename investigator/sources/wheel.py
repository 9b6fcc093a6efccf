"""A wheel read member by member, over HTTP ranges or from a local file; never the whole.

Cold: one request for the archive's tail (directory and, mostly, RECORD), then one for each
group of members that lie close together. Warm: none, the directory and every member read so
far are in the store.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from investigator.errors import IntegrityError, LimitError, NotFoundError
from investigator.model import Json, Origin, Source, SourceKind
from investigator.sources import range_zip
from investigator.sources.byte_range import Bytes, LocalBytes, RemoteBytes
from investigator.sources.index_page import WheelFile, file_url_path
from investigator.sources.range_zip import Member
from investigator.sources.record_file import parse_record
from investigator.sources.store import Store
from investigator.sources.transport import Credential, Transport

TAIL = 500_000
"""Bytes of the first request: vLLM 0.20's directory is 352 KB, its RECORD 140 KB before it."""
RECORD_SHARE = 0.42
"""RECORD's size at most, of the directory's, in the wheels that were looked at (0.39 to 0.40)."""
GAP = 16 * 1024
"""Bytes between two members that are rather fetched along than skipped with another request."""
WIDEST_GAP = 96 * 1024
"""The same, where there would be more than ``REQUESTS`` otherwise."""
REQUESTS = 22
"""Ranged requests of one prefetch, as long as no gap gets wider than that."""
MAX_CONTENTS = 512 * 1024 * 1024
"""Bytes of files that one prefetch unpacks."""
LONGEST = 8 * 1024 * 1024
"""Bytes of one ranged request."""
AT_ONCE = 4
"""Ranged requests of one wheel that are under way together."""
SLACK = 64
"""Bytes asked for beyond a member's least end, for the extra field of its local header."""


@dataclass(frozen=True)
class WheelDirectory:
    """What is known of a wheel without its members: where they are and what their sha256 is."""

    members: Mapping[str, Member]
    hashes: Mapping[str, str]
    retrieved_at: datetime


class WheelTree:
    """The files of one wheel as a tree (see :class:`investigator.sources.interface.Tree`)."""

    def __init__(self, source: Source, file: Bytes, directory: WheelDirectory, store: Store) -> None:
        self._source = source
        self._file = file
        self._directory = directory
        self._store = store
        self._lock = threading.Lock()
        self._paths = tuple(sorted(directory.members))

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
        if path not in self._directory.members:
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
        member = self._directory.members[path]
        if not _fits(member):
            raise LimitError(
                f"{self._source.name}: {path} is {member.size} bytes, over the limit for one file",
                "it is not read",
            )
        with self._lock:
            data = self._store.blob(sha256)
            if data is None:
                end = min(member.limit, member.least_end + SLACK)
                data = self._unpack(member, self._file.read(member.start, end))
        return data

    def prefetch(self, paths: Iterable[str]) -> None:
        """Fetch the files that the store lacks, neighbours together.

        A file that turns out damaged or too large is left for :meth:`read` to tell of.
        """
        members = self._directory.members
        wanted = [p for p in dict.fromkeys(paths) if p in members and p in self._directory.hashes]
        with self._lock:
            missing = [p for p in wanted if not self._store.has_blob(self._directory.hashes[p])]
            self._fetch([members[p] for p in missing if _fits(members[p])])

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
    kept = None if is_file else store.entry("wheel-directory", key)
    directory = None if kept is None else _directory_from_json(kept.value, kept.kept_at)
    origin = Origin.CACHE
    if directory is None:
        try:
            directory = read_directory(file, name, wheel.version)
        except IntegrityError as error:
            raise IntegrityError(f"{what} ({wheel.filename}): {error}", error.advice) from error
        origin = Origin.LOCAL if is_file else Origin.LIVE
        if not is_file:
            store.keep("wheel-directory", key, _directory_to_json(directory))
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
    return WheelTree(source, file, directory, store)


def read_directory(file: Bytes, name: str, version: str) -> WheelDirectory:
    """Read and check the archive's directory and the wheel's RECORD."""
    tail = file.tail(TAIL)
    at = file.size - len(tail)
    place = range_zip.find_directory(tail, file.size)
    if place.offset < at:
        # RECORD stands right before the directory as a rule: one request for the rest of both.
        start = max(0, place.offset - int(place.size * RECORD_SHARE))
        tail = file.read(start, at) + tail
        at = start
    members = range_zip.parse_directory(tail[place.offset - at : place.offset - at + place.size], place)
    record = _record_member(members, name, version)
    if record.start >= at:
        data = tail[record.start - at :]
    else:
        data = file.read(record.start, min(record.limit, record.least_end + SLACK))
    needed = range_zip.span_needed(record, data)
    if needed > len(data):
        data += file.read(record.start + len(data), record.start + needed)
    rows = parse_record(range_zip.extract(record, data))
    hashes = {path: row.sha256 for path, row in rows.items() if row.sha256 is not None}
    return WheelDirectory({m.name: m for m in members}, hashes, datetime.now(UTC))


def _record_member(members: Iterable[Member], name: str, version: str) -> Member:
    records = [m for m in members if m.name.count("/") == 1 and m.name.endswith(".dist-info/RECORD")]
    if len(records) != 1:
        raise IntegrityError(f"it holds {len(records)} RECORD files instead of one", "it is no sound wheel")
    found, _, found_version = records[0].name.removesuffix(".dist-info/RECORD").rpartition("-")
    if canonicalize_name(found) != canonicalize_name(name) or not _same_version(found_version, version):
        raise IntegrityError(
            f"it holds the package {found} {found_version}", "the index serves the wrong file"
        )
    return records[0]


def _same_version(one: str, other: str) -> bool:
    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return one == other


# Keeping: columns, so that thousands of members stay small and quick to read.


class _KeptMembers(Mapping[str, Member]):
    """Members by name, each made when it is asked for: most never are."""

    def __init__(self, numbers: Mapping[str, Sequence[int]]) -> None:
        self._numbers = numbers

    def __getitem__(self, name: str) -> Member:
        return Member(name, *self._numbers[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers


def _directory_to_json(directory: WheelDirectory) -> Json:
    members = list(directory.members.values())
    return {
        "names": [m.name for m in members],
        "numbers": [[m.start, m.limit, m.packed, m.size, m.crc, m.method, m.flags] for m in members],
        "sha256": [directory.hashes.get(m.name) for m in members],
    }


def _directory_from_json(value: Json, kept_at: datetime) -> WheelDirectory | None:
    """The directory that was kept; None for a value of another shape, which counts as a miss."""
    try:
        columns: Any = value
        names, numbers, hashes = columns["names"], columns["numbers"], columns["sha256"]
        members = _KeptMembers(dict(zip(names, numbers, strict=True)))
        known = {name: sha256 for name, sha256 in zip(names, hashes, strict=True) if sha256 is not None}
        if names:
            _ = members[names[0]]
    except (KeyError, TypeError, ValueError):
        return None
    return WheelDirectory(members, known, kept_at)
