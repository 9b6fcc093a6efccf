"""What was fetched once, kept on disk: blobs by their sha256, and small named records.

The store can only save work, never break a run: an entry that cannot be read or is not what
its name promises counts as a miss, is set aside and reported; an entry that cannot be written
is held in memory for the rest of the run. Writes are atomic replacements, so processes that
share a store see each entry whole or not at all.

Layout below the root (created 0700)::

    CACHEDIR.TAG
    v1/blobs/ab/cdef...      bytes whose sha256 is abcdef...
    v1/records/KIND/HASH     a header line, then the JSON value; HASH is sha256 of the key
    v1/aside/                corrupt entries, for a person to look at
    v1/new/                  entries being written; what a killed process leaves is swept away
"""

import hashlib
import json
import os
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from investigator.errors import UsageError
from investigator.events import Event, EventKind, EventSink, ignore
from investigator.model import Json

FORMAT = 1
"""Version of the layout; a store written in another one is simply not seen."""

MEMORY_LIMIT = 64 * 1024 * 1024
"""Bytes held in memory, at most, when the disk refuses them."""

LEFTOVER_AGE = 3600.0
"""Seconds after which an unfinished entry is nobody's any more."""

_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is a cache of `investigate`. It may be deleted at any time.\n"
)


@dataclass(frozen=True)
class Record:
    """A kept value and when it was kept (UTC)."""

    value: Json
    kept_at: datetime


def default_root() -> Path:
    """The cache folder that ``INVESTIGATE_CACHE_DIR`` names, or the user's for this program.

    One that cannot be made for a user without a home.
    """
    if named := os.environ.get("INVESTIGATE_CACHE_DIR"):
        return Path(named)
    import platformdirs

    try:
        folder = Path(platformdirs.user_cache_dir("investigate", appauthor=False))
    except RuntimeError:
        folder = Path("~")
    # For a user without a home, platformdirs raises or, before 4.12, leaves the tilde as it is.
    return folder if folder.is_absolute() else Path(os.devnull, "no home folder")


