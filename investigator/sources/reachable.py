"""Whether a server can be connected to, decided within a few seconds whatever DNS does."""

import socket
import threading
from collections.abc import Mapping
from urllib.parse import urlsplit

from investigator.errors import SourceError

_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


class Reachable:
    """One server, tried once: when it cannot be reached, later questions fail at once."""

    def __init__(self, url: str, seconds: float, what: str) -> None:
        self._place = (url, seconds, what)
        self._lock = threading.Lock()
        self._found: bool | SourceError | None = None

    def check(self) -> None:
        """Return when the server could be connected to. Raises SourceError."""
        with self._lock:
            if self._found is None:
                try:
                    check_reachable(*self._place)
                    self._found = True
                except SourceError as error:
                    self._found = error
        if isinstance(self._found, SourceError):
            raise SourceError(str(self._found), self._found.advice)


def is_proxied(environment: Mapping[str, str]) -> bool:
    """Whether connections may go through a proxy, so that a direct one would prove nothing."""
    return any(environment.get(name) or environment.get(name.lower()) for name in _PROXIES)


def check_reachable(url: str, seconds: float, what: str) -> None:
    """Return when a connection to ``url`` opens within ``seconds``; else raise SourceError.

    Name lookup has no timeout of its own on most systems, so it is done aside.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    failure: list[OSError] = []

    def connect() -> None:
        try:
            socket.create_connection((host, port), timeout=seconds).close()
        except OSError as error:
            failure.append(error)

    aside = threading.Thread(target=connect, name=f"reach {host}", daemon=True)
    aside.start()
    aside.join(seconds)
    if not aside.is_alive() and not failure:
        return
    match failure:
        case [socket.gaierror()]:
            why = f"the name {host} is not found"
        case [TimeoutError()] | []:
            why = f"{host} does not answer within {seconds:g} s"
        case [error, *_]:
            why = f"{host} refuses the connection ({error.strerror or error})"
    raise SourceError(f"{what} cannot be reached: {why}", "is the network there? a proxy? or use --offline")
