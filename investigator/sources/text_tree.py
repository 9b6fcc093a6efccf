"""A tree held in memory, and JSON written so that single lines can be quoted."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from investigator.errors import NotFoundError
from investigator.model import Json, Source

_WIDTH = 160


class TextTree:
    """A tree held in memory: ``path -> bytes``."""

    def __init__(self, source: Source, contents: Mapping[str, bytes]) -> None:
        self._source = source
        self._contents = dict(contents)

    @property
    def source(self) -> Source:
        """Which source this is."""
        return self._source

    def paths(self) -> Sequence[str]:
        """Every file's path, sorted."""
        return sorted(self._contents)

    def digest(self, path: str) -> str:
        """sha256 of the file, hex. Raises NotFoundError."""
        return hashlib.sha256(self.read(path)).hexdigest()

    def read(self, path: str) -> bytes:
        """The file's bytes. Raises NotFoundError."""
        try:
            return self._contents[path]
        except KeyError:
            raise NotFoundError(f"{self._source.name} holds no file {path!r}") from None

    def prefetch(self, paths: Iterable[str]) -> None:
        """Nothing to do: everything is near."""


def pretty_json(value: Json, indent: int = 0) -> str:
    """JSON with two spaces and short lists on one line; the same value gives the same text."""
    pad = "  " * (indent + 1)
    if isinstance(value, Mapping) and value:
        body = ",\n".join(
            f"{pad}{json.dumps(key)}: {pretty_json(item, indent + 1)}" for key, item in value.items()
        )
        return f"{{\n{body}\n{pad[2:]}}}"
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, list | tuple) or (len(pad) + len(flat) <= _WIDTH + 2 and not _nested(value)):
        return flat
    body = ",\n".join(f"{pad}{pretty_json(item, indent + 1)}" for item in value)
    return f"[\n{body}\n{pad[2:]}]"


def _nested(value: Sequence[Json]) -> bool:
    return any(isinstance(item, Mapping | list | tuple) for item in value)
