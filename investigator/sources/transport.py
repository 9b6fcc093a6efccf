"""The one door to the network: policy, credentials, retries, limits and counts in one place.

Nothing else in this project opens an HTTP connection of its own. The door is synchronous and
may be used from several threads; each agent gets its own view with its own counts, deadline
and events (:meth:`Transport.for_agent`), all over one connection pool.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit, urlunsplit

from investigator.errors import LimitError, OfflineError, SourceError
from investigator.events import Event, EventKind, EventSink, ignore
from investigator.model import Json
from investigator.sources.connections import Pool
from investigator.sources.web import (
    Credential,
    MissingError,
    NetworkPolicy,
    Response,
    StatusError,
    UnreachableError,
    Usage,
    checked_address,
    is_private,
    origin,
    redirect_target,
    shown,
)

__all__ = [
    "Credential",
    "MissingError",
    "NetworkPolicy",
    "Response",
    "StatusError",
    "Transport",
    "UnreachableError",
    "Usage",
    "is_private",
]

if TYPE_CHECKING:
    import httpx

DEFAULT_LIMIT = 16 * 1024 * 1024
"""Bytes of one body, decoded, unless the caller says otherwise."""
ERROR_BODY_LIMIT = 64 * 1024
"""Bytes read of the body of an answer that was not expected."""
MAX_REDIRECTS = 5
RETRY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
NO_NETWORK = "is the network there? or use --offline"


@dataclass
class _Counter:
    """Counts of one view; read as a frozen Usage."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    usage: Usage = field(default_factory=Usage)

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
        self._pool = Pool(self._policy)
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

    def seconds_left(self, most: float) -> float:
        """Seconds until this view's deadline, at least 0 and at most ``most``."""
        return most if self._deadline is None else max(0.0, min(most, self._deadline - time.monotonic()))

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
        if any(name.lower() in ("authorization", "cookie") for name in headers or ()):
            raise ValueError("secrets go into `credential`, which redirects cannot carry away")
        hop = checked_address(url)
        self.require(what, hop.hostname or "")
        for _ in range(MAX_REDIRECTS + 1):
            sent = {"Accept-Encoding": "gzip, deflate", **(headers or {})}
            if credential is not None and origin(hop) == origin(urlsplit(credential.origin)):
                sent["Authorization"] = credential.authorization
            response = self._with_retries(_Request(method, hop, sent, what, source, frozenset(expect), limit))
            location = response.headers.get("location")
            if response.status in (301, 302, 303, 307, 308) and location and response.status not in expect:
                hop = redirect_target(hop, location, same_host, what)
                continue
            if response.status in expect:
                return response
            raise _status_error(response, hop, what)
        raise SourceError(f"{what}: {shown(hop)} redirects more than {MAX_REDIRECTS} times", "tell its owner")

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
        timeout = httpx.Timeout(
            min(policy.read_timeout, left),
            connect=min(policy.connect_timeout, left),
            pool=None if self._deadline is None else left,
        )
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
            return Response(answer.status_code, shown(request.url), headers, body)
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
        case httpx.ConnectError() if "emporary failure in name" in text:
            # A resolver that is asked by many at once says so of names that there are.
            why, advice, again = f"the name {host} cannot be looked up", NO_NETWORK, True
        case httpx.ConnectError() if "ame or service" in text or "resolution" in text or "nodename" in text:
            why, advice = f"the name {host} is not found", NO_NETWORK
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
    status, place = response.status, shown(url)
    if status in (404, 410):
        return MissingError(f"{what}: there is no {place} ({status})", "check its name", response)
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
    return StatusError(f"{what}: {place} answers {status}", advice, response)


def _retry_after(response: Response) -> float | None:
    """Seconds to wait as the server asks, when it says so in seconds."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdecimal() and len(text) < 10 else None
