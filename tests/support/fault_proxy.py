"""A loopback proxy that spoils chosen connections: one request each, so one fault a request."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum


class Fault(StrEnum):
    """What happens to a request or its answer."""

    DROP = "drop"
    """The connection is closed before a byte of the answer."""
    STALL = "stall"
    """Half of the answer comes, then nothing for longer than anybody waits."""
    CUT = "cut"
    """Half of the answer's body comes, then the connection is closed."""
    CORRUPT = "corrupt"
    """A byte in the middle of the body is another one."""
    UNAVAILABLE = "503"
    """The answer is 503."""
    BUSY = "429"
    """The answer is 429 and asks to wait a second."""
    LONGER = "longer"
    """The answer says it is longer than it is."""
    SHORTER = "shorter"
    """The answer says it is shorter than it is."""
    NOISE = "noise"
    """What comes is no HTTP at all."""


_EMPTY = b"Content-Length: 0\r\nConnection: close\r\n\r\n"


class FaultProxy:
    """Forwards to a loopback server. ``faults`` maps the number of a connection (from 0) to its fault."""

    def __init__(self, upstream: int, stall: float) -> None:
        self.upstream = upstream
        self.stall = stall
        self.faults: dict[int, Fault] = {}
        self.every: Fault | None = None
        self.seen = 0
        self.under_way = 0
        self.most_under_way = 0
        """Requests that waited for their answer together, at most; each has its own connection."""
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])

    def run(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            fault = self.faults.get(self.seen, self.every)
            self.seen += 1
            threading.Thread(target=self._serve, args=(client, fault), daemon=True).start()

    def close(self) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self, client: socket.socket, fault: Fault | None) -> None:
        with client:
            request = self._receive(client, b"\r\n\r\n")
            if fault is Fault.DROP or not request:
                return
            with self._lock:
                self.under_way += 1
                self.most_under_way = max(self.most_under_way, self.under_way)
            try:
                answer = spoiled(self._forward(request), fault)
            finally:
                with self._lock:
                    self.under_way -= 1
            try:
                client.sendall(answer)
                if fault is Fault.STALL:
                    self._over.wait(self.stall)
            except OSError:
                return

    def _forward(self, request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        with socket.create_connection(("127.0.0.1", self.upstream), timeout=10) as server:
            server.sendall(b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body)
            return self._receive(server, None)

    @staticmethod
    def _receive(peer: socket.socket, until: bytes | None) -> bytes:
        data = b""
        while until is None or until not in data:
            chunk = peer.recv(65536)
            if not chunk:
                break
            data += chunk
        return data


def spoiled(answer: bytes, fault: Fault | None) -> bytes:
    """An HTTP answer with the fault in it."""
    head, _, body = answer.partition(b"\r\n\r\n")
    whole = head + b"\r\n\r\n"
    match fault:
        case Fault.CUT | Fault.STALL:
            return whole + body[: len(body) // 2]
        case Fault.CORRUPT:
            at = len(body) // 2
            return whole + body[:at] + bytes([body[at] ^ 0x55]) + body[at + 1 :] if body else answer
        case Fault.UNAVAILABLE:
            return b"HTTP/1.1 503 Service Unavailable\r\n" + _EMPTY
        case Fault.BUSY:
            return b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n" + _EMPTY
        case Fault.LONGER:
            return _with_length(head, len(body) + 10) + body
        case Fault.SHORTER:
            return _with_length(head, max(0, len(body) - 10)) + body
        case Fault.NOISE:
            return b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n"
        case _:
            return answer


def _with_length(head: bytes, length: int) -> bytes:
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length:")]
    return b"\r\n".join([*lines, b"Content-Length: %d" % length]) + b"\r\n\r\n"


@contextmanager
def fault_proxy(upstream: int, stall: float = 5.0) -> Iterator[FaultProxy]:
    """A running proxy in front of the server on port ``upstream``."""
    proxy = FaultProxy(upstream, stall)
    thread = threading.Thread(target=proxy.run, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join()
