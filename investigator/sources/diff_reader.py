"""A diff from outside, file by file, within limits; nothing is written and git is not asked.

One file that cannot be read (binary, a path that leaves the tree, counts that lie) does not
spoil the others: it carries a ``problem`` and no hunks. Text is kept as bytes; a line is what
ends with ``\\n``, and a ``\\r`` before it belongs to the line.
"""

import difflib
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from io import StringIO
from itertools import pairwise

from investigator.errors import LimitError, SourceError

MAX_BYTES = 20 * 1024 * 1024
MAX_FILES = 3000
_SECTION = re.compile(rb"^diff --git ", re.MULTILINE)
_INDEX = re.compile(r"^index ([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})", re.MULTILINE)
_NAME = re.compile(r"^(---|\+\+\+|rename from|rename to|copy from|copy to) (.*)$", re.MULTILINE)
_SAME = re.compile(r"diff --git a/(?P<old>.*) b/(?P=old)$", re.MULTILINE)
_BINARY = re.compile(r"^(GIT binary patch|Binary files )", re.MULTILINE)
_LINK_OR_MODULE = re.compile(r"^(?:new file mode|old mode|new mode|index \S+) (120000|160000)$", re.MULTILINE)


class ChangeKind(StrEnum):
    """What happens to a file."""

    MODIFIED = "modified"
    ADDED = "added"
    DELETED = "deleted"
    RENAMED = "renamed"


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
    if not starts and diff.strip():
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


def vet_path(path: str) -> str | None:
    """Why a path must not be followed, None for a plain relative one."""
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or re.match(r"[A-Za-z]:", path) or ".." in parts:
        return "its path leaves the tree"
    if any(part.lower() in ("", ".", ".git") for part in parts):
        return "its path is not one that a tree may hold"
    if any(ord(char) < 32 or ord(char) == 127 for char in path) or len(path) > 1000:
        return "its path has characters that no source file's has"
    return None


def _read_section(section: str) -> ChangedFile:
    head, hunk_follows, body = section.partition("\n@@ ")
    names = {mark: _plain(name) for mark, name in _NAME.findall(head)}
    same = _SAME.search(head)
    first = same["old"] if same else None
    old = names.get("rename from") or names.get("copy from") or names.get("---") or first
    new = names.get("rename to") or names.get("copy to") or names.get("+++") or first
    index = _INDEX.search(head)
    file = ChangedFile(
        path=new or old or "(no name)",
        old_path=old or new or "(no name)",
        kind=_kind(head, names),
        old_blob=index[1] if index else None,
    )
    problem = _problem(head, file) if old or new else "its name cannot be read"
    hunks: tuple[Hunk, ...] | str = _hunks("@@ " + body) if hunk_follows and problem is None else ()
    if isinstance(hunks, str):
        return replace(file, problem=hunks)
    return replace(file, hunks=hunks, problem=problem)


def _plain(name: str) -> str | None:
    """The path behind ``---`` and the like; None for /dev/null. Quoted names stay quoted."""
    name = name.partition("\t")[0]
    if name == "/dev/null":
        return None
    return name[2:] if name.startswith(("a/", "b/")) else name


def _kind(head: str, names: dict[str, str | None]) -> ChangeKind:
    if "\nnew file mode " in head or ("---" in names and names["---"] is None):
        return ChangeKind.ADDED
    if "\ndeleted file mode " in head or ("+++" in names and names["+++"] is None):
        return ChangeKind.DELETED
    return ChangeKind.RENAMED if "rename to" in names else ChangeKind.MODIFIED


def _problem(head: str, file: ChangedFile) -> str | None:
    if _BINARY.search(head):
        return "it is binary"
    if _LINK_OR_MODULE.search(head):
        return "it is a link or a submodule"
    return vet_path(file.path) or vet_path(file.old_path)


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
                mark, text = lines[-1] if lines else (" ", b"")
                lines[-1:] = [(mark, text.removesuffix(b"\n"))]
            else:
                lines.append((line.line_type, line.value.encode("latin-1")))
        hunks.append(Hunk(hunk.source_start, hunk.target_start, tuple(lines)))
    if shown + len(hunks) != body.count("\n") + (not body.endswith("\n")):
        return "its hunks hold other lines than they count"
    return tuple(hunks)


def _text_lines(text: bytes) -> list[str]:
    pieces = text.decode("latin-1").split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
