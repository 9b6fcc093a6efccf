"""Where a pull request's facts come from: GitHub, this machine's store, or a snapshot.

``owner/repo#N`` is asked of GitHub unless the run is offline; when GitHub cannot be had, what
an earlier run kept is used, else the snapshot, and the output says so. A diff comes from GitHub
only: a snapshot holds facts, never code.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from investigator.errors import LimitError, NotFoundError, OfflineError, SourceError, UsageError
from investigator.model import Json, Origin, Source, SourceKind
from investigator.sources.hub import with_advice
from investigator.sources.interface import Tree
from investigator.sources.snapshots import REVISION_PREFIX, PullRequestSnapshot, Snapshots, snapshot_time
from investigator.sources.text_tree import TextTree, pretty_json

FACTS = "pull-request.json"
DIFF = "changes.diff"
BASE = "base/"
"""Where the tree has the changed files as they were before; fetched when they are read."""

REPO_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_REF = re.compile(rf"({REPO_NAME.pattern})#([1-9][0-9]{{0,8}})\Z")
_URL = re.compile(r"https://[^/\s]+/([^/\s]+/[^/\s]+)/pull/([1-9][0-9]{0,8})(?:[/?#].*)?\Z")


@dataclass(frozen=True)
class PullRequestRef:
    """``owner/repo#N``."""

    repo: str
    number: int

    @classmethod
    def parse(cls, text: str) -> "PullRequestRef":
        """Read ``owner/repo#N`` or a pull request's web address. Raises UsageError."""
        if match := _REF.match(text):
            return cls(match[1], int(match[2]))
        if match := _URL.match(text):
            return cls.parse(f"{match[1]}#{match[2]}")
        raise UsageError(f"cannot read pull request {text[:120]!r}", "write owner/repo#NUMBER")

    def __str__(self) -> str:
        return f"{self.repo}#{self.number}"


@dataclass(frozen=True, kw_only=True)
class LivePullRequest:
    """What GitHub said. ``diff`` None when it could not be had; ``notes`` says what is missing.

    ``base``: the base branch's commit. ``kept_at``: when it was kept, for an answer that comes
    from this machine's store and not from GitHub. ``base_file``: a file's content where the
    change begins, asked of GitHub when it is called; None when it cannot be had.
    """

    facts: PullRequestSnapshot
    diff: bytes | None = None
    base: str | None = None
    kept_at: datetime | None = None
    notes: tuple[str, ...] = ()
    base_file: Callable[[str], bytes | None] | None = field(default=None, compare=False, repr=False)


class GitHubClient(Protocol):
    """Talks to GitHub; the real one is :class:`investigator.sources.github_client.LiveGitHub`."""

    def fetch(self, ref: PullRequestRef) -> LivePullRequest:
        """The pull request as it is now. Raises NotFoundError, SourceError or LimitError."""
        ...

    def cached(self, ref: PullRequestRef) -> LivePullRequest | None:
        """What an earlier run kept on this machine; opens no socket."""
        ...


@dataclass(frozen=True, kw_only=True)
class FetchedPullRequest:
    """A pull request's facts, its diff where there is one, and the tree to quote from.

    ``not_live``: why it did not come from GitHub and what to do, empty when it did.
    """

    ref: PullRequestRef
    facts: PullRequestSnapshot
    tree: Tree
    diff: bytes | None = None
    not_live: str = ""
    notes: tuple[str, ...] = ()


class PullRequestTree(TextTree):
    """The facts and the diff; below ``base/``, not listed, what the changed files were before."""

    def __init__(
        self,
        source: Source,
        contents: Mapping[str, bytes],
        base_file: Callable[[str], bytes | None] | None = None,
    ) -> None:
        super().__init__(source, contents)
        self._base_file = base_file

    def read(self, path: str) -> bytes:
        """The file's bytes; below ``base/`` this may ask GitHub. Raises NotFoundError."""
        if not path.startswith(BASE):
            return super().read(path)
        content = self._base_file(path.removeprefix(BASE)) if self._base_file is not None else None
        if content is None:
            raise NotFoundError(f"{self.source.name}: {path} cannot be had", "GitHub is needed for it")
        return content


