"""A diff from outside, file by file, within limits; nothing is written and git is not asked.

One file that cannot be read (binary, a path that leaves the tree, counts that lie) does not
spoil the others: it carries a ``problem`` and no hunks. Text is kept as bytes; a line is what
ends with ``\\n``, and a ``\\r`` before it belongs to the line.
"""

import difflib
import re
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise

from investigator.errors import LimitError, SourceError
from investigator.sources.diff_header import ChangeKind, read_header

MAX_BYTES = 20 * 1024 * 1024
MAX_FILES = 3000
_SECTION = re.compile(rb"^diff --git ", re.MULTILINE)


@dataclass(frozen=True)
class Hunk:
    """Lines from ``old_start`` (from 1) that become others, which stand at ``new_start``.

    ``lines``: pairs of a mark (``" "``, ``"-"``, ``"+"``) and the line with its end.
    """

    old_start: int
    new_start: int
    lines: tuple[tuple[str, bytes], ...]

    @property
    def old(self) -> tuple[bytes, ...]:
        """The lines it expects to find."""
        return tuple(line for mark, line in self.lines if mark != "+")

    @property
    def new(self) -> tuple[bytes, ...]:
        """The lines it leaves."""
        return tuple(line for mark, line in self.lines if mark != "-")

    def of(self, mark: str) -> tuple[bytes, ...]:
        """The lines it adds (``"+"``) or deletes (``"-"``)."""
        return tuple(line for found, line in self.lines if found == mark)

    def reversed(self) -> "Hunk":
        """The hunk that takes it back."""
        swap = {"+": "-", "-": "+", " ": " "}
        return Hunk(self.new_start, self.old_start, tuple((swap[mark], line) for mark, line in self.lines))


@dataclass(frozen=True, kw_only=True)
class ChangedFile:
    """One file of a diff. ``path`` is its name afterwards, ``old_path`` before.

    ``old_blob``: git's (abbreviated) name of its content before, where given. ``problem``:
    why it cannot be applied; then there are no hunks.
    """

    path: str
    old_path: str
    kind: ChangeKind
    hunks: tuple[Hunk, ...] = ()
    old_blob: str | None = None
    problem: str | None = None

    @property
    def additions(self) -> int:
        """How many lines it adds."""
        return sum(len(hunk.of("+")) for hunk in self.hunks)

    @property
    def deletions(self) -> int:
        """How many lines it deletes."""
        return sum(len(hunk.of("-")) for hunk in self.hunks)


def read_diff(diff: bytes, what: str) -> tuple[ChangedFile, ...]:
    """The files of a diff in git's form, in its order; ``what`` says in errors what it is.

    Raises LimitError over 20 MiB or 3,000 files, SourceError for text that is no such diff.
    """
    if len(diff) > MAX_BYTES:
        raise LimitError(
            f"{what} has a diff of {len(diff):,} bytes; at most {MAX_BYTES:,} are read", "look at it by hand"
        )
    starts = [match.start() for match in _SECTION.finditer(diff)]
    if len(starts) > MAX_FILES:
        raise LimitError(
            f"{what} changes {len(starts):,} files; at most {MAX_FILES:,} are read", "look at it by hand"
        )
    if diff[: starts[0] if starts else None].strip():
        raise SourceError(f"{what}: what came is no diff in git's form", "look at it in a browser")
    # A line of a hunk begins with a mark, so none of them can look like a section's start.
    files = tuple(
        _read_section(diff[start:end].decode("latin-1")) for start, end in pairwise([*starts, len(diff)])
    )
    seen: set[str] = set()
    for file in files:
        if file.path in seen:
            raise SourceError(f"{what}: its diff names {file.path!r} twice", "look at it by hand")
        seen.add(file.path)
    return files


def hunks_between(before: bytes, after: bytes) -> bytes:
    """The hunks that turn one text into another, as a diff shows them."""
    shown = list(difflib.unified_diff(_text_lines(before), _text_lines(after)))[2:]
    ended = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in shown)
    return "".join(ended).encode("latin-1")


def _read_section(section: str) -> ChangedFile:
    head, hunk_follows, body = section.partition("\n@@ ")
    header = read_header(head, bool(hunk_follows))
    problem = header.problem or (None if section.endswith("\n") else "it is cut off")
    read = _hunks("@@ " + body) if hunk_follows and problem is None else ()
    hunks, problem = ((), read) if isinstance(read, str) else (read, problem)
    return ChangedFile(
        path=header.path,
        old_path=header.old_path,
        kind=header.kind,
        hunks=hunks,
        old_blob=header.old_blob,
        problem=problem,
    )


def _hunks(body: str) -> tuple[Hunk, ...] | str:
    """The hunks, or what is wrong with them."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        (patched,) = PatchSet(StringIO("--- a/file\n+++ b/file\n" + body, newline="\n"))
    except (UnidiffParseError, ValueError) as error:
        return f"its hunks cannot be read ({' '.join(str(error).split())[:120]})"
    hunks: list[Hunk] = []
    shown = 0
    for hunk in patched:
        lines: list[tuple[str, bytes]] = []
        for line in hunk:
            shown += 1
            if line.line_type == "\\":
                mark, text = lines.pop() if lines else (" ", b"")
                lines.append((mark, text.removesuffix(b"\n")))
            else:
                # An empty line without a mark is one of context, as some tools strip its space.
                lines.append((line.line_type or " ", line.value.encode("latin-1")))
        read = Hunk(hunk.source_start, hunk.target_start, tuple(lines))
        ends = [line.endswith(b"\n") for side in (read.old, read.new) for line in side[:-1]]
        if not all(ends) or not all(text for _, text in lines):
            return "its hunks have an end of the file in the middle"
        if (len(read.old), len(read.new)) != (hunk.source_length, hunk.target_length):
            return "its hunks hold other lines than they count"
        hunks.append(read)
    if shown + len(hunks) != body.count("\n"):
        return "its hunks hold other lines than they count"
    return tuple(hunks)


def _text_lines(text: bytes) -> list[str]:
    pieces = text.decode("latin-1").split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
