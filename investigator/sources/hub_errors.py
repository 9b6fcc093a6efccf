"""What huggingface_hub raises, as what a user can act on."""

import json
import re
from typing import Any

from investigator.errors import NotFoundError, OfflineError, SourceError

_HTTP_LIBRARIES = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3"})
_QUOTA = re.compile(r'"(?P<bucket>[\w ]+)"\s*;\s*r=(?P<left>\d+)\s*;\s*t=(?P<seconds>\d+)')
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})


class Busy(SourceError):
    """Asking again may help. ``wait``: seconds the Hub asks for, None when it does not say."""

    def __init__(self, message: str, advice: str, wait: float | None = None) -> None:
        super().__init__(message, advice)
        self.wait = wait


def translate(error: Exception, repo: str, revision: str | None, endpoint: str) -> SourceError | None:
    """The error to show for ``error``; None when it is a defect and not the Hub's doing."""
    from huggingface_hub import errors as hub

    where = f"{endpoint}/{repo}"
    at = f" at revision {revision}" if revision else ""
    match error:
        case hub.OfflineModeIsEnabled():
            return OfflineError(
                f"{repo} would have to be fetched, and HF_HUB_OFFLINE is set", "unset HF_HUB_OFFLINE"
            )
        case hub.GatedRepoError():
            return SourceError(
                f"{repo} is gated on the Hub ({_status(error)})",
                f"accept its terms at {where}, then set HF_TOKEN to a token of that account",
            )
        case hub.DisabledRepoError():
            return SourceError(f"{repo} has been disabled by the Hub", "take another checkpoint")
        case hub.RevisionNotFoundError():
            return NotFoundError(f"{repo} has no revision {revision}", f"see {where}/commits/main")
        case hub.LocalEntryNotFoundError() if isinstance(error.__cause__, Exception):
            return translate(error.__cause__, repo, revision, endpoint)
        case hub.EntryNotFoundError():
            return NotFoundError(f"{repo} lacks a file that it lists{at}", "try again later")
        case hub.RepositoryNotFoundError():
            return NotFoundError(
                f"{repo} does not exist on the Hub, or it is private ({_status(error)})",
                "check the name; for a private one set HF_TOKEN to a token that may read it",
            )
        case hub.HFValidationError():
            return NotFoundError(f"{repo} is not a name the Hub allows", "check the name")
        case hub.FileMetadataError():
            return SourceError(
                f"{endpoint} does not answer like a Hub: the file's commit, hash or size is missing",
                "check HF_ENDPOINT, a proxy, or a firewall that answers in the Hub's place",
            )
        case hub.HfHubHTTPError():
            return _from_status(error, repo, endpoint)
    return _from_library(error, repo, endpoint)


def _from_status(error: Any, repo: str, endpoint: str) -> SourceError:
    status = error.response.status_code
    if status == 429:
        wait = _quota_wait(error.response.headers)
        shown = f"asks to wait {wait:.0f} s" if wait is not None else "does not say for how long"
        return Busy(
            f"{repo}: the Hub's rate limit is reached; it {shown}",
            "try again then, or set HF_TOKEN: a signed-in user has a higher limit",
            wait,
        )
    if status in _AGAIN:
        return Busy(f"{repo}: {endpoint} answers {status}", "the Hub is in trouble; try again later")
    if status == 401:
        return SourceError(f"{repo}: the Hub does not accept the token (401)", "check HF_TOKEN, or unset it")
    if status == 403:
        return SourceError(f"{repo}: access is refused (403)", "set HF_TOKEN to a token that may read it")
    return SourceError(f"{repo}: {endpoint} answers {status}", "check HF_ENDPOINT")


def _from_library(error: Exception, repo: str, endpoint: str) -> SourceError | None:
    """Errors of the HTTP library below, and of answers that have no sensible shape."""
    library = type(error).__module__.partition(".")[0]
    unreadable = isinstance(error, json.JSONDecodeError)  # requests has a kind of its own
    if library in _HTTP_LIBRARIES and not unreadable:
        if "Timeout" in type(error).__name__:
            return Busy(f"{repo}: {endpoint} stopped answering", "try again, or use --offline")
        return SourceError(
            f"{repo}: {endpoint} cannot be reached ({type(error).__name__})", "is the network there? a proxy?"
        )
    if isinstance(error, OSError) and not unreadable:
        return SourceError(
            f"{repo}: what {endpoint} sent cannot be kept ({error})",
            "is the answer cut off, or the disk full? try again",
        )
    if isinstance(error, ValueError | KeyError | TypeError | AttributeError):
        return SourceError(
            f"{repo}: {endpoint} sent an answer that cannot be read ({type(error).__name__})",
            "check HF_ENDPOINT, or try again later",
        )
    return None


def _status(error: Any) -> int:
    code: int = error.response.status_code
    return code


def _quota_wait(headers: Any) -> float | None:
    """Seconds until the quota is filled up again; the header is there on every answer."""
    if (match := _QUOTA.search(headers.get("ratelimit", ""))) and int(match["left"]) == 0:
        return float(match["seconds"])
    after = headers.get("retry-after", "")
    return float(after) if after.isdecimal() and len(after) < 8 else None
