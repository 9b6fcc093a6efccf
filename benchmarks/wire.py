"""The package index through a loopback relay that counts: what really goes over the wire.

A program under measure is given the relay as its index (:attr:`Wire.environment`), and a proxy that
does not exist for everything else, so that no request can go by uncounted. Pages are handed on with
their links pointing back to the relay, files as they are.
"""

import gzip
import ssl
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit

import httpx

NOT_PASSED_ON = frozenset(
    ("connection", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
)
FILES = "/at/"
"""Below it the relay has other hosts' files: ``/at/HOST/PATH``."""


@dataclass(frozen=True)
class Sent:
    """One answer that the relay gave. ``name``: of the file or the project's page; ``bytes``: of its body."""

    name: str
    bytes: int


def totals(answers: Iterable[Sent]) -> dict[str, tuple[int, int]]:
    """Name -> (requests, bytes)."""
    found: dict[str, tuple[int, int]] = {}
    for answer in answers:
        requests, size = found.get(answer.name, (0, 0))
        found[answer.name] = (requests + 1, size + answer.bytes)
    return found


def name_of(path: str) -> str:
    """What a request is about: the last part of its path."""
    return path.partition("?")[0].rstrip("/").rpartition("/")[2]


def with_links_to(relay: str, page: bytes) -> bytes:
    """A page of the simple API whose absolute links lead to the relay."""
    return page.replace(b'"https://', f'"{relay}{FILES}'.encode())


class Wire:
    """A relay to one package index, in a thread. Use as a context manager.

    ``index``: its simple API's address; ``cert``: the CA bundle to believe, else the system's.
    """

    def __init__(self, index: str, cert: str | None = None) -> None:
        self.index = index.rstrip("/")
        self.client = httpx.Client(
            verify=ssl.create_default_context(cafile=cert), timeout=60, follow_redirects=True
        )
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._lock = threading.Lock()
        self._sent: list[Sent] = []

    @property
    def address(self) -> str:
        """Where the relay is."""
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What makes pip's settings name the relay, and keeps everything else from leaving."""
        nowhere = "http://127.0.0.1:9"
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), nowhere)
        return {
            **{name: value for key, value in proxies.items() for name in (key, key.lower())},
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            "PIP_INDEX_URL": f"{self.address}/simple",
            "PIP_EXTRA_INDEX_URL": "",
        }

    def taken(self) -> list[Sent]:
        """What was sent since this was last asked."""
        with self._lock:
            sent, self._sent = self._sent, []
        return sent

    def note(self, sent: Sent) -> None:
        """One more answer."""
        with self._lock:
            self._sent.append(sent)

    def upstream(self, path: str) -> str:
        """The address that a path of the relay stands for."""
        if path.startswith(FILES):
            return "https://" + path.removeprefix(FILES)
        return self.index + path.removeprefix("/simple")

    def __enter__(self) -> "Wire":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.client.close()


def _handler(wire: Wire) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the name that http.server asks for
            asked = {k: v for k, v in self.headers.items() if k.lower() not in NOT_PASSED_ON}
            with wire.client.stream("GET", wire.upstream(self.path), headers=asked) as answer:
                body = b"".join(answer.iter_raw())
            told = {k.lower(): v for k, v in answer.headers.items() if k.lower() not in NOT_PASSED_ON}
            if not self.path.startswith(FILES):
                body, told = self._page(body, told)
            wire.note(Sent(name_of(urlsplit(self.path).path), len(body)))
            self.send_response(answer.status_code)
            for name, value in {**told, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _page(self, body: bytes, told: dict[str, str]) -> tuple[bytes, dict[str, str]]:
            packed = told.get("content-encoding") == "gzip"
            page = with_links_to(wire.address, gzip.decompress(body) if packed else body)
            return (gzip.compress(page) if packed else page), told

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    return Handler
