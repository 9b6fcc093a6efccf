"""A strict reader for zip archives of which only parts are at hand. Pure functions over bytes.

Stricter than :mod:`zipfile` on purpose, so that two readers cannot disagree about what an
archive holds: one end record that ends the file, a central directory that ends where the end
record begins, no duplicate or unsafe names, no overlapping members, local headers that say
what the directory says, methods 0 and 8 only, no encryption, no zip64.
Numbers follow PKWARE's APPNOTE 6.3.10, sections 4.3.7 (local header), 4.3.12 (directory) and
4.3.16 (end record).
"""

import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from investigator.errors import IntegrityError, LimitError

MAX_MEMBERS = 20_000
MAX_DIRECTORY = 16 * 1024 * 1024
MAX_MEMBER = 8 * 1024 * 1024
"""Bytes of one member, unpacked, that are read; larger members may be listed."""
MAX_RATIO = 200
"""Unpacked ÷ packed size of a member that is read, from 4 KiB on."""
MAX_NAME = 1024
NEWEST_VERSION = 45
"""Version of the format, times ten, that a member may need; 45 is the one with zip64."""

END_SIZE = 22
LOCAL_SIZE = 30
_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
CENTRAL_SIZE = _CENTRAL.size
"""Bytes of an entry of the directory, beside its name and what may be added to it."""
_LOCAL = struct.Struct("<4s5H3L2H")
_ENCRYPTED, _DESCRIPTOR, _UTF8 = 0x1, 0x8, 0x800
_UNKNOWN_FLAGS = ~(_DESCRIPTOR | _UTF8 | 0x6)  # bits 1 and 2 only tell how hard deflate tried
_FULL = 0xFFFFFFFF
_UNSAFE = re.compile(r"[\\:\x00-\x1f\x7f]")
_ADVICE = "get the file anew from its index; if that does not help, tell the index's owner"


@dataclass(frozen=True)
class Directory:
    """Where the central directory is: ``offset`` and ``size`` in bytes, ``count`` of members."""

    offset: int
    size: int
    count: int


@dataclass(frozen=True)
class Member:
    """One file of the archive. ``start`` is its local header; ``limit`` the next thing's start."""

    name: str
    start: int
    limit: int
    packed: int
    size: int
    crc: int
    method: int
    flags: int

    @property
    def least_end(self) -> int:
        """Where the member ends when its local header has no extra field."""
        return self.start + LOCAL_SIZE + len(self.name.encode()) + self.packed


def find_directory(tail: bytes, total: int) -> Directory:
    """Read the end record from the archive's last bytes (at least 22; best 64 KiB and more).

    ``total`` is the archive's size. Raises IntegrityError, LimitError.
    """
    at = len(tail) - END_SIZE
    if at < 0 or tail[at : at + 4] != b"PK\5\6" or tail[-2:] != b"\0\0":
        at = tail.rfind(b"PK\5\6")
    if at < 0 or at + END_SIZE > len(tail):
        raise IntegrityError("the archive has no end record: it was cut off, or is no zip file", _ADVICE)
    _, disk, first_disk, here, count, size, offset, comment = _END.unpack_from(tail, at)
    position = total - len(tail) + at
    if position + END_SIZE + comment != total:
        raise IntegrityError("the archive does not end with its end record", _ADVICE)
    if disk or first_disk or here != count:
        raise IntegrityError("the archive is spread over several files", _ADVICE)
    if 0xFFFF in (here, count) or _FULL in (size, offset):
        raise LimitError(
            "the archive is a zip64 one (over 4 GB or 65,534 members)", "such a file is not read"
        )
    if offset + size != position:
        raise IntegrityError("the archive's directory is not where its end record says", _ADVICE)
    if count > MAX_MEMBERS or size > MAX_DIRECTORY:
        raise LimitError(
            f"the archive lists {count} members in {size} bytes; the limit is {MAX_MEMBERS}",
            "such a file is not read",
        )
    return Directory(offset, size, count)


def parse_directory(data: bytes, directory: Directory) -> tuple[Member, ...]:
    """The members, by their place in the archive; folders are left out.

    ``data`` is the whole central directory. Raises IntegrityError, LimitError.
    """
    if len(data) != directory.size:
        raise IntegrityError("the archive's directory is cut off", _ADVICE)
    found = _entries(data, directory.count)
    if len({member.name for member in found}) < len(found):
        twice = next(m.name for m in found if sum(m.name == other.name for other in found) > 1)
        raise IntegrityError(f"the archive holds {twice} twice", _ADVICE)
    return _laid_out(found, directory.offset)


