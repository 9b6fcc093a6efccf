"""What is known of a wheel without its files: their names and hashes, and where they stand.

Of a large wheel the directory is not read whole. RECORD, which is packed and has the hashes that are needed
in any case, lists the files in the order in which the archive does; an entry of the directory is as long as
its name and 46 bytes. So where each entry stands follows from RECORD, and only those of the files that are
read are fetched, in slices. What RECORD and the directory do not agree on is not guessed: where count and
length differ the directory is read whole, and an entry under another name is an error.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from investigator.errors import IntegrityError
from investigator.model import Json
from investigator.sources import range_zip
from investigator.sources.byte_range import Bytes
from investigator.sources.range_zip import Directory, Member
from investigator.sources.record_file import parse_record
from investigator.sources.store import Store

TAIL = 64 * 1024
"""Bytes of the first request: of vLLM's directories the entries from ``vllm/transformers_utils`` on."""
LEAD = 80 * 1024
"""Bytes of the directory that are fetched along with RECORD, which stands right before it."""
RECORD_SHARE = 0.42
"""RECORD's size at most, of the directory's, in the wheels that were looked at (0.38 to 0.40)."""
SLICE_GAP = 96 * 1024
"""Bytes of a directory between two entries that are rather fetched along than skipped."""
SLACK = 64
"""Bytes asked for beyond a member's least end, for the extra field of its local header."""


@dataclass
class WheelDirectory:
    """``names``: the files', by their place in the archive. ``hashes``: sha256 by RECORD, in hex.

    ``places``: where the files stand, as far as is known. ``first``: where the archive's directory
    begins, when it is read in slices; None when all of it was read.
    """

    names: Sequence[str]
    hashes: Mapping[str, str]
    places: dict[str, Sequence[int]]
    first: int | None
    retrieved_at: datetime

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _entries(self) -> Sequence[int]:
        """Where in the file the entry of each name begins, and the last one ends."""
        return _entries(self.names, self.first or 0)

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def member(self, name: str) -> Member:
        """A file whose place is known."""
        return Member(name, *self.places[name])

    def learn(self, members: Iterable[Member]) -> None:
        """Note where files stand."""
        for m in members:
            self.places[m.name] = (m.start, m.limit, m.packed, m.size, m.crc, m.method, m.flags)

    def locate(self, names: Iterable[str], file: Bytes) -> bool:
        """Learn where these files stand; whether anything had to be read for it.

        Raises IntegrityError, and what reading the file raises.
        """
        missing = [self._numbers[name] for name in names if name not in self.places]
        at, last = self._entries, len(self.names)
        # The entry after it tells where a member ends at the latest.
        spans = [(at[number], at[min(number + 2, last)]) for number in missing]
        for start, end in range_zip.coalesce(spans, SLICE_GAP, range_zip.MAX_DIRECTORY):
            listed = self.names[bisect_left(at, start) : bisect_left(at, end)]
            limit = self.first if end == at[-1] else None
            self.learn(range_zip.parse_slice(file.read(start, end), listed, limit))
        return bool(missing)


def _entries(names: Iterable[str], first: int) -> Sequence[int]:
    lengths = (range_zip.CENTRAL_SIZE + len(name.encode()) for name in names)
    return list(accumulate(lengths, initial=first))


def read_directory(file: Bytes, name: str, version: str) -> WheelDirectory:
    """Read RECORD and, where that says where its entries are, no more of the archive's directory than its
    end. Raises IntegrityError, LimitError, SourceError."""
    tail = file.tail(TAIL)
    at = file.size - len(tail)
    place = range_zip.find_directory(tail, file.size)
    if place.offset < at:
        found = _by_record(file, place, tail, name, version)
        if found is not None:
            return found
        # RECORD stands before the directory as a rule: one request for both.
        start = max(0, place.offset - int(place.size * RECORD_SHARE))
        tail, at = file.read(start, at) + tail, start
    members = range_zip.parse_directory(tail[place.offset - at : place.offset - at + place.size], place)
    record = _record_member(members, name, version)
    hashes = _hashes(_content(file, record, tail[record.start - at :] if record.start >= at else b""))
    found = WheelDirectory([m.name for m in members], hashes, {}, None, datetime.now(UTC))
    found.learn(members)
    return found


def _by_record(file: Bytes, place: Directory, tail: bytes, name: str, version: str) -> WheelDirectory | None:
    """The directory as RECORD tells it; None where RECORD is not the archive's last member, or does not
    account for the directory's every byte."""
    end = len(tail) - (file.size - place.offset - place.size)
    last = range_zip.last_entry(tail[:end], place.offset)
    if last is None or not last.name.endswith(".dist-info/RECORD"):
        return None
    record = _record_member([last], name, version)
    here = file.size - len(tail)
    head = file.read(record.start, min(place.offset + LEAD, here))
    rows = parse_record(_content(file, record, head))
    names = list(rows)
    at = _entries(names, place.offset)
    if len(names) != place.count or at[-1] != place.offset + place.size or names[-1] != record.name:
        return None
    for each in names:
        range_zip.check_name(each)
    hashes = {path: row.sha256 for path, row in rows.items() if row.sha256 is not None}
    found = WheelDirectory(names, hashes, {}, place.offset, datetime.now(UTC))
    known = bisect_right(at, record.start + len(head)) - 1
    begun = head[place.offset - record.start : at[known] - record.start]
    found.learn(range_zip.parse_slice(begun, names[:known], None))
    known = bisect_left(at, here)
    found.learn(range_zip.parse_slice(tail[at[known] - here : end], names[known:], place.offset))
    return found


def _content(file: Bytes, member: Member, data: bytes) -> bytes:
    """A member's content; ``data``: what is at hand of it, from its start on."""
    if not data:
        data = file.read(member.start, min(member.limit, member.least_end + SLACK))
    needed = range_zip.span_needed(member, data)
    if needed > len(data):
        data += file.read(member.start + len(data), member.start + needed)
    return range_zip.extract(member, data)


def _hashes(record: bytes) -> dict[str, str]:
    return {path: row.sha256 for path, row in parse_record(record).items() if row.sha256 is not None}


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


def keep(store: Store, key: str, directory: WheelDirectory) -> None:
    """Keep a directory that was read."""
    hashes: Json = [directory.hashes.get(name) for name in directory.names]
    value: Json = {"names": list(directory.names), "sha256": hashes, "first": directory.first}
    store.keep("wheel-directory", key, value)
    keep_places(store, key, directory)


def keep_places(store: Store, key: str, directory: WheelDirectory) -> None:
    """Keep what is known by now of where the files stand."""
    store.keep("wheel-places", key, {name: list(place) for name, place in directory.places.items()})


def kept(store: Store, key: str) -> WheelDirectory | None:
    """The directory that was kept; None for a value of another shape, which counts as a miss."""
    entry, places = store.entry("wheel-directory", key), store.record("wheel-places", key)
    if entry is None:
        return None
    try:
        columns: Any = entry.value
        names, hashes, first = columns["names"], columns["sha256"], columns["first"]
        known = {name: sha256 for name, sha256 in zip(names, hashes, strict=True) if sha256 is not None}
        placed: Any = dict(places or {})  # type: ignore[arg-type]
        found = WheelDirectory(names, known, placed, first, entry.kept_at)
        if first is None and len(placed) != len(names):
            return None
        if placed:
            found.member(next(iter(placed)))
    except (KeyError, TypeError, ValueError):
        return None
    return found
