"""Which place a pull request comes from, and what is said about it."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from investigator.errors import NotFoundError, OfflineError, SourceError, UsageError
from investigator.model import Origin
from investigator.sources.github import DIFF, FACTS, LivePullRequest, PullRequestRef, PullRequestSource
from investigator.sources.snapshots import PullRequestSnapshot

KNOWN = PullRequestRef("vllm-project/vllm", 40727)
LIMIT = SourceError("vllm-project/vllm#40727: GitHub's rate limit is reached", "try again later")


@dataclass
class FakeGitHub:
    """Gives what it was made with, or raises it."""

    live: LivePullRequest | SourceError
    kept: LivePullRequest | None = None

    def fetch(self, ref: PullRequestRef) -> LivePullRequest:
        if isinstance(self.live, SourceError):
            raise self.live
        return self.live

    def cached(self, ref: PullRequestRef) -> LivePullRequest | None:
        return self.kept


def live(kept_at: datetime | None = None) -> LivePullRequest:
    facts = PullRequestSnapshot(
        ref=str(KNOWN), title="New title", state="merged", retrieved="", head="a" * 40
    )
    return LivePullRequest(facts=facts, diff=b"", kept_at=kept_at)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("vllm-project/vllm#40727", "vllm-project/vllm#40727"),
        ("https://github.com/vllm-project/vllm/pull/40727", "vllm-project/vllm#40727"),
        ("https://github.com/vllm-project/vllm/pull/40727/files?w=1", "vllm-project/vllm#40727"),
    ],
)
def test_a_pull_request_is_named_by_number_or_address(text: str, shown: str) -> None:
    assert str(PullRequestRef.parse(text)) == shown


@pytest.mark.parametrize(
    "text", ["40727", "#40727", "vllm#1", "a/b#0", "a/b#x", "a/b#1 ", "a/../b#1", "-a/b#1"]
)
def test_anything_else_is_refused_with_the_right_spelling(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        PullRequestRef.parse(text)
    assert caught.value.advice == "write owner/repo#NUMBER"


def test_github_goes_before_the_snapshot_but_the_record_knows_what_it_repairs() -> None:
    item = PullRequestSource(client=FakeGitHub(live())).fetch(KNOWN, "pr")

    assert item.tree.source.origin is Origin.LIVE
    assert (item.facts.title, item.facts.repairs) == ("New title", ("target-layer-offset",))
    assert item.tree.paths() == [DIFF, FACTS]


def test_what_was_kept_stands_in_for_github_with_its_date() -> None:
    kept = live(datetime(2026, 10, 3, tzinfo=UTC))

    item = PullRequestSource(client=FakeGitHub(LIMIT, kept)).fetch(KNOWN, "pr")

    assert item.tree.source.origin is Origin.CACHE
    assert item.notes == (f"{KNOWN}: as of 2026-10-03, kept on this machine: {LIMIT}",)
    assert item.diff == b""


def test_the_snapshot_stands_in_for_both_and_has_no_diff() -> None:
    item = PullRequestSource(client=FakeGitHub(LIMIT)).fetch(KNOWN, "pr")

    assert item.tree.source.origin is Origin.SNAPSHOT
    assert item.notes[0] == f"{KNOWN}: snapshot of 2026-10: {LIMIT}"
    assert item.diff is None
    assert b"Update dflash aux layer indexing" in item.tree.read(FACTS)


def test_offline_says_so() -> None:
    item = PullRequestSource(offline=True, client=FakeGitHub(live())).fetch(KNOWN, "pr")

    assert item.notes == (f"{KNOWN}: snapshot of 2026-10: this run is offline",)


def test_without_either_the_reason_is_raised() -> None:
    unknown = PullRequestRef("some/repo", 1)
    missing = NotFoundError("some/repo#1 does not exist", "check the number")

    with pytest.raises(NotFoundError, match="does not exist"):
        PullRequestSource(client=FakeGitHub(missing)).fetch(unknown, "pr")
    with pytest.raises(OfflineError, match="this run is offline"):
        PullRequestSource(offline=True).fetch(unknown, "pr")
