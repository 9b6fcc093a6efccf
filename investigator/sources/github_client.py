"""GitHub itself: what a pull request is, and its change, complete or with what is missing named.

Two requests for a pull request that is new here (its metadata and its diff), one conditional
request for one that is kept.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from investigator.checkpoints.fields import Fields
from investigator.errors import InvestigateError, SourceError, UsageError
from investigator.model import Json
from investigator.sources.github import REPO_NAME, LivePullRequest, PullRequestRef, PullRequestSource
from investigator.sources.github_api import GitHubApi
from investigator.sources.github_change import BaseFiles, ChangeFetcher, files_of
from investigator.sources.github_settings import GitHubSettings
from investigator.sources.reachable import Reachable
from investigator.sources.snapshots import PullRequestSnapshot
from investigator.sources.store import Store
from investigator.sources.transport import Transport

KIND = "pull-request"
_ADVICE = "try again later, or look at it in a browser"


class LiveGitHub:
    """Fetches pull requests. ``store`` keeps what was fetched, so that unchanged ones cost little."""

    def __init__(
        self,
        settings: GitHubSettings,
        transport: Transport | None,
        store: Store | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._transport = transport
        self._store = store
        self._sleep = sleep
        self._server = Reachable(settings.api_url, settings.connect_timeout, "GitHub")
        self._now = now

    def fetch(self, ref: PullRequestRef) -> LivePullRequest:
        """The pull request as it is now. Raises NotFoundError, SourceError or LimitError."""
        if not self._settings.proxied:
            self._server.check()
        api = GitHubApi(self._settings, self._transport, sleep=self._sleep, now=self._now)
        kept, etag = self._kept(ref)
        reply = api.get(f"/repos/{ref.repo}/pulls/{ref.number}", str(ref), etag=etag)
        if reply.status == 304 and kept is not None:
            # GitHub has just vouched for it.
            return replace(kept, kept_at=None, base_file=BaseFiles(api, ref.repo, kept))
        facts, base = _facts(reply.data, ref)
        repo = _repo_now(reply.data) or ref.repo
        if kept is not None and kept.facts.head == facts.head and not kept.notes:
            live = replace(
                kept, facts=replace(facts, files=kept.facts.files, files_complete=True), kept_at=None
            )
        else:
            fetcher = ChangeFetcher(api, repo, ref.number, str(ref))
            live = fetcher.added_to(LivePullRequest(facts=facts, base=base), _file_count(reply.data))
        self._keep(ref, live, reply.etag)
        return replace(live, base_file=BaseFiles(api, repo, live))

    def cached(self, ref: PullRequestRef) -> LivePullRequest | None:
        """What an earlier run kept; opens no socket."""
        return self._kept(ref)[0]

    def _kept(self, ref: PullRequestRef) -> tuple[LivePullRequest | None, str | None]:
        record = self._store.entry(KIND, self._key(ref)) if self._store is not None else None
        if record is None or self._store is None or not isinstance(record.value, Mapping):
            return None, None
        entry = record.value
        try:
            facts, base = _facts(entry.get("data"), ref)
        except InvestigateError:
            return None, None
        sha256, etag = entry.get("diff"), entry.get("etag")
        diff = self._store.blob(sha256) if isinstance(sha256, str) else None
        if diff is None:
            return None, None
        live = LivePullRequest(
            facts=replace(facts, files=files_of(diff, str(ref)), files_complete=True),
            diff=diff,
            base=base,
            kept_at=record.kept_at,
        )
        return live, etag if isinstance(etag, str) else None

    def _keep(self, ref: PullRequestRef, live: LivePullRequest, etag: str | None) -> None:
        """Keep what is whole; a change with gaps is asked for again next time."""
        if self._store is None or live.diff is None or live.notes:
            return
        facts = live.facts
        data: Json = {
            "title": facts.title,
            "state": "open" if facts.state == "open" else "closed",
            "merged": facts.state == "merged",
            "merged_at": facts.merged_at.isoformat() if facts.merged_at else None,
            "head": {"sha": facts.head},
            "base": {"sha": live.base},
        }
        sha256 = self._store.keep_blob(live.diff)
        self._store.keep(KIND, self._key(ref), {"data": data, "etag": etag, "diff": sha256})

    def _key(self, ref: PullRequestRef) -> str:
        return f"{self._settings.api_url} {ref}"


def _facts(data: Json, ref: PullRequestRef) -> tuple[PullRequestSnapshot, str | None]:
    """Metadata as facts, and the base commit. Raises SourceError for what is no pull request."""
    fields = Fields(data if isinstance(data, Mapping) else {}, f"GitHub's answer about {ref}")
    try:
        head, base = fields.section("head").values.get("sha"), fields.section("base").values.get("sha")
        title, state, merged_at = (fields.values.get(key) for key in ("title", "state", "merged_at"))
        merged = fields.flag("merged") or isinstance(merged_at, str)
        when = datetime.fromisoformat(merged_at) if isinstance(merged_at, str) else None
    except (UsageError, ValueError) as error:
        raise SourceError(f"{ref}: GitHub's answer is no pull request: {error}", _ADVICE) from error
    if not isinstance(title, str) or state not in ("open", "closed"):
        raise SourceError(f"{ref}: GitHub's answer is no pull request", _ADVICE)
    facts = PullRequestSnapshot(
        ref=str(ref),
        title=title[:300],
        state="merged" if merged else state,
        retrieved="",
        merged_at=when,
        head=head if isinstance(head, str) else None,
        files_complete=False,
    )
    return facts, base if isinstance(base, str) else None


def _repo_now(data: Json) -> str | None:
    """The repository's name now; GitHub goes on answering under the old one by redirects."""
    fields = Fields(data if isinstance(data, Mapping) else {}, "")
    with suppress(UsageError):
        name = fields.section("base").section("repo").values.get("full_name")
        if isinstance(name, str) and REPO_NAME.fullmatch(name):
            return name
    return None


def _file_count(data: Json) -> int | None:
    """How many files GitHub says it changes."""
    count = data.get("changed_files") if isinstance(data, Mapping) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def pull_request_source(
    transport: Transport, store: Store, environment: Mapping[str, str]
) -> PullRequestSource:
    """The usual way to pull requests: GitHub as the environment names it, the store, the snapshots.

    Raises UsageError for an address that a token must not be sent to.
    """
    client = LiveGitHub(GitHubSettings.from_environment(environment), transport, store)
    return PullRequestSource(offline=transport.offline, client=client)