class PullRequestSource:
    """Fetches pull requests. ``client`` None: snapshots only."""

    def __init__(
        self,
        *,
        offline: bool = False,
        client: GitHubClient | None = None,
        snapshots: Snapshots | None = None,
    ) -> None:
        self._offline = offline
        self._client = client
        self._snapshots = snapshots or Snapshots()

    def fetch(self, ref: PullRequestRef, source_id: str) -> FetchedPullRequest:
        """The pull request; blocking. ``source_id`` is what evidence will carry.

        Raises NotFoundError, OfflineError, SourceError or LimitError when there is neither
        a live answer nor a snapshot.
        """
        try:
            live = self._live(ref)
        except (SourceError, LimitError) as error:
            return self._kept(ref, source_id, error)
        recorded = self._snapshots.pull_request(ref.repo, ref.number)
        return _from_live(live, recorded, ref, source_id)

    def _live(self, ref: PullRequestRef) -> LivePullRequest:
        if self._offline or self._client is None:
            raise OfflineError(
                f"{ref} would have to be fetched from GitHub, and this run is offline",
                "run once without --offline: what is fetched is kept, and then --offline works",
            )
        return self._client.fetch(ref)

    def _kept(self, ref: PullRequestRef, source_id: str, why: SourceError | LimitError) -> FetchedPullRequest:
        snapshot = self._snapshots.pull_request(ref.repo, ref.number)
        reason = "this run is offline" if isinstance(why, OfflineError) else str(why)
        here = self._client.cached(ref) if self._client is not None else None
        if here is not None and here.kept_at is not None:
            note = f"{ref}: as of {here.kept_at:%Y-%m-%d}, kept on this machine: {reason}"
            kept = _from_live(replace(here, notes=(note, *here.notes)), snapshot, ref, source_id)
            return replace(kept, not_live=with_advice(why))
        if snapshot is None:
            raise why
        source = _source(
            ref,
            source_id,
            revision=snapshot.head or f"{REVISION_PREFIX}{snapshot.retrieved}",
            origin=Origin.SNAPSHOT,
            retrieved_at=snapshot_time(snapshot.retrieved),
            note=f"snapshot of {snapshot.retrieved}: {reason}",
        )
        told = (f"{ref}: snapshot of {snapshot.retrieved}: {reason}", *filter(None, (snapshot.note,)))
        return FetchedPullRequest(
            ref=ref,
            facts=snapshot,
            tree=TextTree(source, {FACTS: _facts_text(snapshot)}),
            not_live=with_advice(why),
            notes=told,
        )


def _from_live(
    live: LivePullRequest, recorded: PullRequestSnapshot | None, ref: PullRequestRef, source_id: str
) -> FetchedPullRequest:
    """GitHub's facts; what only a person can say (effect, relations) comes from the record."""
    facts = live.facts
    if recorded is not None:
        facts = replace(facts, effect=recorded.effect, relations=recorded.relations, repairs=recorded.repairs)
    source = _source(
        ref,
        source_id,
        revision=facts.head or "head",
        origin=Origin.CACHE if live.kept_at else Origin.LIVE,
        retrieved_at=live.kept_at or datetime.now(UTC),
        note="; ".join(live.notes) or None,
    )
    contents = {FACTS: _facts_text(facts)} | ({DIFF: live.diff} if live.diff is not None else {})
    return FetchedPullRequest(
        ref=ref,
        facts=facts,
        tree=PullRequestTree(source, contents, live.base_file),
        diff=live.diff,
        notes=live.notes,
    )


def _source(
    ref: PullRequestRef,
    source_id: str,
    *,
    revision: str,
    origin: Origin,
    retrieved_at: datetime,
    note: str | None,
) -> Source:
    return Source(
        id=source_id,
        kind=SourceKind.GITHUB,
        name=str(ref),
        revision=revision,
        origin=origin,
        retrieved_at=retrieved_at,
        permalink=f"https://github.com/{ref.repo}/pull/{ref.number}",
        note=note,
    )


def _facts_text(facts: PullRequestSnapshot) -> bytes:
    shown: Mapping[str, Json] = {
        "ref": facts.ref,
        "title": facts.title,
        "state": facts.state,
        "merged_at": facts.merged_at.isoformat() if facts.merged_at else None,
        "head": facts.head,
        "effect": facts.effect,
        "relations": [f"{kind} {other}" for kind, other in facts.relations],
        "files": [f"{item.path} +{item.additions} -{item.deletions}" for item in facts.files],
    }
    return (pretty_json(shown) + "\n").encode()
