"""The words of the transport: policies, credentials, answers, errors, and addresses that may be asked."""

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from investigator.errors import NotFoundError, SourceError, UsageError


@dataclass(frozen=True)
class Response:
    """An answer. Header names are in lower case; ``body`` is decoded; ``url`` shows no secrets."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class StatusError(SourceError):
    """The server answered with a status that the caller did not expect."""

    def __init__(self, message: str, advice: str, response: Response) -> None:
        super().__init__(message, advice)
        self.response = response
        """The answer; its body is cut after 64 KiB."""


class MissingError(StatusError, NotFoundError):
    """404 or 410."""


class UnreachableError(SourceError):
    """No answer came: name not found, refused, timed out, TLS, or cut off each time."""


@dataclass(frozen=True)
class Credential:
    """A secret for one origin; sent there and nowhere else, never shown.

    ``origin`` is ``scheme://host[:port]`` of the only place that may see it.
    """

    origin: str
    authorization: str = field(repr=False)


def basic_credential(origin: str, user: str, password: str) -> Credential:
    """User and password for one origin, as HTTP basic authentication."""
    pair = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return Credential(origin, f"Basic {pair}")


@dataclass(frozen=True)
class Usage:
    """What was asked and received so far: requests sent, body bytes on the wire."""

    requests: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class NetworkPolicy:
    """How the network may be used.

    ``ca_bundle`` None means the system's certificates and certifi's. ``insecure_hosts`` are
    pip's trusted hosts. ``connect_timeout`` / ``read_timeout`` in seconds. ``tries``: how
    often one request is sent, at most; ``first_wait`` doubles from try to try.
    """

    offline: bool = False
    ca_bundle: str | None = None
    client_cert: str | None = None
    insecure_hosts: tuple[str, ...] = ()
    proxy: str | None = field(default=None, repr=False)
    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    tries: int = 3
    first_wait: float = 0.5
    longest_wait: float = 20.0


def checked_address(url: str) -> SplitResult:
    """The URL, when it is one that may be asked: HTTP(S), with a host, no credentials in it.

    Raises UsageError.
    """
    parts = parts_of(url)
    if (
        parts is None
        or parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.port == 0
        or parts.username is not None
        or any(c <= " " or c == "\x7f" for c in url)
    ):
        raise UsageError(
            f"{url.rpartition('@')[2]!r} is not an address that can be asked", "give a plain https:// address"
        )
    return parts


def parts_of(url: str) -> SplitResult | None:
    """The parts of an address; None where it is none: half a pair of brackets, a port that is no port."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def is_secure(url: str) -> bool:
    """Whether nobody on the way can read along: over TLS, or plain to this machine or a private address.

    One that carries credentials itself is not.
    """
    parts = parts_of(url)
    if parts is None or not parts.hostname or parts.port == 0 or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_private(parts.hostname))


def redirect_target(here: SplitResult, location: str, same_host: bool, what: str) -> SplitResult:
    """Where a redirect leads, when it may be followed. Raises SourceError."""
    refused = why_not(here, location, same_host=same_host)
    if refused:
        raise SourceError(
            f"{what}: {here.hostname} redirects to {location.rpartition('@')[2].partition('?')[0][:200]!r}, "
            f"which is not followed: {refused}",
            "if that place is right, name it directly",
        )
    return checked_address(urljoin(urlunsplit(here), location))


def why_not(here: SplitResult, location: str, *, same_host: bool = False) -> str:
    """Why a link found at ``here`` is not followed; empty when it may be.

    Never from TLS to plain HTTP, never from elsewhere into a private network.
    """
    try:
        there = checked_address(urljoin(urlunsplit(here), location))
    except (UsageError, ValueError):
        return "it is no plain web address"
    if here.scheme == "https" and there.scheme != "https":
        return "it leaves TLS"
    if same_host and origin(here) != origin(there):
        return "it leaves the server that was asked"
    if is_private(there.hostname or "") and not is_private(here.hostname or ""):
        return "it points into a private network"
    return ""


def is_private(host: str) -> bool:
    """Whether a host is written as this machine or as an address in a private network.

    A host that ends in a number is some old spelling of an address (``127.1``): never global.
    """
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        last = host.rstrip(".").rpartition(".")[2]
        return last == "localhost" or last.isdecimal() or last.startswith("0x")


def origin(url: SplitResult) -> tuple[str, str, int]:
    """Scheme, host and port: what a secret is bound to."""
    return url.scheme, url.hostname or "", url.port or (443 if url.scheme == "https" else 80)


def shown(url: SplitResult) -> str:
    """The URL without credentials, query and fragment: fit for messages and logs."""
    return urlunsplit(without_credentials(url)._replace(query="", fragment=""))


def without_credentials(url: SplitResult) -> SplitResult:
    """The URL without ``user:password@``."""
    return url._replace(netloc=url.netloc.rpartition("@")[2])
