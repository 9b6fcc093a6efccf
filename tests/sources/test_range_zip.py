"""The strict zip reader: it agrees with zipfile about sound archives, and refuses the rest."""

import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from investigator.errors import IntegrityError, InvestigateError, LimitError
from investigator.sources import range_zip
from investigator.sources.range_zip import coalesce, extract, find_directory, gap_for, parse_directory
from tests.support.wheels import incompressible

END = b"PK\5\6"
CENTRAL = b"PK\1\2"
LOCAL = b"PK\3\4"


def archive(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as writer:
        for name, data in files.items():
            writer.writestr(name, data)
    return buffer.getvalue()


def read_all(data: bytes) -> dict[str, bytes]:
    """Everything in an archive, as the range reader sees it."""
    directory = find_directory(data, len(data))
    members = parse_directory(data[directory.offset : directory.offset + directory.size], directory)
    return {member.name: extract(member, data[member.start : member.limit]) for member in members}


def patched(data: bytes, signature: bytes, offset: int, value: bytes, nth: int = 0) -> bytes:
    """The archive with bytes replaced at ``offset`` behind the nth signature."""
    at = -1
    for _ in range(nth + 1):
        at = data.index(signature, at + 1)
    at += offset
    return data[:at] + value + data[at + len(value) :]


SOUND = archive({"pkg/a.py": b"a = 1\n" * 100, "pkg/b.py": b"b = 2\n"})


def test_a_sound_archive_is_read() -> None:
    assert read_all(SOUND) == {"pkg/a.py": b"a = 1\n" * 100, "pkg/b.py": b"b = 2\n"}


def test_stored_members_and_folders_and_empty_files() -> None:
    data = archive({"pkg/": b"", "pkg/a.bin": incompressible(300), "pkg/e": b""}, zipfile.ZIP_STORED)

    assert read_all(data) == {"pkg/a.bin": incompressible(300), "pkg/e": b""}


def test_an_archive_written_to_a_pipe_has_its_sizes_behind_the_data() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise OSError

        def seek(self, *_: int) -> int:
            raise OSError

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as writer:
        writer.writestr("pkg/a.py", b"a = 1\n" * 100)
    assert struct.unpack_from("<H", pipe.getvalue(), 6)[0] & 8

    assert read_all(pipe.getvalue()) == {"pkg/a.py": b"a = 1\n" * 100}


def test_a_forced_zip64_header_of_a_small_member_is_read() -> None:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as writer,
        writer.open("pkg/a.py", "w", force_zip64=True) as member,
    ):
        member.write(b"a = 1\n")

    assert read_all(buffer.getvalue()) == {"pkg/a.py": b"a = 1\n"}


def test_a_comment_at_the_end_is_no_trouble() -> None:
    buffer = io.BytesIO(SOUND)
    with zipfile.ZipFile(buffer, "a") as writer:
        writer.comment = b"made by hand"

    assert read_all(buffer.getvalue())["pkg/b.py"] == b"b = 2\n"


def twice() -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(buffer, "w") as writer:
            writer.writestr("pkg/a.py", b"first")
            writer.writestr("pkg/a.py", b"second")
    return buffer.getvalue()


def two_ends() -> bytes:
    """An end record in the comment of another: readers that search forwards see a third archive."""
    inner = archive({"pkg/evil.py": b"evil"})
    end = len(SOUND) - 22
    return SOUND[: end + 20] + struct.pack("<H", len(inner)) + inner


def overlapping() -> bytes:
    """Two names for one member, the trick of the quoted zip bomb."""
    at = SOUND.index(CENTRAL, SOUND.index(CENTRAL) + 1)
    return SOUND[: at + 42] + struct.pack("<L", 0) + SOUND[at + 46 :]


def local_name_differs() -> bytes:
    return SOUND[:30] + b"pkg/x.py" + SOUND[38:]


