"""The rows of a pull request's file list, and a diff made of them.

Each row carries its hunks (``patch``), but not always: binary files and very large ones have
none. And once the hunks of one answer add up to about 20,000 lines, later rows lack them *and*
say 0 added, 0 deleted, without any mark. Such a row is never taken for an empty change.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from investigator.checkpoints.fields import Fields
from investigator.errors import SourceError
from investigator.model import Json

_PATH = re.compile(r"[^\x00-\x1f\x7f]{1,1000}")
UNCHANGED_CONTENT = frozenset({"renamed", "unchanged", "copied"})


@dataclass(frozen=True, kw_only=True)
class FileRow:
    """One file of a pull request. ``patch`` None when the row came without hunks.

    Bytes that are not UTF-8 stand in ``patch`` as surrogate escapes.
    """

    path: str
    status: str
    additions: int
    deletions: int
    previous_path: str | None = None
    patch: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the row shows all of its change."""
        if self.patch is not None:
            return self.counted() == (self.additions, self.deletions)
        return self.status in UNCHANGED_CONTENT and self.additions == self.deletions == 0

    def counted(self) -> tuple[int, int]:
        """Lines that the hunks really add and delete."""
        lines = (self.patch or "").split("\n")
        return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def read_rows(data: Json, what: str) -> list[FileRow]:
    """One page of the file list. Raises SourceError for what is none."""
    if not isinstance(data, list):
        raise SourceError(f"{what}: GitHub's file list is not a list", "try again later")
    rows = []
    for item in data:
        fields = Fields(item if isinstance(item, Mapping) else {}, f"GitHub's file list of {what}")
        values = fields.values
        path, status, patch = values.get("filename"), values.get("status"), values.get("patch")
        previous = values.get("previous_filename")
        if not isinstance(path, str) or not _PATH.fullmatch(path) or not isinstance(status, str):
            raise SourceError(f"{what}: GitHub's file list has a row without a file", "try again later")
        rows.append(
            FileRow(
                path=path,
                status=status,
                additions=_count(values.get("additions")),
                deletions=_count(values.get("deletions")),
                previous_path=previous if isinstance(previous, str) and _PATH.fullmatch(previous) else None,
                patch=patch if isinstance(patch, str) else None,
            )
        )
    return rows


def merge_rows(first: Sequence[FileRow], again: Iterable[FileRow]) -> list[FileRow]:
    """``first`` with each row replaced by a fuller one from ``again``; new ones at the end."""
    rows = {row.path: row for row in first}
    for row in again:
        if row.path not in rows or (not rows[row.path].complete and (row.complete or row.patch)):
            rows[row.path] = row
    return list(rows.values())


def assembled(rows: Iterable[FileRow]) -> bytes:
    """The rows that have hunks, as one diff in git's form."""
    parts: list[str] = []
    for row in rows:
        if row.patch is None:
            continue
        old = row.previous_path or row.path
        parts.append(f"diff --git a/{old} b/{row.path}\n")
        if row.status == "added":
            parts.append("new file mode 100644\n")
        elif row.status == "removed":
            parts.append("deleted file mode 100644\n")
        elif old != row.path:
            parts.append(f"rename from {old}\nrename to {row.path}\n")
        parts.append("--- /dev/null\n" if row.status == "added" else f"--- a/{old}\n")
        parts.append("+++ /dev/null\n" if row.status == "removed" else f"+++ b/{row.path}\n")
        parts.append(row.patch + "\n")
    return "".join(parts).encode("utf-8", "surrogateescape")


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
