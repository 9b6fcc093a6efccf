"""What a pull request changes: its diff, or what can be put together when there is none.

The file list is asked for only when the diff is refused as too large. Rows that came without
their hunks are completed from smaller pages, and then from the two versions of the file; what
stays without is named.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from investigator.checkpoints.fields import Fields
from investigator.errors import LimitError, SourceError, UsageError
from investigator.sources.diff_reader import hunks_between, read_diff
from investigator.sources.github import LivePullRequest
from investigator.sources.github_api import GitHubApi
from investigator.sources.github_files import FileRow, assembled, merge_rows, read_rows
from investigator.sources.snapshots import FileChange

PAGE = 100
SMALL_PAGE = 20
MAX_FILES = 3000
MAX_COMPLETED = 20
"""Files whose two versions are fetched because the file list does not show their change."""


@dataclass(frozen=True)
class ChangeFetcher:
    """Fetches the change of one pull request. ``what`` names it in errors and notes."""

    api: GitHubApi
    repo: str
    number: int
    what: str

    def added_to(self, live: LivePullRequest, count: int | None) -> LivePullRequest:
        """``live`` with its diff and files; ``count``: how many files GitHub says there are.

        ``notes`` names what could not be had. Raises SourceError or LimitError.
        """
        notes: tuple[str, ...] = ()
        diff = self.api.diff(self._path, self.what)
        if diff is not None:
            files = files_of(diff, self.what)
            if count is not None and len(files) != count:
                notes = (f"{self.what}: its diff shows {len(files)} of {count} files",)
        else:
            rows, notes = self._completed(self._rows(count), live)
            if count is not None and len(rows) != count:
                notes = (*notes, f"{self.what}: GitHub lists {len(rows)} of {count} files")
            diff = assembled(rows)
            files = tuple(
                FileChange(path=row.path, additions=row.additions, deletions=row.deletions) for row in rows
            )
        facts = replace(live.facts, files=files, files_complete=not notes)
        return replace(live, diff=diff, facts=facts, notes=notes)

    @property
    def _path(self) -> str:
        return f"/repos/{self.repo}/pulls/{self.number}"

    def _rows(self, count: int | None) -> list[FileRow]:
        rows = self._pages(count, PAGE)
        if all(row.complete for row in rows):
            return rows
        return merge_rows(rows, self._pages(count, SMALL_PAGE))

    def _pages(self, count: int | None, size: int) -> list[FileRow]:
        """Every page, by number: a link in an answer is not followed."""
        rows: list[FileRow] = []
        wanted = min(count if count is not None else MAX_FILES, MAX_FILES)
        for page in range(1, MAX_FILES // size + 2):
            reply = self.api.get(f"{self._path}/files", self.what, per_page=size, page=page)
            before, rows = len(rows), merge_rows(rows, read_rows(reply.data, self.what))
            if len(rows) >= wanted or len(rows) == before:
                break
        return rows

    def _completed(self, rows: list[FileRow], live: LivePullRequest) -> tuple[list[FileRow], tuple[str, ...]]:
        """Rows without their hunks get them from the file's two versions, Python files first."""
        lacking = sorted(
            (row for row in rows if not row.complete), key=lambda row: not row.path.endswith(".py")
        )
        base = merge_base(self.api, self.repo, live) if lacking else None
        head = live.facts.head
        if base is not None and head is not None:
            made = (self._from_versions(row, base, head) for row in lacking[:MAX_COMPLETED])
            rows = merge_rows(rows, [row for row in made if row is not None])
        left = sorted(row.path for row in rows if not row.complete)
        if not left:
            return rows, ()
        shown = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
        return rows, (f"{self.what}: the change of {len(left)} file(s) is not shown: {shown}",)

    def _from_versions(self, row: FileRow, base: str, head: str) -> FileRow | None:
        """The row with hunks made from the file before and after; None when they cannot be had."""
        old = row.previous_path or row.path
        before = b"" if row.status == "added" else content_at(self.api, self.repo, old, base)
        after = b"" if row.status == "removed" else content_at(self.api, self.repo, row.path, head)
        if before is None or after is None or b"\0" in before + after:
            return None
        hunks = hunks_between(before, after).removesuffix(b"\n")
        whole = replace(row, patch=hunks.decode("utf-8", "surrogateescape"))
        added, deleted = whole.counted()
        return replace(whole, additions=added, deletions=deleted)


class BaseFiles:
    """Files as they were where the pull request's change begins; asked for one by one, when needed."""

    def __init__(self, api: GitHubApi, repo: str, live: LivePullRequest) -> None:
        self._api = api
        self._repo = repo
        self._live = live
        self._lock = threading.Lock()
        self._commit: str | None = None
        self._asked = False

    def __call__(self, path: str) -> bytes | None:
        """The file's content, None when it cannot be had. Opens connections."""
        with self._lock:
            if not self._asked:
                self._commit = merge_base(self._api, self._repo, self._live)
                self._asked = True
        if self._commit is None:
            return None
        try:
            return content_at(self._api, self._repo, path, self._commit)
        except (SourceError, LimitError):
            return None


def merge_base(api: GitHubApi, repo: str, live: LivePullRequest) -> str | None:
    """The commit that the change is measured from; the base branch has moved on since."""
    try:
        path = f"/repos/{repo}/compare/{live.base}...{live.facts.head}"
        data = api.get(path, f"{repo}'s history", per_page=1).data
        commit = Fields(data if isinstance(data, Mapping) else {}, repo).section("merge_base_commit")
    except (SourceError, LimitError, UsageError):
        return None
    sha = commit.values.get("sha")
    return sha if isinstance(sha, str) else None


def content_at(api: GitHubApi, repo: str, path: str, commit: str) -> bytes | None:
    """A file at a commit, None when there is none. Raises SourceError or LimitError."""
    return api.raw(f"/repos/{repo}/contents/{quote(path)}?ref={quote(commit, safe='')}", path)


def files_of(diff: bytes, what: str) -> tuple[FileChange, ...]:
    """The files of a diff with their counts. Raises SourceError or LimitError."""
    return tuple(
        FileChange(path=file.path, additions=file.additions, deletions=file.deletions)
        for file in read_diff(diff, what)
    )