HOSTILE: dict[str, tuple[Callable[[], bytes], type[InvestigateError], str]] = {
    "no archive at all": (lambda: b"not a zip" * 10, IntegrityError, "no end record"),
    "nothing": (lambda: b"", IntegrityError, "no end record"),
    "cut off": (lambda: SOUND[:-1], IntegrityError, "end record"),
    "cut off in the middle": (lambda: SOUND[: len(SOUND) // 2], IntegrityError, "end record"),
    "something behind the end": (lambda: SOUND + b"x", IntegrityError, "does not end with"),
    "something before the start": (lambda: b"x" * 9 + SOUND, IntegrityError, "not where its end record"),
    "two end records": (two_ends, IntegrityError, "not where its end record"),
    "one name twice": (twice, IntegrityError, "holds pkg/a.py twice"),
    "overlapping members": (overlapping, IntegrityError, "overlaps"),
    "local name differs": (local_name_differs, IntegrityError, "differ"),
    "local method differs": (lambda: patched(SOUND, LOCAL, 8, b"\0\0"), IntegrityError, "differ"),
    "local size differs": (lambda: patched(SOUND, LOCAL, 22, b"\1\0\0\0"), IntegrityError, "differ"),
    "local header elsewhere": (lambda: patched(SOUND, LOCAL, 0, b"KP"), IntegrityError, "not where"),
    "local extra reaches too far": (lambda: patched(SOUND, LOCAL, 28, b"\xff\0"), IntegrityError, "overlaps"),
    "bad checksum": (
        lambda: patched(patched(SOUND, CENTRAL, 16, b"\0\0\0\0"), LOCAL, 14, b"\0\0\0\0"),
        IntegrityError,
        "checksum",
    ),
    "damaged data": (
        lambda: patched(SOUND, LOCAL, 38, b"\xff\xff\xff"),
        IntegrityError,
        "cannot be unpacked",
    ),
    "smaller than it says": (
        lambda: patched(patched(SOUND, CENTRAL, 24, b"\x59\2"), LOCAL, 22, b"\x59\2"),
        IntegrityError,
        "does not have the size",
    ),
    "larger than it says": (
        lambda: patched(patched(SOUND, CENTRAL, 24, b"\x57\2"), LOCAL, 22, b"\x57\2"),
        IntegrityError,
        "does not have the size",
    ),
    "encrypted": (lambda: patched(SOUND, CENTRAL, 8, b"\1\0"), IntegrityError, "encrypted"),
    "method 12": (
        lambda: patched(patched(SOUND, CENTRAL, 10, b"\x0c\0"), LOCAL, 8, b"\x0c\0"),
        LimitError,
        "method 12",
    ),
    "several disks": (lambda: patched(SOUND, END, 4, b"\1\0"), IntegrityError, "several files"),
    "count too small": (lambda: patched(SOUND, END, 8, b"\1\0\1\0"), IntegrityError, "more than its end"),
    "count too large": (lambda: patched(SOUND, END, 8, b"\3\0\3\0"), IntegrityError, "cut off"),
    "zip64": (lambda: patched(SOUND, END, 8, b"\xff\xff\xff\xff"), LimitError, "zip64"),
    "zip64 member": (lambda: patched(SOUND, CENTRAL, 20, b"\xff\xff\xff\xff"), LimitError, "zip64"),
    "directory elsewhere": (lambda: patched(SOUND, END, 16, b"\1\0\0\0"), IntegrityError, "not where"),
    "damaged directory": (lambda: patched(SOUND, CENTRAL, 0, b"XX"), IntegrityError, "damaged"),
    "folder with content": (
        lambda: archive({"pkg/a/": b"content"}, zipfile.ZIP_STORED),
        IntegrityError,
        "folder with content",
    ),
    "a bomb": (lambda: archive({"pkg/zeros": bytes(1_000_000)}), LimitError, "200 times"),
    "a huge member": (
        lambda: archive({"pkg/huge": incompressible(64) * (range_zip.MAX_MEMBER // 64 + 1)}),
        LimitError,
        "limit for one file",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(name: str) -> None:
    make, kind, words = HOSTILE[name]

    with pytest.raises(kind, match=words) as error:
        read_all(make())

    assert error.value.advice


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up.py", "a/../../b", "a//b", "./a", "a\\b", "C:x", "a\nb", "a\x1bb", "n" * 1025, "."],
)
def test_unsafe_names_are_refused(name: str) -> None:
    info = zipfile.ZipInfo("placeholder")
    info.filename = name  # past what ZipInfo would tidy up
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as writer:
        writer.writestr(info, b"x")

    with pytest.raises(IntegrityError, match="unsafe name"):
        read_all(buffer.getvalue())


def test_a_name_that_is_neither_ascii_nor_marked_as_utf8_is_refused() -> None:
    data = archive({"pkg/a.py": b"x"}).replace(b"pkg/a.py", b"pkg/\xfc.py")

    with pytest.raises(IntegrityError, match="cannot be read"):
        read_all(data)


def test_too_many_members_are_refused_before_any_is_read() -> None:
    end = struct.pack("<4s4H2LH", END, 0, 0, 20_001, 20_001, 46 * 20_001, 0, 0)

    with pytest.raises(LimitError, match="20001 members"):
        find_directory(end, 46 * 20_001 + len(end))


def test_a_directory_that_is_too_large_is_refused_before_it_is_read() -> None:
    size = 16 * 1024 * 1024 + 1
    end = struct.pack("<4s4H2LH", END, 0, 0, 1, 1, size, 0, 0)

    with pytest.raises(LimitError, match="16777217 bytes"):
        find_directory(end, size + len(end))


def test_the_size_that_is_unpacked_is_not_what_the_archive_claims() -> None:
    """Ten megabytes behind a claim of ten bytes: unpacking stops at eleven."""
    packed = zlib.compress(bytes(10_000_000), 9)[2:-4]
    data = archive({"pkg/a": b"0123456789"}, zipfile.ZIP_STORED)
    header = struct.pack("<4s5H3L2H", LOCAL, 20, 0, 8, 0, 0, 0, len(packed), 10, 5, 0)
    member = range_zip.Member("pkg/a", 0, len(header) + 5 + len(packed), len(packed), 10, 0, 8, 0)

    with pytest.raises(IntegrityError, match="does not have the size"):
        extract(member, header + b"pkg/a" + packed)
    assert read_all(data) == {"pkg/a": b"0123456789"}


names = st.text(st.sampled_from("ab_é/."), min_size=1, max_size=12)
files = st.dictionaries(names, st.binary(max_size=300), max_size=6)


@settings(max_examples=150, deadline=None)
@given(files, st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
def test_what_is_accepted_is_what_zipfile_sees(content: dict[str, bytes], compression: int) -> None:
    data = archive(content, compression)
    try:
        found = read_all(data)
    except InvestigateError:
        parts = [part for name in content for part in name.removesuffix("/").split("/")]
        folders = [name for name, body in content.items() if name.endswith("/") and body]
        assert folders or {"", ".", ".."} & set(parts)
        return

    with zipfile.ZipFile(io.BytesIO(data)) as reader:
        assert found == {name: reader.read(name) for name in reader.namelist() if not name.endswith("/")}


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(SOUND) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_archive_is_refused_or_read_as_zipfile_reads_it(edits: list[tuple[int, int]]) -> None:
    data = bytearray(SOUND)
    for at, value in edits:
        data[at] = value
    try:
        found = read_all(bytes(data))
    except InvestigateError:
        return

    with zipfile.ZipFile(io.BytesIO(bytes(data))) as reader:
        assert found == {name: reader.read(name) for name in reader.namelist()}


@given(st.binary(max_size=200))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(InvestigateError):
        read_all(noise)


def test_spans_that_lie_close_are_joined() -> None:
    spans = [(0, 10), (15, 20), (100, 110), (111, 112)]

    assert coalesce(spans, gap=5, longest=1000) == [(0, 20), (100, 112)]
    assert coalesce(spans, gap=4, longest=1000) == [(0, 10), (15, 20), (100, 112)]
    assert coalesce(spans, gap=1000, longest=100) == [(0, 20), (100, 112)]
    assert coalesce([], gap=5, longest=10) == []


def test_a_span_inside_another_changes_nothing() -> None:
    assert coalesce([(0, 50), (10, 20)], gap=0, longest=100) == [(0, 50)]


@pytest.mark.parametrize(
    ("most", "gap", "left"),
    [
        (4, 1, 4),  # few enough as they are
        (3, 5, 3),  # the narrowest gap that leaves three
        (2, 20, 2),
        (1, 60, 2),  # the last gap of 100 is wider than any that is joined over
    ],
)
def test_wider_gaps_are_joined_over_where_there_would_be_too_many(most: int, gap: int, left: int) -> None:
    spans = [(0, 10), (15, 20), (40, 50), (150, 160)]

    found = gap_for(spans, least=1, widest=60, longest=1000, most=most)

    assert found == gap
    assert len(coalesce(spans, found, 1000)) == left


def test_a_directory_and_a_member_that_came_in_part() -> None:
    data = archive({"a.py": b"x = 1\n"})
    directory = find_directory(data, len(data))
    listed = data[directory.offset : directory.offset + directory.size]
    (member,) = parse_directory(listed, directory)

    with pytest.raises(IntegrityError, match="the archive's directory is cut off"):
        parse_directory(listed[:-1], directory)
    with pytest.raises(IntegrityError, match=r"a\.py is cut off"):
        extract(member, data[member.start : member.limit - 1])
