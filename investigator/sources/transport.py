"""The one door to the network: policy, credentials, retries, limits and counts in one place.

Nothing else in this project opens an HTTP connection of its own. The door is synchronous and
may be used from several threads; each agent gets its own view with its own counts, deadline
and events (:meth:`Transport.for_agent`), all over one connection pool.
"""

import base64
import ipaddress
import os
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from investigator.errors import LimitError, NotFoundError, OfflineError, SourceError, UsageError
from investigator.events import Event, EventKind, EventSink, ignore
from investigator.model import Json

if TYPE_CHECKING:
    import httpx

USER_AGENT = "investigate (reads speculative-decoding engines; HTTP by httpx)"
DEFAULT_LIMIT = 16 * 1024 * 1024
"""Bytes of one body, decoded, unless the caller says otherwise."""
ERROR_BODY_LIMIT = 64 * 1024
"""Bytes read of the body of an answer that was not expected."""
MAX_CONNECTIONS = 8
MAX_REDIRECTS = 5
RETRY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})


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
    proxy: str | None = None
    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    tries: int = 3
    first_wait: float = 0.5
    longest_wait: float = 20.0


class _Pool:
    """The shared clients, made at the first request (httpx is slow to import)."""

    def __init__(self, policy: NetworkPolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._clients: dict[bool, httpx.Client] = {}

    def client(self, url: SplitResult) -> "httpx.Client":
        trusted = self._policy.insecure_hosts
        verify = not (url.hostname in trusted or url.netloc in trusted)
        with self._lock:
            if verify not in self._clients:
                self._clients[verify] = self._make(verify)
            return self._clients[verify]

    def close(self) -> None:
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def _make(self, verify: bool) -> "httpx.Client":
        import httpx

        policy = self._policy
        return httpx.Client(
            verify=_tls_context(policy) if verify else False,
            proxy=policy.proxy,
            follow_redirects=False,
            headers={"User-Agent": USER_AGENT},
            limits=httpx.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=30),
        )