def parse_slice(data: bytes, names: Sequence[str], end: int | None) -> tuple[Member, ...]:
    """The members of a part of the directory that has to list these names, in the order of their places.

    ``end``: where the members end, when the part is the directory's last; None: the last entry's
    member is left out, since what follows it is not known. Raises IntegrityError, LimitError.
    """
    found = _entries(data, len(names))
    if not found:
        return ()
    listed = next(
        (f"{m.name} instead of {name}" for m, name in zip(found, names, strict=True) if m.name != name), None
    )
    if listed is not None:
        raise IntegrityError(f"the archive's directory has {listed}, which RECORD names", _ADVICE)
    if any(later.start <= earlier.start for earlier, later in pairwise(found)):
        raise IntegrityError("the archive's members do not stand in the order of its directory", _ADVICE)
    return _laid_out(found if end is not None else found[:-1], end if end is not None else found[-1].start)


def last_entry(data: bytes, end: int) -> Member | None:
    """The member that ends a directory's bytes lists last, whose members end at ``end``; None where
    these bytes do not say it."""
    at = data.rfind(b"PK\1\2")
    if at < 0:
        return None
    try:
        members = _laid_out(_entries(data[at:], 1), end)
    except (IntegrityError, LimitError):
        return None
    return members[0] if members else None


def _entries(data: bytes, count: int) -> list[Member]:
    """So many entries of a directory, which fill these bytes; their members' limits are not set."""
    found: list[Member] = []
    at = 0
    for _ in range(count):
        if at + CENTRAL_SIZE > len(data):
            raise IntegrityError("the archive's directory is cut off", _ADVICE)
        (
            signature,
            _made,
            version,
            flags,
            method,
            _time,
            _date,
            crc,
            packed,
            size,
            name_length,
            extra_length,
            comment_length,
            disk,
            _internal,
            _external,
            start,
        ) = _CENTRAL.unpack_from(data, at)
        end = at + CENTRAL_SIZE + name_length + extra_length + comment_length
        if signature != b"PK\1\2" or end > len(data) or disk:
            raise IntegrityError("the archive's directory is damaged", _ADVICE)
        name = _name(data[at + CENTRAL_SIZE : at + CENTRAL_SIZE + name_length], flags)
        if _FULL in (packed, size, start):
            raise LimitError(f"{name} is a zip64 member", "such a file is not read")
        if flags & _UNKNOWN_FLAGS or version > NEWEST_VERSION:
            raise IntegrityError(f"{name} is encrypted or packed in an unknown way", _ADVICE)
        found.append(Member(name, start, 0, packed, size, crc, method, flags))
        at = end
    if at != len(data):
        raise IntegrityError("the archive's directory holds more than its end record says", _ADVICE)
    return found


def _laid_out(found: list[Member], end: int) -> tuple[Member, ...]:
    """Give each member the place of what follows it; refuse overlaps (the trick of zip bombs)."""
    found.sort(key=lambda member: member.start)
    limits = [member.start for member in found[1:]] + [end]
    members = []
    for member, limit in zip(found, limits, strict=False):
        if member.least_end > limit:
            raise IntegrityError(f"{member.name} overlaps with what follows it in the archive", _ADVICE)
        if not member.name.endswith("/"):
            members.append(
                Member(
                    member.name,
                    member.start,
                    limit,
                    member.packed,
                    member.size,
                    member.crc,
                    member.method,
                    member.flags,
                )
            )
        elif member.size:
            raise IntegrityError(f"{member.name} is a folder with content", _ADVICE)
    return tuple(members)


def _name(raw: bytes, flags: int) -> str:
    try:
        name = raw.decode("utf-8" if flags & _UTF8 else "ascii")
    except UnicodeDecodeError:
        raise IntegrityError(f"the archive holds a name that cannot be read: {raw[:60]!r}", _ADVICE) from None
    check_name(name)
    return name


def check_name(name: str) -> None:
    """Refuse a name that leads out of where an archive is unpacked. Raises IntegrityError."""
    parts = name.removesuffix("/").split("/")
    if (
        len(name.encode()) > MAX_NAME
        or any(part in ("", ".", "..") for part in parts)
        or _UNSAFE.search(name)
    ):
        raise IntegrityError(f"the archive holds an unsafe name: {name[:60]!r}", _ADVICE)


