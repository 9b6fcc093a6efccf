"""Experiment folders as a stream of tar: out whole, back only what a conductor writes."""

import io
import re
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from investigator.errors import LimitError, SourceError

MAX_BYTES = 256 << 20
MAX_RESULTS = 2_000
MAX_MEMBER_BYTES = 64 << 20
_RESULT = re.compile(r"(?:\./)?results/([A-Za-z0-9][A-Za-z0-9._-]{0,200}\.(?:json|log))\Z")


def pack(folder: Path, stream: IO[bytes]) -> None:
    """Write the folder's files; overlays that were laid out on this machine stay here."""
    with tarfile.open(fileobj=stream, mode="w|gz") as archive:
        for file in sorted(folder.rglob("*")):
            name = file.relative_to(folder)
            if ".made" not in name.parts and file.is_file() and not file.is_symlink():
                archive.add(file, arcname=str(name), recursive=False)


def unpack_results(data: bytes, folder: Path) -> list[str]:
    """Put the results of a plain tar into ``folder/results``; anything else in it is passed over.

    Raises SourceError for what is no such tar, LimitError for one that is too large.
    """
    if len(data) > MAX_BYTES:
        raise LimitError(f"{len(data):,} bytes of results came back", "measure fewer prompts")
    written: list[str] = []
    try:
        # Never unpacked on the way: what a tar claims cannot be more than what came.
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in _members(archive):
                match = _RESULT.match(member.name)
                if member.isdir() or not match:
                    continue
                if not member.isfile() or member.issparse() or match[1] in written:
                    what = "is there twice" if match[1] in written else "is no plain file"
                    raise SourceError(f"{member.name} {what}", "look at the machine that sent it")
                if member.size > MAX_MEMBER_BYTES:
                    raise LimitError(f"{member.name} has {member.size:,} bytes", "measure fewer prompts")
                content = archive.extractfile(member)
                assert content is not None
                (folder / "results").mkdir(exist_ok=True)
                (folder / "results" / match[1]).write_bytes(content.read(MAX_MEMBER_BYTES))
                written.append(match[1])
    except (tarfile.TarError, ValueError, EOFError, OverflowError, RecursionError) as error:
        raise SourceError(f"the results cannot be unpacked: {error}", "run the command again") from error
    return written


def _members(archive: tarfile.TarFile) -> Iterable[tarfile.TarInfo]:
    for count, member in enumerate(archive):
        if count >= MAX_RESULTS:
            raise LimitError(f"more than {MAX_RESULTS} files came back", "look at the machine that sent them")
        yield member
