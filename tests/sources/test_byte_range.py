"""Parts of files, from good servers, and from servers that ignore ranges or lie."""

from pathlib import Path

import pytest
from werkzeug import Response

from investigator.errors import IntegrityError, NotFoundError, SourceError
from investigator.sources import byte_range
from investigator.sources.byte_range import LocalBytes, RemoteBytes
from investigator.sources.transport import Transport
from tests.support.mini_index import (
    MiniIndex,
    serve_no_suffix,
    serve_shifted,
    serve_whole,
    serve_wrong_total,
)
from tests.support.wheels import incompressible

DATA = incompressible(1000)


@pytest.fixture
def url(index: MiniIndex) -> str:
    index.add(data=DATA)
    return index.server.url_for(f"/files/{index.files[0].filename}")


def remote(transport: Transport, url: str, size: int | None = len(DATA)) -> RemoteBytes:
    return RemoteBytes(transport, url, "the wheel", "vllm", size, None)


def test_parts_of_a_local_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(DATA)
    file = LocalBytes(tmp_path / "file")

    assert (file.size, file.local) == (1000, True)
    assert file.read(10, 20) == DATA[10:20]
    assert file.tail(5) == DATA[-5:]
    assert file.tail(5000) == DATA
    with pytest.raises(IntegrityError, match="cut off"):
        file.read(990, 1001)


def test_a_local_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="cannot be read"):
        LocalBytes(tmp_path / "file")


def test_parts_of_a_remote_file(transport: Transport, url: str) -> None:
    file = remote(transport, url)

    assert file.read(10, 20) == DATA[10:20]
    assert file.tail(5) == DATA[-5:]
    assert file.tail(5000) == DATA
    assert transport.usage().bytes == 10 + 5 + 1000


@pytest.mark.parametrize("tail", [5, 5000])
def test_a_size_that_the_index_does_not_name_is_learned(transport: Transport, url: str, tail: int) -> None:
    file = remote(transport, url, size=None)

    assert file.tail(tail) == DATA[-tail:]
    assert file.size == 1000
    assert transport.usage().requests == 1


def test_a_server_without_ranges_counted_from_the_end(
    transport: Transport, index: MiniIndex, url: str
) -> None:
    index.serve = serve_no_suffix
    file = remote(transport, url, size=None)

    assert file.tail(5) == DATA[-5:]
    assert file.size == 1000
    assert file.read(10, 20) == DATA[10:20]


@pytest.mark.parametrize("size", [1000, None])
def test_a_small_file_of_a_server_without_ranges_is_taken_whole_once(
    transport: Transport, index: MiniIndex, url: str, size: int | None
) -> None:
    index.serve = serve_whole
    file = remote(transport, url, size)

    assert file.tail(5) == DATA[-5:]
    assert file.read(10, 20) == DATA[10:20]
    assert file.size == 1000
    assert transport.usage().requests == 1


def test_a_large_file_of_a_server_without_ranges_is_not_taken(
    transport: Transport, index: MiniIndex, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.serve = serve_whole
    monkeypatch.setattr(byte_range, "WHOLE_LIMIT", 999)

    with pytest.raises(SourceError, match="does not serve parts of a file") as error:
        remote(transport, url).tail(5)

    assert "path:" in error.value.advice
    assert transport.usage().bytes == 0


def test_a_server_that_sends_another_part(transport: Transport, index: MiniIndex, url: str) -> None:
    index.serve = serve_shifted

    with pytest.raises(IntegrityError, match="asked for 10-19, it sends 0-9"):
        remote(transport, url).read(10, 20)
    with pytest.raises(IntegrityError, match="asked for the end, it sends 0-4 of 1000"):
        remote(transport, url).tail(5)


def test_a_server_that_names_another_size(transport: Transport, index: MiniIndex, url: str) -> None:
    index.serve = serve_wrong_total

    with pytest.raises(IntegrityError, match="should be 1000 bytes and is said to be 123456"):
        remote(transport, url).read(10, 20)


def test_an_index_that_names_another_size(transport: Transport, url: str) -> None:
    with pytest.raises(IntegrityError, match="does not serve this file as listed"):
        remote(transport, url, size=5000).tail(5)


@pytest.mark.parametrize("header", ["", "bytes 0-4", "bytes */1000", "bytes x-y/1000", "rows 995-999/1000"])
def test_a_range_without_a_sound_header(
    transport: Transport, index: MiniIndex, url: str, header: str
) -> None:
    index.serve = lambda _, data: Response(data[-5:], 206, {"Content-Range": header})

    with pytest.raises(IntegrityError, match="does not serve this file as listed"):
        remote(transport, url).tail(5)


def test_a_part_that_is_too_short(transport: Transport, index: MiniIndex, url: str) -> None:
    index.serve = lambda _, data: Response(data[10:15], 206, {"Content-Range": "bytes 10-19/1000"})

    with pytest.raises(IntegrityError, match="it sends 10-14"):
        remote(transport, url).read(10, 20)


def test_a_whole_file_of_another_size_than_listed(transport: Transport, index: MiniIndex, url: str) -> None:
    index.serve = serve_whole

    with pytest.raises(IntegrityError, match="it sends 1000 bytes instead of 900"):
        remote(transport, url, size=900).read(10, 20)
