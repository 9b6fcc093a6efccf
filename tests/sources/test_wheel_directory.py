"""Of a large wheel's directory only what is needed is read: where an entry stands follows from RECORD."""

import io
import zipfile
from collections.abc import Callable

import pytest

from investigator.case import EngineSpec
from investigator.errors import IntegrityError
from investigator.sources import wheel_directory
from investigator.sources.open import Workspace, open_engine
from investigator.sources.range_zip import find_directory
from investigator.sources.wheel_directory import read_directory
from tests.support.mini_index import MiniIndex
from tests.support.wheels import build_wheel, record_row

RELEASE = EngineSpec.parse("vllm==0.20.1")
FILES = {f"vllm/part{number // 1000}/module_{number:04}.py": b"N = %d\n" % number for number in range(4000)}
"""Their entries take 46 and 29 bytes each: a directory of 300 kB."""
FIRST, MIDDLE, LAST = "vllm/part0/module_0000.py", "vllm/part2/module_2000.py", "vllm/part3/module_3999.py"


class File:
    """A file whose reads are noted, as spans."""

    def __init__(self, data: bytes) -> None:
        self.data, self.size, self.local = data, len(data), False
        self.spans: list[tuple[int, int]] = []

    def read(self, start: int, end: int) -> bytes:
        self.spans.append((start, end))
        return self.data[start:end]

    def tail(self, length: int) -> bytes:
        return self.read(max(0, self.size - length), self.size)


@pytest.fixture(scope="module")
def large() -> bytes:
    return build_wheel(files=FILES)


def directory_of(data: bytes) -> bytes:
    place = find_directory(data, len(data))
    return data[place.offset : place.offset + place.size]


def test_a_large_directory_is_read_in_slices(large: bytes) -> None:
    file = File(large)
    directory = read_directory(file, "vllm", "0.20.1")
    place = find_directory(large, len(large))

    assert list(directory.names[:-2]) == list(FILES)  # and METADATA and RECORD
    assert len(directory.hashes) == 4001
    assert len(file.spans) == 2  # the tail, and RECORD with the directory's beginning
    assert {FIRST, LAST} <= directory.places.keys()
    assert MIDDLE not in directory.places
    sent = len(file.spans)

    assert directory.locate([FIRST, LAST], file) is False
    assert directory.locate([MIDDLE], file) is True
    assert len(file.spans) == sent + 1
    start, end = file.spans[-1]
    assert (start - place.offset, end - start) == (2000 * (46 + 25), 2 * (46 + 25))

    with zipfile.ZipFile(io.BytesIO(large)) as archive:
        for name in (FIRST, MIDDLE, LAST):
            assert directory.member(name).start == archive.getinfo(name).header_offset
            assert directory.member(name).crc == archive.getinfo(name).CRC
    after = next(iter(list(FILES)[2001:]))
    with zipfile.ZipFile(io.BytesIO(large)) as archive:
        assert directory.member(MIDDLE).limit == archive.getinfo(after).header_offset


def test_the_files_of_such_a_wheel_are_read_and_a_second_run_asks_for_nothing(
    workspace: Workspace, index: MiniIndex, reopened: Callable[..., Workspace], large: bytes
) -> None:
    index.add(data=large)
    tree = open_engine(RELEASE, workspace)
    tree.prefetch([FIRST, MIDDLE, LAST])

    for again in (tree, open_engine(RELEASE, reopened(offline=True))):
        assert len(again.paths()) == 4002
        assert [again.read(path) for path in (FIRST, MIDDLE, LAST)] == [
            b"N = 0\n",
            b"N = 2000\n",
            b"N = 3999\n",
        ]
    sent = len(index.requests)
    later = open_engine(RELEASE, reopened())
    assert later.read("vllm/part2/module_2001.py") == b"N = 2001\n"
    assert len(index.requests) == sent + 2  # its entry's slice, and itself


def rearranged(last: str, record_order: list[str]) -> bytes:
    """A wheel that lists its files in another order than its RECORD does, or does not end with it."""
    rows = [record_row(path, FILES[path]) for path in record_order]
    record = "\n".join([*rows, "vllm-0.20.1.dist-info/RECORD,,", ""])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in FILES.items():
            archive.writestr(path, content)
        archive.writestr("vllm-0.20.1.dist-info/RECORD", record)
        if last:
            archive.writestr(last, b"")
    return buffer.getvalue()


@pytest.mark.parametrize(
    "last", ["vllm-0.20.1.dist-info/licenses/LICENSE", "vllm-0.20.1.dist-info/licenses/"]
)
def test_a_directory_that_record_does_not_account_for_is_read_whole(last: str) -> None:
    data = rearranged(last, list(FILES))

    directory = read_directory(File(data), "vllm", "0.20.1")

    assert directory.first is None
    assert {*FILES, "vllm-0.20.1.dist-info/RECORD"} <= set(directory.places)


def test_an_entry_under_another_name_than_record_says_is_an_error() -> None:
    """Two names of one length in each other's place: count and length agree, the entries do not."""
    order = list(FILES)
    order[0], order[1] = order[1], order[0]

    with pytest.raises(IntegrityError, match=r"module_0000\.py instead of vllm/part0/module_0001\.py"):
        read_directory(File(rearranged("", order)), "vllm", "0.20.1")

    order = list(FILES)
    order[2000], order[2001] = order[2001], order[2000]
    file = File(rearranged("", order))
    directory = read_directory(file, "vllm", "0.20.1")
    with pytest.raises(IntegrityError, match=r"module_2001\.py instead of vllm/part2/module_2000\.py"):
        directory.locate([MIDDLE], file)


def test_a_name_that_leads_out_is_refused_before_its_entry_is_read() -> None:
    order = list(FILES)
    files = dict(FILES)
    bad = "vllm/../../module_2000.py"
    assert len(bad) == len(MIDDLE)
    rows = [record_row(bad if path == MIDDLE else path, files[path]) for path in order]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(bad if path == MIDDLE else path, content)
        archive.writestr("vllm-0.20.1.dist-info/RECORD", "\n".join([*rows, "vllm-0.20.1.dist-info/RECORD,,"]))

    with pytest.raises(IntegrityError, match="unsafe name"):
        read_directory(File(buffer.getvalue()), "vllm", "0.20.1")


def test_slices_and_the_whole_say_the_same(large: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    sliced, file = read_directory(File(large), "vllm", "0.20.1"), File(large)
    sliced.locate(sliced.names, file)
    monkeypatch.setattr(wheel_directory, "TAIL", len(large))
    whole = read_directory(File(large), "vllm", "0.20.1")

    assert whole.first is None
    assert (list(sliced.names), sliced.hashes) == (list(whole.names), whole.hashes)
    assert sliced.places == whole.places