class _Memory:
    """What the disk refused, while there is room; shared by all views of a store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[Path, bytes] = {}
        self._bytes = 0
        self._refused = False

    def get(self, path: Path) -> bytes | None:
        with self._lock:
            return self._entries.get(path)

    def put(self, path: Path, data: bytes) -> None:
        with self._lock:
            self._bytes += len(data) - len(self._entries.pop(path, b""))
            self._entries[path] = data
            while self._bytes > MEMORY_LIMIT:
                oldest = next(iter(self._entries))
                self._bytes -= len(self._entries.pop(oldest))

    def drop(self, path: Path) -> None:
        with self._lock:
            self._bytes -= len(self._entries.pop(path, b""))

    def first_refusal(self) -> bool:
        """True the first time it is asked."""
        with self._lock:
            first, self._refused = not self._refused, True
            return first


class Store:
    """A content-addressed store in one folder. Safe to use from threads and processes at once."""

    def __init__(self, root: Path, events: EventSink = ignore) -> None:
        self._root = root
        self._events = events
        self._memory = _Memory()

    @classmethod
    def open(cls, path: Path | None = None, events: EventSink = ignore) -> "Store":
        """The store at ``path``, or the user's own when None. Created when missing.

        Raises UsageError when a ``path`` that was asked for cannot be a folder; the default
        one that cannot be made only means that nothing is kept.
        """
        store = cls(path if path is not None else default_root(), events)
        try:
            store._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            tag = store._root / "CACHEDIR.TAG"
            if not tag.exists():
                tag.write_text(_TAG)
            store._sweep()
        except OSError as error:
            if path is not None:
                raise UsageError(
                    f"cannot keep anything in {path}: {error.strerror or error}",
                    "give --cache-dir a folder that can be written, or leave it out",
                ) from error
            store._unwritable(error)
        return store

    @property
    def root(self) -> Path:
        """The store's folder; sources that keep whole folders (git) put them below it."""
        return self._root

    def with_events(self, events: EventSink) -> "Store":
        """The same store, reporting to another sink."""
        view = Store(self._root, events)
        view._memory = self._memory
        return view

    # Blobs

    def blob(self, sha256: str) -> bytes | None:
        """The bytes with this hash (hex), or None. What is returned has been checked."""
        path = self._blob_path(sha256)
        data = self._read(path)
        if data is None:
            return None
        if hashlib.sha256(data).hexdigest() != sha256:
            self._set_aside(path, f"blob {sha256[:12]} does not have its hash")
            return None
        return data

    def has_blob(self, sha256: str) -> bool:
        """Whether there is an entry under this hash; it is checked when it is read."""
        path = self._blob_path(sha256)
        return path.is_file() or self._memory.get(path) is not None

    def keep_blob(self, data: bytes) -> str:
        """Keep bytes; returns their sha256 in hex."""
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._blob_path(sha256)
        if not path.is_file():
            self._write(path, data)
        return sha256

    # Records

    def record(self, kind: str, key: str) -> Json | None:
        """The value kept under ``kind`` and ``key``, or None."""
        entry = self.entry(kind, key)
        return None if entry is None else entry.value

    def entry(self, kind: str, key: str) -> Record | None:
        """The value kept under ``kind`` and ``key`` with its time, or None."""
        path = self._record_path(kind, key)
        data = self._read(path)
        if data is None:
            return None
        try:
            head, _, body = data.partition(b"\n")
            header = json.loads(head)
            if header["sha256"] != hashlib.sha256(body).hexdigest() or header["key"] != key:
                raise ValueError("its content does not have its hash")
            kept_at = datetime.fromisoformat(header["kept_at"])
            if kept_at.tzinfo is None:
                raise ValueError("its time names no zone")
            return Record(json.loads(body), kept_at)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self._set_aside(path, f"record {kind} of {key}: {error}")
            return None

    def keep(self, kind: str, key: str, value: Json) -> None:
        """Keep a JSON value under ``kind`` (letters and dashes) and ``key`` (any text)."""
        body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        header = {
            "key": key,
            "kept_at": datetime.now(UTC).isoformat(),
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        self._write(self._record_path(kind, key), json.dumps(header).encode() + b"\n" + body)

    # Files

    def _blob_path(self, sha256: str) -> Path:
        return self._root / f"v{FORMAT}" / "blobs" / sha256[:2] / sha256[2:]

    def _record_path(self, kind: str, key: str) -> Path:
        name = hashlib.sha256(key.encode()).hexdigest()
        return self._root / f"v{FORMAT}" / "records" / kind / name

    def _read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except OSError:
            return self._memory.get(path)

    def _write(self, path: Path, data: bytes) -> None:
        temporary: str | None = None
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder("new"))
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError as error:
            if temporary is not None:
                Path(temporary).unlink(missing_ok=True)
            self._unwritable(error)
            self._memory.put(path, data)

    def _folder(self, name: str) -> Path:
        folder = self._root / f"v{FORMAT}" / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def _sweep(self) -> None:
        """Remove what processes left that were killed while they wrote."""
        for entry in self._folder("new").iterdir():
            with suppress(OSError):
                if time.time() - entry.stat().st_mtime > LEFTOVER_AGE:
                    entry.unlink()

    def _set_aside(self, path: Path, why: str) -> None:
        with suppress(OSError):  # another process was quicker, or the disk refuses: a miss either way
            os.replace(path, self._folder("aside") / f"{path.parent.name}-{path.name}")
        self._memory.drop(path)
        self._say(f"{why}; set aside and fetched again")

    def _unwritable(self, error: OSError) -> None:
        if self._memory.first_refusal():
            self._say(f"{self._root} cannot be written ({error.strerror or error}); nothing is kept")

    def _say(self, error: str) -> None:
        self._events(Event(kind=EventKind.FAILED, agent=None, details={"source": "store", "error": error}))
