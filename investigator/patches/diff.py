"""Write edits as git writes them: a unified diff, and the mail that ``git am`` takes.

Lines are what lies between two ``\\n``; a ``\\r`` before it belongs to the line. The output is
the same for the same input: dates and names are passed in.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from itertools import accumulate, pairwise
from math import ceil

from investigator.errors import PatchError
from investigator.patches.edits import Edit, Edits, apply_edits, by_path, in_order

CONTEXT = 3
AUTHOR = "investigate <investigate@localhost>"
_NO_NEWLINE = b"\\ No newline at end of file\n"
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_.+-]+(?:/[A-Za-z0-9_.+-]+)*\Z")
_NOT_A_NAME = frozenset({".", "..", ".git"})
_HEADING = re.compile(rb"[A-Za-z_$]")
_BAR = 40


@dataclass(frozen=True)
class FileDiff:
    """One file's section of a diff: its text, and how many lines it adds and removes."""

    path: str
    text: bytes
    added: int
    removed: int


@dataclass(frozen=True)
class _Block:
    """Old lines ``[start, end)`` become ``new``; both end where a line ends."""

    start: int
    end: int
    new: tuple[bytes, ...]


def diff_edits(edits: Iterable[Edit], before: Mapping[str, bytes]) -> tuple[FileDiff, ...]:
    """A section for each file that ``edits`` change, in the order they name them.

    A path that is not in ``before`` is a new file. Raises PatchError as
    :func:`~investigator.patches.edits.apply_edits`, and for a path that git would quote.
    """
    sections = (_file_diff(path, before.get(path), of_path) for path, of_path in by_path(edits).items())
    return tuple(section for section in sections if section.text)


def unified(sections: Iterable[FileDiff]) -> bytes:
    """The sections as one diff."""
    return b"".join(section.text for section in sections)


def mail(
    sections: Sequence[FileDiff],
    *,
    subject: str,
    body: str,
    when: datetime,
    number: int = 1,
    total: int = 1,
    signature: str = "investigate",
) -> bytes:
    """The patch as a mail that both ``git am`` and ``git apply`` take.

    ``subject`` is one ASCII line without a leading bracket (``git am`` would drop it).
    ``when`` is the commit's date: pass the release's, so that the same engine gives the same
    bytes. Lines of ``body`` that a mail reader would take for the patch's start are indented.
    """
    if not subject.isascii() or "\n" in subject or subject.startswith("["):
        raise ValueError(f"not a mail subject: {subject!r}")
    tag = "[PATCH]" if total == 1 else f"[PATCH {number}/{total}]"
    head = [
        f"From {'0' * 40} Mon Sep 17 00:00:00 2001",
        f"From: {AUTHOR}",
        f"Date: {format_datetime(when)}",
        f"Subject: {tag} {subject}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
        "",
        *(_safe_body_line(line) for line in body.strip("\n").split("\n")),
        "---",
        *_diffstat(sections),
        "",
    ]
    return "\n".join(head).encode() + b"\n" + unified(sections) + f"-- \n{signature}\n\n".encode()


def git_blob(content: bytes) -> str:
    """The object id that git gives to this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def check_path(path: str) -> None:
    """Raise PatchError unless a patch may name ``path``: relative, plain, inside, not git's own."""
    if not _PLAIN_PATH.match(path) or not _NOT_A_NAME.isdisjoint(part.lower() for part in path.split("/")):
        raise PatchError(f"a patch must not name {path!r}", "give plain relative names inside the tree")


def _file_diff(path: str, before: bytes | None, edits: Edits) -> FileDiff:
    check_path(path)
    old = before or b""
    lines = _lines(old)
    blocks = list(_blocks(old, lines, edits))
    if not blocks:
        return FileDiff(path, b"", 0, 0)
    new_id = git_blob(apply_edits(old, edits))
    head = f"diff --git a/{path} b/{path}\n"
    if before is None:
        head += f"new file mode 100644\nindex {'0' * 40}..{new_id}\n--- /dev/null\n+++ b/{path}\n"
    else:
        head += f"index {git_blob(before)}..{new_id} 100644\n--- a/{path}\n+++ b/{path}\n"
    added = sum(len(block.new) for block in blocks)
    removed = sum(block.end - block.start for block in blocks)
    return FileDiff(path, head.encode() + b"".join(_hunks(lines, blocks)), added, removed)


