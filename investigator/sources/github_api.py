"""Questions to GitHub's API through PyGithub, with its limits respected within a deadline.

PyGithub by itself sleeps until a rate limit resets, which can be an hour, and follows page
links to where they lead. So its retries are switched off: waiting is decided here, in the
order that GitHub documents; and pages are asked for by number, on the one server that may see
the token.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from investigator.checkpoints import read_json
from investigator.errors import InvestigateError, NotFoundError, SourceError, UsageError
from investigator.model import Json
from investigator.sources.github_settings import GitHubSettings
from investigator.sources.transport import Credential, StatusError, Transport

if TYPE_CHECKING:
    from github import Github

T = TypeVar("T")

MAX_DIFF_BYTES = 20 * 1024 * 1024
SECONDARY_WAIT = 60.0
TRIES = 4
FIRST_WAIT = 0.5
_AGAIN = frozenset({500, 502, 503, 504})


@dataclass(frozen=True)
class Reply:
    """An answer. ``data`` None with status 304: nothing has changed."""

    status: int
    data: Json
    etag: str | None = None


@dataclass(frozen=True)
class _Refusal:
    """A status that is not success, with what is needed to decide what to do."""

    status: int
    headers: Mapping[str, str]
    message: str


class GitHubApi:
    """One pull request's questions: they share a deadline, ``settings.seconds`` from now."""

    def __init__(
        self,
        settings: GitHubSettings,
        transport: Transport | None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._transport = transport
        self._sleep = sleep
        self._now = now
        self._until = now() + settings.seconds
        self._client = _client(settings)

    def get(self, path: str, what: str, *, etag: str | None = None, **parameters: str | int) -> Reply:
        """``GET`` a path below the API's address.

        ``etag``: ask only for what has changed since. Raises NotFoundError or SourceError.
        """

        def ask() -> Reply | _Refusal:
            headers = {"If-None-Match": etag} if etag else {}
            status, answered, text = self._client.requester.requestJson(
                "GET", path, parameters=parameters, headers=headers
            )
            if status == 304:
                return Reply(304, None, etag)
            if status != 200:
                return _Refusal(status, answered, _message(text))
            return Reply(200, _json(text, what, self._settings.api_url), answered.get("etag"))

        return self._persist(ask, what)

    def diff(self, path: str, what: str) -> bytes | None:
        """The path in GitHub's diff form; None when it is too large for that (406)."""
        return self._raw(path, what, "application/vnd.github.diff")

    def raw(self, path: str, what: str) -> bytes | None:
        """A file's content by its API path; None when there is no such file."""
        return self._raw(path, what, "application/vnd.github.raw+json")

    def _raw(self, path: str, what: str, form: str) -> bytes | None:
        transport, settings = self._transport, self._settings
        if transport is None:
            return None
        credential = Credential(settings.api_url, f"Bearer {settings.token}") if settings.token else None

        def ask() -> bytes | _Refusal | None:
            try:
                answer = transport.get(
                    settings.api_url + path,
                    what=what,
                    source="github",
                    headers={"Accept": form},
                    credential=credential,
                    expect=(200, 404, 406),
                    limit=MAX_DIFF_BYTES,
                    same_host=True,
                )
            except StatusError as error:
                response = error.response
                text = response.body.decode("utf-8", errors="replace")
                return _Refusal(response.status, response.headers, _message(text))
            return answer.body if answer.status == 200 else None

        return self._persist(ask, what)

    def _persist(self, ask: "Callable[[], T | _Refusal]", what: str) -> T:
        """Ask until there is an answer, waiting where GitHub says so and the deadline allows."""
        wait = FIRST_WAIT
        for attempt in range(1, TRIES + 1):
            outcome = _called(ask, what, self._settings.api_url)
            if not isinstance(outcome, _Refusal):
                return outcome
            pause = _pause(outcome, wait, self._now())
            if pause is None or attempt == TRIES:
                raise self._error(outcome, what)
            if self._now() + pause > self._until:
                raise self._too_long(outcome, what, pause)
            self._sleep(pause)
            wait *= 2
        raise AssertionError("the loop returns or raises")

    def _too_long(self, refusal: _Refusal, what: str, pause: float) -> SourceError:
        if refusal.status in _AGAIN:
            return self._error(refusal, what)
        until = time.strftime("%H:%M:%S UTC", time.gmtime(self._now() + pause))
        hint = "" if self._settings.token else ", or set GITHUB_TOKEN: a signed-in user has a higher limit"
        return SourceError(
            f"{what}: GitHub's rate limit is reached; it asks to wait {pause:.0f} s",
            f"try again after {until}{hint}",
        )

    def _error(self, refusal: _Refusal, what: str) -> SourceError:
        api, token = self._settings.api_url, "GITHUB_TOKEN or GH_TOKEN"
        match refusal.status:
            case 401:
                return SourceError(
                    f"{what}: GitHub does not accept the token (401)", f"check {token}, or unset it"
                )
            case 403 | 429 if is_rate_limit(refusal):
                return SourceError(
                    f"{what}: GitHub's rate limit is reached again and again", "try again later"
                )
            case 403:
                return SourceError(
                    f"{what}: GitHub refuses access (403)", f"set {token} to a token that may read it"
                )
            case 404 | 410:
                return NotFoundError(
                    f"{what} does not exist on {urlsplit(api).hostname}, or its repository is private",
                    f"check the number; for a private repository set {token}",
                )
            case status if 300 <= status < 400:
                return SourceError(
                    f"{what}: {api} redirects elsewhere, which is not followed", "check GITHUB_API_URL"
                )
            case status if status in _AGAIN:
                return SourceError(f"{what}: {api} answers {status}", "GitHub is in trouble; try again later")
        return SourceError(f"{what}: {api} answers {refusal.status}", "check GITHUB_API_URL")


def is_rate_limit(refusal: _Refusal) -> bool:
    """Whether a 403 or 429 is about how often was asked, and not about who asks."""
    message = refusal.message.lower()
    return (
        refusal.status == 429
        or "retry-after" in refusal.headers
        or refusal.headers.get("x-ratelimit-remaining") == "0"
        or "rate limit" in message
    )


def _pause(refusal: _Refusal, wait: float, now: float) -> float | None:
    """Seconds to wait before asking again, None when asking again is no use.

    The documented order: what retry-after says; else until the reset when nothing is left;
    else a minute.
    """
    if refusal.status in _AGAIN:
        return _number(refusal.headers.get("retry-after")) or wait
    if refusal.status not in (403, 429) or not is_rate_limit(refusal):
        return None
    after = _number(refusal.headers.get("retry-after"))
    if after is not None:
        return after
    reset = _number(refusal.headers.get("x-ratelimit-reset"))
    if refusal.headers.get("x-ratelimit-remaining") == "0" and reset is not None:
        return max(reset - now, 0.0) + 1.0  # in which part of that second it resets is not said
    return SECONDARY_WAIT


def _called(ask: "Callable[[], T]", what: str, api_url: str) -> T:
    """Call PyGithub; what it raises becomes what a user can act on."""
    try:
        return ask()
    except InvestigateError:
        raise
    except Exception as error:
        library = type(error).__module__.partition(".")[0]
        if library in ("requests", "urllib3"):
            timed_out = "Timeout" in type(error).__name__
            why = "stopped answering" if timed_out else f"cannot be reached ({type(error).__name__})"
            raise SourceError(f"{what}: {api_url} {why}", "is the network there? a proxy?") from error
        if isinstance(error, RuntimeError | AssertionError | RecursionError):
            raise SourceError(
                f"{what}: {api_url} redirects elsewhere, which is not followed", "check GITHUB_API_URL"
            ) from error
        if isinstance(error, ValueError):
            raise SourceError(
                f"{what}: {api_url} sent an answer that cannot be read", "try again later"
            ) from error
        raise


def _client(settings: GitHubSettings) -> "Github":
    from github import Auth, Github

    return Github(
        base_url=settings.api_url,
        auth=Auth.Token(settings.token) if settings.token else None,
        timeout=settings.read_timeout,
        retry=None,
        seconds_between_requests=None,
        user_agent="investigate",
    )


def _json(text: str, what: str, api_url: str) -> Json:
    try:
        return read_json(text.encode(), f"GitHub's answer about {what}")
    except UsageError as error:
        raise SourceError(
            f"{what}: {api_url} sent an answer that cannot be read",
            "try again later, or check GITHUB_API_URL",
        ) from error


def _message(text: str) -> str:
    """The ``message`` of an error's body, cut short; empty when there is none."""
    try:
        body = read_json(text.encode(), "an error body")
    except InvestigateError:
        return ""
    message = body.get("message") if isinstance(body, Mapping) else None
    return message[:300] if isinstance(message, str) else ""


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdecimal() and len(text) < 12 else None