def span_needed(member: Member, data: bytes) -> int:
    """How many bytes from the member's start it takes, given at least its first 30 bytes."""
    if len(data) < LOCAL_SIZE or data[:4] != b"PK\3\4":
        raise IntegrityError(f"{member.name} is not where the archive's directory says", _ADVICE)
    name_length, extra_length = struct.unpack_from("<2H", data, 26)
    needed = LOCAL_SIZE + int(name_length) + int(extra_length) + member.packed
    if member.start + needed > member.limit:
        raise IntegrityError(f"{member.name} overlaps with what follows it in the archive", _ADVICE)
    return needed


def extract(member: Member, data: bytes) -> bytes:
    """The member's content out of the bytes from its start on; CRC and sizes checked.

    Raises IntegrityError, LimitError.
    """
    if member.size > MAX_MEMBER:
        raise LimitError(
            f"{member.name} is {member.size} bytes; the limit for one file is {MAX_MEMBER}", "it is not read"
        )
    if member.size > 4096 and member.size > MAX_RATIO * member.packed:
        raise LimitError(f"{member.name} unpacks to over {MAX_RATIO} times its size", "it is not read")
    needed = span_needed(member, data)
    if len(data) < needed:
        raise IntegrityError(f"{member.name} is cut off", _ADVICE)
    _check_local(member, data)
    packed = data[needed - member.packed : needed]
    if member.method == 0:
        content = packed
    elif member.method == 8:
        content = _inflate(member, packed)
    else:
        raise LimitError(
            f"{member.name} is packed with method {member.method}", "only stored and deflated are read"
        )
    if len(content) != member.size:
        raise IntegrityError(f"{member.name} does not have the size that the archive names", _ADVICE)
    if zlib.crc32(content) != member.crc:
        raise IntegrityError(f"{member.name} does not have the checksum that the archive names", _ADVICE)
    return content


def _check_local(member: Member, data: bytes) -> None:
    _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack_from(data)
    name = data[LOCAL_SIZE : LOCAL_SIZE + name_length]
    extra = data[LOCAL_SIZE + name_length : LOCAL_SIZE + name_length + extra_length]
    stated = (crc, packed, size)
    if _FULL in (packed, size):
        packed, size = _zip64_sizes(extra)
        stated = (crc, packed, size)
    expected = (member.crc, member.packed, member.size)
    if flags & _DESCRIPTOR and stated == (0, 0, 0):
        stated = expected  # the values follow the data; the directory's are checked against it
    if name != member.name.encode() or method != member.method or flags != member.flags or stated != expected:
        raise IntegrityError(f"{member.name}: its own header and the archive's directory differ", _ADVICE)


def _zip64_sizes(extra: bytes) -> tuple[int, int]:
    """Packed and unpacked size out of a local header's zip64 field; (-1, -1) when it has none."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1 and length >= 16 and at + 20 <= len(extra):
            size, packed = struct.unpack_from("<2Q", extra, at + 4)
            return packed, size
        at += 4 + length
    return -1, -1


def _inflate(member: Member, packed: bytes) -> bytes:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = unpacker.decompress(packed, member.size + 1)
    except zlib.error as error:
        raise IntegrityError(f"{member.name} cannot be unpacked ({error})", _ADVICE) from error
    if len(content) <= member.size and (not unpacker.eof or unpacker.unused_data):
        raise IntegrityError(f"{member.name} is cut off or followed by other data", _ADVICE)
    return content


def coalesce(spans: Sequence[tuple[int, int]], gap: int, longest: int) -> list[tuple[int, int]]:
    """Join [start, end) spans that are at most ``gap`` apart, while they stay within ``longest``."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start - joined[-1][1] <= gap and end - joined[-1][0] <= longest:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def gap_for(spans: Sequence[tuple[int, int]], least: int, widest: int, longest: int, most: int) -> int:
    """The gap to join spans over, so that at most ``most`` are left: ``least`` where that does,
    ``widest`` where nothing does."""
    joined = coalesce(spans, least, longest)
    gaps = sorted(later[0] - earlier[1] for earlier, later in pairwise(joined))
    too_many = len(joined) - most
    return least if too_many <= 0 else min(widest, gaps[too_many - 1])
