"""RECORD, the list of a wheel's files with their hashes (packaging specification, PEP 376 and 427)."""

import base64
import csv
import io
from dataclasses import dataclass

from investigator.errors import IntegrityError


@dataclass(frozen=True)
class RecordRow:
    """What RECORD says of one file: sha256 in hex and size in bytes, where it names them."""

    sha256: str | None
    size: int | None


def parse_record(data: bytes) -> dict[str, RecordRow]:
    """Path to row. A hash of another kind than sha256 counts as none.

    Raises IntegrityError for a file that is no RECORD, or names a path twice.
    """
    rows: dict[str, RecordRow] = {}
    try:
        for row in csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True):
            if not row:
                continue
            path, digest, size = row
            if path in rows:
                raise ValueError(f"{path} is in it twice")
            rows[path] = RecordRow(_sha256(digest), int(size) if size.isdecimal() else None)
    except (ValueError, csv.Error) as error:
        raise IntegrityError(f"its RECORD cannot be read: {error}", "it is no sound wheel") from error
    return rows


def _sha256(text: str) -> str | None:
    kind, _, value = text.partition("=")
    if kind != "sha256":
        return None
    digest = base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)
    if len(digest) != 32:
        raise ValueError(f"a sha256 of {len(digest)} bytes")
    return digest.hex()
