"""Reads foreign bytes as numbered lines, in bounded memory, whatever they are."""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, cast

from investigator.errors import UsageError

CHUNK = 64 * 1024
PIECE = 64 * 1024
"""A longer line is handed on in pieces of at most this many characters."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GZIP = b"\x1f\x8b"
"""What log rotation leaves behind, and so is unpacked on the way."""
_PACKED = (
    (b"PK\x03\x04", "zip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,32}[A-Za-z]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\))")
_SECRET = re.compile(
    r"(?P<keep>(?i:--(?:api-key|hf-token)[= ]+|\bbearer\s+)|\b\w*(?:API_KEY|TOKEN|SECRET|PASSWORD)=)[^\s'\"]+"
    r"|\b(?:hf_|sk-|ghp_|github_pat_)\w{6,}"
)


class Piece(NamedTuple):
    """Part of line ``line`` (from 1); most lines are one piece. No line end, no colour codes."""

    line: int
    text: str


@dataclass
class Progress:
    """How much was read so far; the reader's caller owns it."""

    bytes_read: int = 0
    lines_read: int = 0


def pieces(stream: BinaryIO, progress: Progress) -> Iterator[Piece]:
    """The stream's lines, of a log packed with gzip too. Bytes that are no text become replacements.

    Raises UsageError when the stream cannot be read or is packed in another way.
    """
    chunk = _read(stream)
    if chunk.startswith(_GZIP):
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=_Joined(chunk, stream)))
        chunk = _read(stream)
    for magic, name in _PACKED:
        if chunk.startswith(magic):
            raise UsageError(
                f"the symptom is packed with {name}", f"unpack it first and pipe it in: {name} -dc"
            )
    encoding = next((name for bom, name in _BOMS if chunk.startswith(bom)), "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    line, rest = 1, ""
    while True:
        progress.bytes_read += len(chunk)
        rest += decoder.decode(chunk, final=not chunk)
        *whole, rest = rest.split("\n")
        for text in whole:
            if len(text) <= PIECE and "\r" not in text:
                yield Piece(line, _plain(text))
            else:
                yield from _split(line, text)
            line += 1
        while len(rest) > PIECE:
            cut = _cut(rest)
            yield Piece(line, _plain(rest[:cut]))
            rest = rest[cut:]
        progress.lines_read = line - 1 + bool(rest)
        if not chunk:
            break
        chunk = _read(stream)
    yield from _split(line, rest)


def printable(text: str, limit: int = 240) -> str:
    """``text`` cut to ``limit``, control characters gone, and what looks like a secret gone."""
    clean = "".join(c if c.isprintable() else " " for c in text[: 4 * limit])
    clean = _SECRET.sub(lambda m: (m["keep"] or "") + "(hidden)", clean.strip())
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


class _Joined(io.RawIOBase):
    """A stream with the bytes in front that were already read from it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def read(self, size: int = -1) -> bytes:
        return self._head.read(size) or self._rest.read(size)


def _read(stream: BinaryIO) -> bytes:
    try:
        return stream.read(CHUNK)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return b""  # a packed log that was cut off, or is damaged from here on: what came before counts
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the symptom cannot be read: {error}", "give a file that can be read, or - for a pipe"
        ) from error


def _split(line: int, text: str) -> Iterator[Piece]:
    """A progress bar writes many states of one line, parted by carriage returns."""
    for part in text.split("\r"):
        while len(part) > PIECE:
            cut = _cut(part)
            yield Piece(line, _plain(part[:cut]))
            part = part[cut:]
        if part:
            yield Piece(line, _plain(part))


def _cut(text: str) -> int:
    """Where to cut an overlong line: behind a comma, so that no JSON field is torn."""
    comma = text.rfind(",", PIECE // 2, PIECE)
    return comma + 1 if comma >= 0 else PIECE


def _plain(text: str) -> str:
    return _ESCAPES.sub("", text) if "\x1b" in text else text
