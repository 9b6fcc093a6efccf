"""Edits change their own bytes and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from investigator.errors import PatchError
from investigator.patches.edits import Edit, apply_edits, by_path, edited_files, line_end


def test_replaces_inserts_and_deletes() -> None:
    content = b"ids = read(key)\nuse(ids)\n"
    edits = [
        Edit("a.py", 16, 19, b"tap"),
        Edit("a.py", 6, 6, b"shift("),
        Edit("a.py", 15, 15, b")"),
        Edit("a.py", 24, 25, b""),
    ]
    assert apply_edits(content, edits) == b"ids = shift(read(key))\ntap(ids)"


def test_bytes_outside_stay_as_they_are() -> None:
    content = b"\xef\xbb\xbf# caf\xe9\r\n\tx = 1\r\ny = 2"
    at = content.index(b"1")
    after = apply_edits(content, [Edit("a.py", at, at + 1, b"3")])
    assert after == b"\xef\xbb\xbf# caf\xe9\r\n\tx = 3\r\ny = 2"


@pytest.mark.parametrize(
    "edits",
    [
        [Edit("a.py", 0, 3, b""), Edit("a.py", 2, 4, b"")],
        [Edit("a.py", 2, 2, b"x"), Edit("a.py", 2, 2, b"y")],
        [Edit("a.py", 1, 4, b""), Edit("a.py", 2, 2, b"y")],
    ],
    ids=["overlap", "same place", "inside"],
)
def test_refuses_edits_whose_order_would_matter(edits: list[Edit]) -> None:
    with pytest.raises(PatchError, match="two edits touch byte 2"):
        apply_edits(b"abcdef", edits)


def test_refuses_an_edit_outside_the_file() -> None:
    with pytest.raises(PatchError, match="no bytes 2-4 in a file of 3 bytes"):
        apply_edits(b"abc", [Edit("a.py", 2, 4, b"")])


def test_touching_edits_are_fine() -> None:
    assert apply_edits(b"abcd", [Edit("a.py", 0, 2, b"x"), Edit("a.py", 2, 4, b"y")]) == b"xy"


def test_files_keep_the_order_of_their_edits() -> None:
    edits = (Edit("z.py", 0, 0, b"1"), Edit("a.py", 0, 0, b"2"), Edit("z.py", 1, 1, b"3"))
    assert list(by_path(edits)) == ["z.py", "a.py"]
    assert edited_files(edits, {"a.py": b"x", "z.py": b"yy"}) == {"z.py": b"1y3y", "a.py": b"2x"}


@pytest.mark.parametrize(
    ("content", "expected"), [(b"a\r\nb\n", b"\r\n"), (b"a\nb\r\n", b"\n"), (b"a", b"\n"), (b"\n", b"\n")]
)
def test_line_end_is_that_of_the_first_line(content: bytes, expected: bytes) -> None:
    assert line_end(content) == expected


@given(st.binary(max_size=60), st.data())
def test_an_edit_can_be_taken_back(content: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    replacement = data.draw(st.binary(max_size=10))
    after = apply_edits(content, [Edit("a", start, end, replacement)])
    back = Edit("a", start, start + len(replacement), content[start:end])
    assert apply_edits(after, [back]) == content
