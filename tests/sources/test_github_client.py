"""The real PyGithub against a loopback GitHub: what is asked, what the user reads, where tokens go."""

import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from investigator.errors import ExitCode, InvestigateError, SourceError, UsageError
from investigator.sources.github import PullRequestRef
from investigator.sources.github_client import LiveGitHub
from investigator.sources.github_settings import GitHubSettings
from investigator.sources.snapshots import FileChange
from investigator.sources.store import Store
from investigator.sources.transport import NetworkPolicy, Transport
from tests.support.github_server import (
    BASE,
    DIFF,
    HEAD,
    MERGE_BASE,
    REPO,
    MiniGitHub,
    refusal,
    reply,
    row,
)

CANARY = "ghp_canary_8d2b"
REF = PullRequestRef(REPO, 7)
NOW = 1_800_000_000.0
TOO_LARGE = refusal(406, "Sorry, the diff exceeded the maximum number of files (300).")


class Clock:
    """A clock that moves only when something sleeps."""

    def __init__(self) -> None:
        self.time = NOW
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    def now(self) -> float:
        return self.time


@pytest.fixture
def github(httpserver: HTTPServer) -> MiniGitHub:
    return MiniGitHub(httpserver)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(github: MiniGitHub, clock: Clock, tmp_path: Path) -> LiveGitHub:
    return LiveGitHub(
        GitHubSettings(api_url=github.url, token=CANARY),
        Transport(NetworkPolicy(tries=1)),
        Store.open(tmp_path / "store"),
        sleep=clock.sleep,
        now=clock.now,
    )


@pytest.fixture(autouse=True)
def no_token_anywhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[None]:
    """Whatever a test does, the canary is in no log, no output and no file."""
    caplog.set_level(logging.DEBUG)
    yield
    out, err = capfd.readouterr()
    assert CANARY not in out + err + caplog.text
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes()


def test_a_pull_request_costs_two_requests(github: MiniGitHub, client: LiveGitHub) -> None:
    live = client.fetch(REF)

    assert github.requests == ["/pulls/7", "/pulls/7 (diff)"]
    assert github.sent_tokens() == {f"token {CANARY}", f"Bearer {CANARY}"}
    assert (live.facts.title, live.facts.state, live.facts.head) == ("Shift the ids", "open", HEAD)
    assert live.facts.files == (FileChange(path="vllm/worker.py", additions=1, deletions=1),)
    assert (live.diff, live.notes) == (DIFF, ())


def test_one_that_has_not_changed_costs_one_conditional_request(
    github: MiniGitHub, client: LiveGitHub
) -> None:
    first = client.fetch(REF)
    again = client.fetch(REF)

    assert github.requests[2:] == ["/pulls/7"]
    assert again == first


def test_new_words_on_the_same_head_cost_no_diff(github: MiniGitHub, client: LiveGitHub) -> None:
    client.fetch(REF)
    github.pull |= {"title": "Shift them by one", "state": "closed", "merged": True}
    github.pull["merged_at"] = "2026-05-20T03:15:57Z"
    github.etag = 'W/"2"'

    live = client.fetch(REF)

    assert github.requests[2:] == ["/pulls/7"]
    assert (live.facts.title, live.facts.state) == ("Shift them by one", "merged")
    assert live.facts.merged_at is not None
    assert live.facts.merged_at.isoformat() == "2026-05-20T03:15:57+00:00"


def test_a_new_head_is_fetched_again(github: MiniGitHub, client: LiveGitHub) -> None:
    client.fetch(REF)
    github.pull["head"] = {"sha": "d" * 40}
    github.etag = 'W/"2"'

    assert client.fetch(REF).facts.head == "d" * 40
    assert github.requests[2:] == ["/pulls/7", "/pulls/7 (diff)"]


