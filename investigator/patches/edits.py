"""Changes to files as byte ranges: everything outside a range stays as it is.

Working on bytes keeps what a text round trip would lose: CRLF line ends, tabs, a byte-order
mark, a missing newline at the end, and bytes that are not UTF-8.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from investigator.errors import PatchError


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the bytes ``[start_byte, end_byte)`` of the file ``path``.

    ``start_byte == end_byte`` inserts before that byte. Offsets count from the first byte of
    the file, byte-order mark included.
    """

    path: str
    start_byte: int
    end_byte: int
    replacement: bytes


Edits = tuple[Edit, ...]
"""Edits of one repair, in the order in which their files should be written: the file that
defines a name before the file that uses it."""


def apply_edits(content: bytes, edits: Iterable[Edit]) -> bytes:
    """The file after ``edits`` (all of one path). Raises PatchError when two of them overlap."""
    ordered = in_order(content, edits)
    pieces: list[bytes] = []
    position = 0
    for edit in ordered:
        pieces += [content[position : edit.start_byte], edit.replacement]
        position = edit.end_byte
    return b"".join([*pieces, content[position:]])


def in_order(content: bytes, edits: Iterable[Edit]) -> Sequence[Edit]:
    """``edits`` from the start of the file to its end, checked against it.

    Raises PatchError when an edit reaches outside the file, or two overlap or insert at the
    same place: their order would decide the result.
    """
    ordered = sorted(edits)
    for edit in ordered:
        if not 0 <= edit.start_byte <= edit.end_byte <= len(content):
            raise PatchError(
                f"{edit.path}: no bytes {edit.start_byte}-{edit.end_byte} in a file of {len(content)} bytes",
                "read the file again: it is not the one that the edit was made for",
            )
    for left, right in pairwise(ordered):
        if right.start_byte < left.end_byte or right.start_byte == left.start_byte:
            raise PatchError(
                f"{left.path}: two edits touch byte {right.start_byte}",
                "make the second one on the file as the first one leaves it",
            )
    return ordered


def edited_files(edits: Sequence[Edit], before: Mapping[str, bytes]) -> dict[str, bytes]:
    """Path -> new content for every file that ``edits`` touch, in the order they name them.

    ``before`` holds at least those files' contents. Raises PatchError as :func:`apply_edits`.
    """
    return {path: apply_edits(before[path], of_path) for path, of_path in by_path(edits).items()}


def by_path(edits: Iterable[Edit]) -> dict[str, Edits]:
    """Edits grouped by file, files in the order in which they first appear."""
    groups: dict[str, list[Edit]] = {}
    for edit in edits:
        groups.setdefault(edit.path, []).append(edit)
    return {path: tuple(group) for path, group in groups.items()}


def line_end(content: bytes) -> bytes:
    """The line end that a line added to this file should have: that of its first line."""
    newline = content.find(b"\n")
    return b"\r\n" if newline > 0 and content[newline - 1 : newline] == b"\r" else b"\n"
