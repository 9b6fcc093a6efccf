"""Lines out of foreign bytes."""

import gzip
import io

import pytest

from investigator.errors import UsageError
from investigator.triage.reader import PIECE, Piece, Progress, pieces, printable


def read(data: bytes) -> list[Piece]:
    return list(pieces(io.BytesIO(data), Progress()))


def test_lines_are_numbered_from_one_and_bare() -> None:
    assert read(b"a\r\n\nb") == [Piece(1, "a"), Piece(2, ""), Piece(3, "b")]


def test_states_of_a_progress_bar_share_a_line_number() -> None:
    assert read(b"10%\r20%\rdone\nnext") == [
        Piece(1, "10%"),
        Piece(1, "20%"),
        Piece(1, "done"),
        Piece(2, "next"),
    ]


def test_colours_are_gone() -> None:
    assert read(b"\x1b[36m(EngineCore pid=7)\x1b[0m INFO\n")[0].text == "(EngineCore pid=7) INFO"


def test_a_long_line_comes_in_pieces_cut_behind_a_comma() -> None:
    found = read(b'"key": 1, ' * 20_000)
    assert {piece.line for piece in found} == {1}
    assert max(len(piece.text) for piece in found) <= PIECE
    assert all(piece.text.endswith(",") for piece in found[:-1])
    assert "".join(piece.text for piece in found) == '"key": 1, ' * 20_000


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_tells_the_encoding(encoding: str) -> None:
    assert read("Drafts: 5\nÜ".encode(encoding)) == [Piece(1, "Drafts: 5"), Piece(2, "Ü")]


def test_bytes_that_are_no_text_do_not_stop_the_reading() -> None:
    assert read(b"\xff\xfe\xfa"[1:] + b"\nDrafts: 5")[-1] == Piece(2, "Drafts: 5")


@pytest.mark.parametrize(
    ("magic", "name"), [(b"\xfd7zXZ\0", "xz"), (b"PK\x03\x04", "zip"), (b"BZh9", "bzip2")]
)
def test_a_packed_file_is_named_with_advice(magic: bytes, name: str) -> None:
    with pytest.raises(UsageError, match=name) as caught:
        read(magic + b"rest")
    assert "unpack" in caught.value.advice


def test_a_rotated_log_is_unpacked_on_the_way() -> None:
    packed = gzip.compress(b"Drafts: 5\nDraft tokens: 75\n" * 10_000)
    found = read(packed)
    assert len(found) == 20_000
    assert found[-1] == Piece(20_000, "Draft tokens: 75")


def test_two_rotated_logs_in_one_pipe_follow_each_other() -> None:
    assert [piece.text for piece in read(gzip.compress(b"a\n") + gzip.compress(b"b\n"))] == ["a", "b"]


@pytest.mark.parametrize("spoilt", [slice(0, 600), slice(0, 12), slice(0, 3)])
def test_a_packed_log_that_was_cut_off_gives_what_came_before(spoilt: slice) -> None:
    lines = "".join(f"Drafts: {n * n}\n" for n in range(2_000))
    found = "\n".join(piece.text for piece in read(gzip.compress(lines.encode())[spoilt]))
    assert lines.startswith(found)


def test_an_unreadable_stream_is_a_usage_error() -> None:
    closed = io.BytesIO(b"x")
    closed.close()
    with pytest.raises(UsageError, match="cannot be read"):
        list(pieces(closed, Progress()))


def test_progress_counts_lines_and_bytes() -> None:
    progress = Progress()
    list(pieces(io.BytesIO(b"a\nb\nc"), progress))
    assert (progress.lines_read, progress.bytes_read) == (3, 5)


@pytest.mark.parametrize(
    "secret",
    [
        "HF_TOKEN=abcdef123 vllm serve",
        "vllm serve X --api-key abcdef123",
        "vllm serve X --api-key=abcdef123",
        "Authorization: Bearer abcdef123",
        "hf_abcdef123",
        "sk-abcdef123",
    ],
)
def test_secrets_do_not_reach_a_shown_line(secret: str) -> None:
    assert "abcdef123" not in printable(secret)


def test_a_shown_line_is_short_and_without_control_characters() -> None:
    assert printable("a\x07b\u202ec" + "x" * 500) == "a b c" + "x" * 234 + "…"