def test_what_was_kept_is_read_without_a_socket(client: LiveGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    client.fetch(REF)

    def forbidden(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", forbidden)
    kept = client.cached(REF)

    assert kept is not None
    assert (kept.diff, kept.facts.files[0].path) == (DIFF, "vllm/worker.py")
    assert kept.kept_at is not None
    assert client.cached(PullRequestRef(REPO, 8)) is None


def test_a_diff_that_is_too_large_comes_from_two_pages_of_files(
    github: MiniGitHub, client: LiveGitHub
) -> None:
    hunk = "@@ -1 +1 @@\n-old\n+new"
    github.diff = TOO_LARGE
    github.rows = [row(f"vllm/m{i:03}.py", hunk) for i in range(130)]
    github.pull["changed_files"] = 130

    live = client.fetch(REF)

    assert github.requests == [
        "/pulls/7",
        "/pulls/7 (diff)",
        "/pulls/7/files?page=1&per_page=100",
        "/pulls/7/files?page=2&per_page=100",
    ]
    assert len(live.facts.files) == 130
    assert live.facts.files_complete
    assert live.diff is not None
    assert live.diff.count(b"\n-old\n+new\n") == 130


def test_rows_that_github_left_empty_are_completed_from_smaller_pages(
    github: MiniGitHub, client: LiveGitHub
) -> None:
    """Past some 20,000 lines rows say 0 and 0 and have no hunks, without any mark."""
    github.diff = TOO_LARGE
    github.rows = [row(f"vllm/m{i:02}.py", "@@ -1 +1 @@\n-old\n+new") for i in range(30)]
    github.pull["changed_files"] = 30
    github.hide_from = 25

    live = client.fetch(REF)

    assert github.requests[2:] == [
        "/pulls/7/files?page=1&per_page=100",
        "/pulls/7/files?page=1&per_page=20",
        "/pulls/7/files?page=2&per_page=20",
    ]
    assert [file.additions for file in live.facts.files] == [1] * 30
    assert live.notes == ()


def test_a_row_that_stays_empty_is_made_from_the_two_versions(github: MiniGitHub, client: LiveGitHub) -> None:
    github.diff = TOO_LARGE
    github.rows = [row("vllm/worker.py", None)]
    github.versions = {
        ("vllm/worker.py", MERGE_BASE): "a = 1\nb = 2\nc = 'ü'".encode(),
        ("vllm/worker.py", HEAD): "a = 1\nb = 4\nc = 'ü'".encode(),
    }

    live = client.fetch(REF)

    assert live.notes == ()
    assert live.diff is not None
    assert live.diff.decode() == (
        "diff --git a/vllm/worker.py b/vllm/worker.py\n"
        "--- a/vllm/worker.py\n+++ b/vllm/worker.py\n"
        "@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 4\n c = 'ü'\n\\ No newline at end of file\n"
    )
    assert f"/compare/{BASE}...{HEAD}?per_page=1" in github.requests


def test_a_row_that_cannot_be_completed_is_named_and_not_taken_for_no_change(
    github: MiniGitHub, client: LiveGitHub
) -> None:
    github.diff = TOO_LARGE
    github.rows = [row("image.png", None), row("vllm/worker.py", "@@ -1 +1 @@\n-old\n+new")]
    github.pull["changed_files"] = 3

    live = client.fetch(REF)

    assert live.notes == (
        f"{REF}: the change of 1 file(s) is not shown: image.png",
        f"{REF}: GitHub lists 2 of 3 files",
    )
    assert not live.facts.files_complete
    assert client.cached(REF) is None


def test_renames_and_deletions_keep_their_names(github: MiniGitHub, client: LiveGitHub) -> None:
    github.diff = TOO_LARGE
    github.rows = [
        row("vllm/new.py", "@@ -1 +1 @@\n-a\n+b", "renamed", previous_filename="vllm/old.py"),
        row("vllm/moved.py", None, "renamed", previous_filename="vllm/there.py"),
        row("vllm/gone.py", "@@ -1 +0,0 @@\n-a", "removed"),
        row("vllm/added.py", "@@ -0,0 +1 @@\n+a", "added"),
    ]
    github.pull["changed_files"] = 4

    live = client.fetch(REF)

    assert live.notes == ()
    assert live.diff is not None
    text = live.diff.decode()
    assert "rename from vllm/old.py\nrename to vllm/new.py\n--- a/vllm/old.py\n+++ b/vllm/new.py\n" in text
    assert "deleted file mode 100644\n--- a/vllm/gone.py\n+++ /dev/null\n" in text
    assert "new file mode 100644\n--- /dev/null\n+++ b/vllm/added.py\n" in text


def test_a_page_link_to_another_host_is_not_followed(
    github: MiniGitHub, client: LiveGitHub, tmp_path: Path
) -> None:
    """Pages are asked for by number: wherever the link leads, nothing goes there."""
    github.diff = TOO_LARGE
    rows = reply([row("vllm/worker.py", "@@ -1 +1 @@\n-old\n+new")])
    rows.headers["Link"] = '<http://evil.invalid/steal>; rel="next"'
    github.pull["changed_files"] = 2
    github.page = lambda request: rows if request.args["page"] == "1" else reply([])  # type: ignore[method-assign]

    live = client.fetch(REF)

    assert live.notes == (f"{REF}: GitHub lists 1 of 2 files",)


def test_a_renamed_repository_is_followed_and_then_called_by_its_new_name(
    github: MiniGitHub, client: LiveGitHub
) -> None:
    """PyGithub drops the query when it follows, so pages of the old name would all be page 1."""
    github.pull["base"] = {"sha": BASE, "repo": {"full_name": REPO}}
    there = github.server.url_for("/api/v3/repositories/1/pulls/7")
    github.before = [Response(status=301, headers={"Location": there})]

    live = client.fetch(PullRequestRef("old/engine", 7))

    assert (live.facts.ref, live.diff) == ("old/engine#7", DIFF)
    assert [request.path for request, _ in github.server.log] == [
        "/api/v3/repos/old/engine/pulls/7",
        "/api/v3/repositories/1/pulls/7",
        f"/api/v3/repos/{REPO}/pulls/7",
    ]


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_redirect_to_another_server_never_gets_the_token(
    github: MiniGitHub, client: LiveGitHub, status: int
) -> None:
    other = HTTPServer(host="127.0.0.1")  # the first listens on "localhost"
    other.start()
    try:
        elsewhere = Response(status=status, headers={"Location": other.url_for("/steal")})
        github.before = [elsewhere] * 5
        with pytest.raises(SourceError, match="redirects elsewhere, which is not followed"):
            client.fetch(REF)
        assert other.log == []
    finally:
        other.stop()


RESET_SOON = {"x_ratelimit_remaining": "0", "x_ratelimit_reset": str(int(NOW) + 20)}
RESET_LATE = {"x_ratelimit_remaining": "0", "x_ratelimit_reset": str(int(NOW) + 1800)}
PRIMARY = "API rate limit exceeded for 203.0.113.7."
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@pytest.mark.parametrize(
    ("before", "waits"),
    [
        pytest.param([refusal(502, "Server Error")], [0.5], id="502 then 200"),
        pytest.param([refusal(403, PRIMARY, **RESET_SOON)], [21.0], id="403, nothing left, soon"),
        pytest.param([refusal(429, PRIMARY, **RESET_SOON)], [21.0], id="429, nothing left, soon"),
        pytest.param([refusal(429, SECONDARY, retry_after="1")], [1.0], id="429 with retry-after"),
        pytest.param([refusal(403, SECONDARY, retry_after="30")], [30.0], id="403 with retry-after"),
        pytest.param([refusal(403, SECONDARY)], [60.0], id="secondary without retry-after"),
    ],
)
def test_a_limit_that_ends_in_time_is_waited_for(
    github: MiniGitHub, client: LiveGitHub, clock: Clock, before: list[Response], waits: list[float]
) -> None:
    github.before = before

    assert client.fetch(REF).diff == DIFF
    assert clock.waits == waits
    assert github.requests == ["/pulls/7", "/pulls/7", "/pulls/7 (diff)"]


@pytest.mark.parametrize(
    ("answer", "said", "advice", "requests"),
    [
        pytest.param(refusal(404, "Not Found"), "does not exist on", "private repository", 1, id="404"),
        pytest.param(
            refusal(401, "Bad credentials"), "does not accept the token (401)", "GITHUB_TOKEN", 1, id="401"
        ),
        pytest.param(
            refusal(403, "Resource not accessible by personal access token"),
            "refuses access (403)",
            "GITHUB_TOKEN or GH_TOKEN",
            1,
            id="403 plain",
        ),
        pytest.param(
            refusal(403, PRIMARY, **RESET_LATE),
            "rate limit is reached; it asks to wait 1801 s",
            "try again after 08:30:01 UTC",
            1,
            id="403, nothing left for half an hour",
        ),
        pytest.param(
            refusal(429, SECONDARY, retry_after="600"), "asks to wait 600 s", "try again after", 1, id="429"
        ),
        pytest.param(refusal(502, "x"), "answers 502", "GitHub is in trouble", 4, id="502 each time"),
        pytest.param(refusal(418, "x"), "answers 418", "GITHUB_API_URL", 1, id="another status"),
        pytest.param(
            Response(b'{"title": "Shi', mimetype="application/json"),
            "sent an answer that cannot be read",
            "try again later",
            1,
            id="truncated JSON",
        ),
        pytest.param(
            Response(b"<html>sign in</html>", mimetype="text/html"),
            "sent an answer that cannot be read",
            "GITHUB_API_URL",
            1,
            id="captive portal",
        ),
        pytest.param(reply([1, 2]), "is no pull request", "browser", 1, id="other JSON"),
        pytest.param(
            reply({"title": "x", "state": "open", "merged_at": "soon"}),
            "is no pull request",
            "browser",
            1,
            id="a time that is none",
        ),
    ],
)
def test_what_the_user_reads(
    github: MiniGitHub, client: LiveGitHub, answer: Response, said: str, advice: str, requests: int
) -> None:
    github.before = [answer] * 10

    with pytest.raises(InvestigateError) as caught:
        client.fetch(REF)

    assert str(caught.value).startswith(f"{REF}")
    assert said in str(caught.value)
    assert advice in caught.value.advice
    assert caught.value.exit_code is ExitCode.INCOMPLETE
    assert len(github.requests) == requests
    assert CANARY not in f"{caught.value!r} {caught.value.advice} {caught.value.__cause__!r}"


def test_a_diff_that_shows_fewer_files_than_there_are_says_so(github: MiniGitHub, client: LiveGitHub) -> None:
    github.pull["changed_files"] = 3

    assert client.fetch(REF).notes == (f"{REF}: its diff shows 1 of 3 files",)


def test_an_unreachable_server_is_told_at_once(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    client = LiveGitHub(GitHubSettings(api_url=f"http://127.0.0.1:{port}"), None)

    with pytest.raises(SourceError, match="GitHub cannot be reached: 127"):
        client.fetch(REF)


@pytest.mark.parametrize(
    "url",
    [
        "http://ghe.example.org/api/v3",
        "https://u:p@ghe.example.org",
        "x",
        "https://[ghe",
        "https://ghe.example.org:99999",
    ],
)
def test_a_token_is_not_sent_in_the_clear(url: str) -> None:
    with pytest.raises(UsageError, match="GITHUB_API_URL"):
        GitHubSettings.from_environment({"GITHUB_API_URL": url, "GITHUB_TOKEN": CANARY})


@pytest.mark.parametrize(
    ("environment", "token"),
    [
        ({"GITHUB_TOKEN": CANARY, "GH_TOKEN": "other"}, CANARY),
        ({"GH_TOKEN": CANARY}, CANARY),
        ({"GITHUB_TOKEN": ""}, None),
    ],
)
def test_settings_take_either_token_and_show_none(environment: dict[str, Any], token: str | None) -> None:
    settings = GitHubSettings.from_environment(environment)

    assert settings.token == token
    assert CANARY not in repr(settings)