@dataclass
class _Counter:
    """Counts of one view; read as a frozen Usage."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    usage: Usage = Usage()

    def add(self, requests: int, received: int) -> None:
        with self.lock:
            self.usage = Usage(self.usage.requests + requests, self.usage.bytes + received)


class Transport:
    """Sends requests under one policy. Use as a context manager, or :meth:`close` it."""

    def __init__(
        self,
        policy: NetworkPolicy | None = None,
        *,
        events: EventSink = ignore,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._policy = policy or NetworkPolicy()
        self._pool = _Pool(self._policy)
        self._events = events
        self._sleep = sleep
        self._agent: str | None = None
        self._deadline: float | None = None
        self._counters: tuple[_Counter, ...] = (_Counter(),)

    def __enter__(self) -> "Transport":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of this transport and of all its views."""
        self._pool.close()

    @property
    def offline(self) -> bool:
        """Whether every request is refused."""
        return self._policy.offline

    @property
    def policy(self) -> NetworkPolicy:
        """The policy this transport was made with."""
        return self._policy

    def for_agent(
        self, agent: str, *, events: EventSink | None = None, seconds: float | None = None
    ) -> "Transport":
        """A view for one agent: own counts and events, and a deadline ``seconds`` from now."""
        view = Transport(self._policy, events=events or self._events, sleep=self._sleep)
        view._pool = self._pool
        view._agent = agent
        view._deadline = self._deadline if seconds is None else time.monotonic() + seconds
        view._counters = (_Counter(), *self._counters)
        return view

    def usage(self) -> Usage:
        """What this view has used so far (views count into the transport they came from, too)."""
        return self._counters[0].usage

    def get(
        self,
        url: str,
        *,
        what: str,
        source: str,
        headers: Mapping[str, str] | None = None,
        credential: Credential | None = None,
        expect: Collection[int] = (200,),
        limit: int = DEFAULT_LIMIT,
        same_host: bool = False,
        method: str = "GET",
    ) -> Response:
        """One answer whose status is in ``expect``.

        ``what`` says in a few words what is fetched (for errors), ``source`` which source it
        belongs to (for the log). Redirects are followed, five at most, only over HTTP(S),
        never from TLS to plain, never from a public host to a private address, and with
        ``same_host`` only within the origin; the credential goes to its own origin alone.
        Raises OfflineError, MissingError (404, 410), StatusError, UnreachableError, LimitError.
        """
        hop = _checked(url)
        self.require(what, hop.hostname or "")
        for _ in range(MAX_REDIRECTS + 1):
            sent = {"Accept-Encoding": "gzip, deflate", **(headers or {})}
            if credential is not None and _origin(hop) == _origin(urlsplit(credential.origin)):
                sent["Authorization"] = credential.authorization
            response = self._with_retries(_Request(method, hop, sent, what, source, frozenset(expect), limit))
            location = response.headers.get("location")
            if response.status in (301, 302, 303, 307, 308) and location and response.status not in expect:
                hop = _redirect(hop, location, same_host, what)
                continue
            if response.status in expect:
                return response
            raise _status_error(response, hop, what)
        raise SourceError(f"{what}: {_show(hop)} redirects more than {MAX_REDIRECTS} times", "tell its owner")

    def require(self, what: str, host: str) -> None:
        """Ask for leave to fetch with another client (git, the Hub's). Raises OfflineError."""
        if self._policy.offline:
            raise OfflineError(
                f"{what} would have to be fetched from {host}, and this run is offline",
                "run once without --offline: what is fetched is kept, and then --offline works",
            )

    def count(
        self, *, source: str, what: str, host: str, bytes: int, seconds: float, requests: int = 1
    ) -> None:
        """Count and log something that was fetched; other clients report through this, too."""
        for counter in self._counters:
            counter.add(requests, bytes)
        details: dict[str, Json] = {
            "source": source,
            "what": what,
            "host": host,
            "bytes": bytes,
            "requests": requests,
            "seconds": round(seconds, 4),
        }
        self._events(Event(kind=EventKind.FETCHED, agent=self._agent, details=details))

    def _with_retries(self, request: "_Request") -> Response:
        wait = self._policy.first_wait
        for attempt in range(1, self._policy.tries + 1):
            last = attempt == self._policy.tries
            try:
                response = self._send(request)
            except _Transient as failure:
                if last or not failure.again:
                    raise failure.error from failure.__cause__
                pause = wait
            else:
                if response.status not in RETRY_STATUSES or response.status in request.expect or last:
                    return response
                pause = _retry_after(response) or wait
                if pause > self._policy.longest_wait:
                    return response
            if pause >= self._remaining(request):
                raise UnreachableError(
                    f"{request.what}: {request.url.hostname} asks to wait {pause:.0f} s, "
                    "longer than this run may take",
                    "try again later",
                )
            self._sleep(pause)
            wait *= 2
        raise AssertionError("the loop returns or raises")

    def _remaining(self, request: "_Request") -> float:
        if self._deadline is None:
            return float("inf")
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise UnreachableError(
                f"{request.what}: the time for it is up", "give it more time, or see why it is slow"
            )
        return left

    def _send(self, request: "_Request") -> Response:
        import httpx

        policy = self._policy
        left = self._remaining(request)
        timeout = httpx.Timeout(min(policy.read_timeout, left), connect=min(policy.connect_timeout, left))
        client = self._pool.client(request.url)
        started = time.monotonic()
        received = 0
        try:
            with client.stream(
                request.method, urlunsplit(request.url), headers=request.headers, timeout=timeout
            ) as answer:
                try:
                    body = b"".join(self._body(answer, request))
                finally:
                    received = answer.num_bytes_downloaded
            headers = {name.lower(): value for name, value in answer.headers.items()}
            return Response(answer.status_code, _show(request.url), headers, body)
        except httpx.HTTPError as error:
            raise _transient(error, request) from error
        finally:
            self.count(
                source=request.source,
                what=request.what,
                host=request.url.netloc,
                bytes=received,
                seconds=time.monotonic() - started,
            )

    def _body(self, answer: "httpx.Response", request: "_Request") -> Iterator[bytes]:
        expected = answer.status_code in request.expect
        limit = request.limit if expected else ERROR_BODY_LIMIT
        declared = answer.headers.get("content-length", "")
        size = int(declared) if expected and declared.isdecimal() and len(declared) < 20 else 0
        chunks = answer.iter_bytes()
        if size <= limit:
            size = 0
            for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    break
                self._remaining(request)
                yield chunk
        if size > limit and expected:
            raise LimitError(
                f"{request.what}: {request.url.hostname} sends more than {limit} bytes",
                "nothing of this kind should be so large; look at it by hand",
            )


@dataclass(frozen=True)
class _Request:
    method: str
    url: SplitResult
    headers: Mapping[str, str]
    what: str
    source: str
    expect: frozenset[int]
    limit: int