def _lines(content: bytes) -> list[bytes]:
    pieces = content.split(b"\n")
    lines = [piece + b"\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _blocks(content: bytes, lines: Sequence[bytes], edits: Edits) -> Iterator[_Block]:
    """The changed lines, from top to bottom, without lines that an edit leaves as they were."""
    starts = [0, *accumulate(map(len, lines))]
    for start, end, group in _reaches(content, len(lines), in_order(content, edits)):
        offset = starts[start]
        moved = (Edit(e.path, e.start_byte - offset, e.end_byte - offset, e.replacement) for e in group)
        new = _lines(apply_edits(content[offset : starts[end]], moved))
        old = lines[start:end]
        same_head = _common(old, new)
        same_tail = _common(old[same_head:][::-1], new[same_head:][::-1])
        block = _Block(start + same_head, end - same_tail, tuple(new[same_head : len(new) - same_tail]))
        if block.new or block.start < block.end:
            yield block


def _reaches(content: bytes, count: int, edits: Sequence[Edit]) -> list[tuple[int, int, list[Edit]]]:
    """Lines ``[first, end)`` that each edit touches; edits that share a line go together."""
    starts = [0, *(match.end() for match in re.finditer(rb"\n", content))]

    def line_of(position: int) -> int:
        return bisect_right(starts, position) - 1

    groups: list[tuple[int, int, list[Edit]]] = []
    for edit in edits:
        first = line_of(edit.start_byte)
        last = line_of(max(edit.start_byte, edit.end_byte - 1))
        text_before_end = edit.replacement or content[: edit.start_byte]
        if text_before_end and not text_before_end.endswith(b"\n"):
            last = line_of(edit.end_byte)  # what follows joins the edit's last line
        end = min(last + 1, count)
        if groups and first < groups[-1][1]:
            above, bottom, group = groups[-1]
            groups[-1] = (above, max(bottom, end), [*group, edit])
        else:
            groups.append((min(first, count), end, [edit]))
    return groups


def _common(left: Sequence[bytes], right: Sequence[bytes]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _hunks(lines: Sequence[bytes], blocks: Sequence[_Block]) -> Iterator[bytes]:
    groups: list[list[_Block]] = [[blocks[0]]]
    for above, below in pairwise(blocks):
        if below.start - above.end <= 2 * CONTEXT:
            groups[-1].append(below)
        else:
            groups.append([below])
    shift = 0
    for group in groups:
        top = max(group[0].start - CONTEXT, 0)
        bottom = min(group[-1].end + CONTEXT, len(lines))
        body: list[bytes] = []
        at = top
        for block in group:
            body += [b" " + line for line in lines[at : block.start]]
            body += [b"-" + line for line in lines[block.start : block.end]]
            body += [b"+" + line for line in block.new]
            at = block.end
        body += [b" " + line for line in lines[at:bottom]]
        growth = sum(len(block.new) - (block.end - block.start) for block in group)
        old, new = bottom - top, bottom - top + growth
        header = b"@@ -%s +%s @@" % (_range(top, old), _range(top + shift, new))
        heading = next((line for line in reversed(lines[:top]) if _HEADING.match(line)), b"")
        yield header + (b" " + heading.strip()[:80] if heading else b"") + b"\n"
        yield from (line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE for line in body)
        shift += growth


def _range(start: int, count: int) -> bytes:
    if count == 0:
        return b"%d,0" % start
    return b"%d" % (start + 1) if count == 1 else b"%d,%d" % (start + 1, count)


def _safe_body_line(line: str) -> str:
    starts_patch = line.startswith(("---", "diff -", "Index: ", "From ", ">From "))
    return " " + line if starts_patch else line.rstrip()


def _diffstat(sections: Sequence[FileDiff]) -> list[str]:
    width = max((len(section.path) for section in sections), default=0)
    most = max((section.added + section.removed for section in sections), default=0)
    scale = min(1.0, _BAR / max(most, 1))
    rows = [
        f" {section.path:<{width}} | {section.added + section.removed} "
        + "+" * ceil(section.added * scale)
        + "-" * ceil(section.removed * scale)
        for section in sections
    ]
    added = sum(section.added for section in sections)
    removed = sum(section.removed for section in sections)
    total = f" {len(sections)} file{'s' * (len(sections) != 1)} changed"
    if added:
        total += f", {added} insertion{'s' * (added != 1)}(+)"
    if removed:
        total += f", {removed} deletion{'s' * (removed != 1)}(-)"
    return [*rows, total]
