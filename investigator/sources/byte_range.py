"""Files of which parts can be read: on this machine, or over HTTP ranges (RFC 9110, section 14)."""

from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from investigator.errors import IntegrityError, LimitError, NotFoundError, SourceError
from investigator.sources.transport import Credential, Transport

WHOLE_LIMIT = 32 * 1024 * 1024
"""Bytes of a wheel that is fetched whole when its server does not serve ranges."""


class Bytes(Protocol):
    """A file of known size that parts can be read of."""

    @property
    def size(self) -> int:
        """Its size in bytes."""
        ...

    @property
    def local(self) -> bool:
        """Whether reading costs no request."""
        ...

    def read(self, start: int, end: int) -> bytes:
        """Exactly the bytes [start, end)."""
        ...

    def tail(self, length: int) -> bytes:
        """The last ``length`` bytes, or all when there are fewer; learns ``size`` on the way."""
        ...


class LocalBytes:
    """A file on this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self.size = path.stat().st_size
        except OSError as error:
            raise NotFoundError(f"{path} cannot be read: {error.strerror}", "check the path") from error
        self.local = True

    def read(self, start: int, end: int) -> bytes:
        """Exactly the bytes [start, end). Raises IntegrityError when the file is shorter."""
        with self._path.open("rb") as file:
            file.seek(start)
            data = file.read(end - start)
        if len(data) != end - start:
            raise IntegrityError(f"{self._path} is cut off", "get it anew")
        return data

    def tail(self, length: int) -> bytes:
        """The last bytes."""
        return self.read(max(0, self.size - length), self.size)


class RemoteBytes:
    """A file behind HTTP ranges; one that its server only gives whole is held when it is small."""

    def __init__(
        self,
        transport: Transport,
        url: str,
        what: str,
        source: str,
        size: int | None,
        credential: Credential | None,
    ) -> None:
        self._transport = transport
        self._url = url
        self._what = what
        self._source = source
        self._size = size
        self._credential = credential
        self._whole: bytes | None = None
        self.local = False

    @property
    def size(self) -> int:
        """The file's size, as the index or the server says."""
        if self._size is None:
            self.tail(1)
        assert self._size is not None
        return self._size

    def read(self, start: int, end: int) -> bytes:
        """Exactly the bytes [start, end). Raises SourceError, IntegrityError."""
        if self._whole is None:
            got = self._ranged(f"bytes={start}-{end - 1}", end - start)
            if got is not None:
                first, data = got
                if first != start or len(data) != end - start:
                    raise self._lies(f"asked for {start}-{end - 1}, it sends {first}-{first + len(data) - 1}")
                return data
        assert self._whole is not None
        return self._whole[start:end]

    def tail(self, length: int) -> bytes:
        """The last ``length`` bytes, or all when there are fewer."""
        if self._whole is None:
            got = self._ranged(f"bytes=-{length}", length, may_refuse=True) if self._size is None else None
            if got is None and self._size is None:  # a server that cannot count from the end
                self._ranged("bytes=0-0", 1)
            if got is None and self._whole is None:
                assert self._size is not None
                got = self._ranged(f"bytes={max(0, self._size - length)}-{self._size - 1}", length)
            if got is not None:
                first, data = got
                if first + len(data) != self.size:
                    end = first + len(data) - 1
                    raise self._lies(f"asked for the end, it sends {first}-{end} of {self.size}")
                return data
        assert self._whole is not None
        return self._whole[-length:]

    def _ranged(self, asked: str, length: int, may_refuse: bool = False) -> tuple[int, bytes] | None:
        """First position and bytes of a range; None when the whole file was taken, or it was refused."""
        try:
            answer = self._transport.get(
                self._url,
                what=self._what,
                source=self._source,
                headers={"Range": asked, "Accept-Encoding": "identity"},
                credential=self._credential,
                expect=(206, 416, 200),
                limit=max(length, WHOLE_LIMIT),
            )
        except LimitError as error:
            raise SourceError(
                f"{self._what}: {urlsplit(self._url).hostname} does not serve parts of a file (HTTP ranges), "
                "and the whole wheel is too large to fetch",
                "use another index, or unpack the wheel and name its folder with path:",
            ) from error
        if answer.status == 416:
            if may_refuse:
                return None
            raise self._lies(f"it refuses {asked}")
        if answer.status == 200:
            if self._size is not None and len(answer.body) != self._size:
                raise self._lies(f"it sends {len(answer.body)} bytes instead of {self._size}")
            self._whole, self._size = answer.body, len(answer.body)
            return None
        first, total = _content_range(answer.headers.get("content-range", ""))
        if total is None or (self._size is not None and total != self._size):
            raise self._lies(f"its size should be {self._size} bytes and is said to be {total}")
        self._size = total
        return first, answer.body

    def _lies(self, how: str) -> IntegrityError:
        host = urlsplit(self._url).hostname
        return IntegrityError(
            f"{self._what}: {host} does not serve this file as listed: {how}",
            "try again, or use another index, or unpack the wheel and give its folder with path:",
        )


def _content_range(text: str) -> tuple[int, int | None]:
    """First position and total of ``bytes 10-19/200``; total None when it cannot be read."""
    unit, _, rest = text.partition(" ")
    span, _, total = rest.partition("/")
    first = span.partition("-")[0]
    if unit != "bytes" or not (first.isdecimal() and total.isdecimal() and len(total) < 16):
        return 0, None
    return int(first), int(total)