class _Transient(Exception):
    """A failed try: the error to show, and whether another try may help."""

    def __init__(self, error: SourceError, again: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again


def _transient(error: "httpx.HTTPError", request: _Request) -> _Transient:
    import httpx

    host = request.url.hostname
    text = str(error)
    again = False
    match error:
        case httpx.ConnectTimeout():
            why, advice = f"{host} does not answer", "is the network there? a proxy? or use --offline"
        case httpx.TimeoutException():
            why, advice, again = f"{host} stopped answering", "try again, or use --offline", True
        case httpx.ConnectError() if "CERTIFICATE" in text.upper() or "SSL" in text.upper():
            why = f"the certificate of {host} is not accepted ({text})"
            advice = "set pip's `cert` (or SSL_CERT_FILE) to the CA bundle of your network"
        case httpx.ConnectError() if "ame or service" in text or "resolution" in text or "nodename" in text:
            why, advice = f"the name {host} is not found", "is the network there? or use --offline"
        case httpx.ConnectError():
            why, advice, again = (
                f"{host} refuses the connection ({text})",
                "try again, or use --offline",
                True,
            )
        case httpx.ProxyError():
            why, advice = f"the proxy on the way to {host} refuses ({text})", "look at HTTPS_PROXY"
        case httpx.DecodingError():
            why, advice = f"{host} sent a body that cannot be unpacked", "try again later, or use a mirror"
        case _:
            why, advice, again = f"{host} cut the answer off ({text})", "try again", True
    return _Transient(UnreachableError(f"{request.what}: {why}", advice), again)


def _status_error(response: Response, url: SplitResult, what: str) -> StatusError:
    status, shown = response.status, _show(url)
    if status in (404, 410):
        return MissingError(f"{what}: there is no {shown} ({status})", "check its name", response)
    match status:
        case 401 | 407:
            advice = "a token or password is needed for it, or the one given is wrong"
        case 403:
            advice = "access is refused; a token with the right to read it may be needed"
        case 429:
            wait = response.headers.get("retry-after", "a while")
            advice = f"too many requests; try again in {wait} (seconds or date), or give a token"
        case _ if status >= 500:
            advice = "the server is in trouble; try again later, or use another one"
        case _:
            advice = "this server is not what was expected; check the address"
    return StatusError(f"{what}: {shown} answers {status}", advice, response)


def _checked(url: str) -> SplitResult:
    """The URL, when it is one that may be asked: HTTP(S), with a host, no credentials in it."""
    parts = urlsplit(url)
    try:
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username is not None or any(c <= " " or c == "\x7f" for c in url):
        raise UsageError(
            f"{_show(parts)} is not an address that can be asked", "give a plain https:// address"
        )
    return parts


def _redirect(here: SplitResult, location: str, same_host: bool, what: str) -> SplitResult:
    there = urlsplit(urljoin(urlunsplit(here), location))
    refused = ""
    try:
        there = _checked(urlunsplit(there))
    except UsageError:
        refused = "it is no plain web address"
    if not refused and here.scheme == "https" and there.scheme != "https":
        refused = "it leaves TLS"
    elif not refused and same_host and _origin(here) != _origin(there):
        refused = "it leaves the server that was asked"
    elif not refused and is_private(there.hostname or "") and not is_private(here.hostname or ""):
        refused = "it points into a private network"
    if refused:
        raise SourceError(
            f"{what}: {here.hostname} redirects to {_show(there)}, which is not followed: {refused}",
            "if that place is right, name it directly",
        )
    return there


def is_private(host: str) -> bool:
    """Whether a host is written as this machine or as an address in a private network."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _origin(url: SplitResult) -> tuple[str, str, int]:
    return url.scheme, url.hostname or "", url.port or (443 if url.scheme == "https" else 80)


def _show(url: SplitResult) -> str:
    """The URL without credentials, query and fragment: fit for messages and logs."""
    return urlunsplit(without_credentials(url)._replace(query="", fragment=""))


def without_credentials(url: SplitResult) -> SplitResult:
    """The URL without ``user:password@``."""
    return url._replace(netloc=url.netloc.rpartition("@")[2])


def _retry_after(response: Response) -> float | None:
    """Seconds to wait as the server asks, when it says so in seconds."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdecimal() and len(text) < 10 else None


def _tls_context(policy: NetworkPolicy) -> ssl.SSLContext:
    try:
        if policy.ca_bundle is not None:
            is_folder = os.path.isdir(policy.ca_bundle)
            context = ssl.create_default_context(
                cafile=None if is_folder else policy.ca_bundle,
                capath=policy.ca_bundle if is_folder else None,
            )
        else:
            import certifi

            context = ssl.create_default_context()
            context.load_verify_locations(certifi.where())
        if policy.client_cert is not None:
            context.load_cert_chain(policy.client_cert)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"the certificates in {policy.client_cert or policy.ca_bundle} cannot be used: {error}",
            "pip's `cert` must name a CA bundle in PEM form",
        ) from error
    return context


def basic_credential(origin: str, user: str, password: str) -> Credential:
    """User and password for one origin, as HTTP basic authentication."""
    pair = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return Credential(origin, f"Basic {pair}")
