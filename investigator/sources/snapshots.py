"""Dated records of what the Hub and GitHub said, for runs that reach neither.

A snapshot holds facts: a config's values, a card's or a pull request's metadata, an effect
in this project's own words; no code and no text of others. Wherever one is used the output
says so, with its date. Format: ``docs/snapshots.md``; refreshed by ``investigate snapshot``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from importlib.resources.abc import Traversable

from investigator.checkpoints import read_object
from investigator.checkpoints.fields import Fields
from investigator.errors import UsageError
from investigator.model import Json

SCHEMA = 1
REVISION_PREFIX = "snapshot-"
"""``owner/name@snapshot-2026-10`` asks for the snapshot of that date and nothing else."""

_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?\Z")


@dataclass(frozen=True, kw_only=True)
class HubSnapshot:
    """What was seen of one model repository.

    ``retrieved``: the date, ``YYYY-MM`` or ``YYYY-MM-DD``. ``complete``: whether ``config``
    has all keys of the file. ``inferred``: dotted keys that were worked out, not read.
    ``target``: the model a drafter was trained for. ``gated``: ``auto``, ``manual`` or None.
    ``tensors``: shapes from the safetensors header, None when it was not seen.
    """

    repo: str
    revision: str | None
    retrieved: str
    complete: bool
    config: Mapping[str, Json]
    inferred: tuple[str, ...] = ()
    target: str | None = None
    gated: str | None = None
    card: Mapping[str, str] = field(default_factory=dict)
    tensors: Mapping[str, tuple[int, ...]] | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """One file of a pull request and how many lines it adds and deletes."""

    path: str
    additions: int
    deletions: int


@dataclass(frozen=True, kw_only=True)
class PullRequestSnapshot:
    """What was seen of one pull request. Dates are as precise as what was seen.

    ``state``: ``open``, ``merged`` or ``closed``. ``relations``: pairs of a kind
    (``stacked on``) and a reference. ``repairs``: ids of the contracts that its change is
    known to repair. ``files_complete``: whether ``files`` is the whole list.
    """

    ref: str
    title: str
    state: str
    retrieved: str
    merged_at: datetime | None = None
    head: str | None = None
    effect: str = ""
    relations: tuple[tuple[str, str], ...] = ()
    repairs: tuple[str, ...] = ()
    files: tuple[FileChange, ...] = ()
    files_complete: bool = True
    note: str = ""


class Snapshots:
    """The snapshots of one folder; without a folder the ones that this program ships.

    They stand at ``hub/<owner>__<name>/snapshot.json`` and ``github/<owner>__<repo>/<N>.json``.
    """

    def __init__(self, folder: Traversable | None = None) -> None:
        self._folder = files("investigator.fixtures") if folder is None else folder

    def hub(self, repo: str) -> HubSnapshot | None:
        """The snapshot of a model repository, if there is one. Raises UsageError when it is broken."""
        fields = self._load("hub", repo, "snapshot.json")
        if fields is None:
            return None
        config = fields.section("config").values
        return HubSnapshot(
            repo=_text(fields, "repo") or repo,
            revision=_text(fields, "revision"),
            retrieved=_date(fields),
            complete=bool(fields.flag("complete")),
            config=config,
            inferred=fields.strings("inferred") or (),
            target=_text(fields, "target"),
            gated=_text(fields, "gated"),
            card={key: str(value) for key, value in fields.section("card").values.items()},
            tensors=_shapes(fields),
            note=_text(fields, "note") or "",
        )

    def pull_request(self, repo: str, number: int) -> PullRequestSnapshot | None:
        """The snapshot of a pull request, if there is one. Raises UsageError when it is broken."""
        fields = self._load("github", repo, f"{number}.json")
        if fields is None:
            return None
        merged_at = _text(fields, "merged_at")
        return PullRequestSnapshot(
            ref=f"{repo}#{number}",
            title=_text(fields, "title") or "",
            state=_text(fields, "state") or "open",
            retrieved=_date(fields),
            merged_at=datetime.fromisoformat(merged_at) if merged_at else None,
            head=_text(fields, "head"),
            effect=_text(fields, "effect") or "",
            relations=tuple(
                (_text(item, "kind") or "", _text(item, "ref") or "") for item in _items(fields, "relations")
            ),
            repairs=fields.strings("repairs") or (),
            files=tuple(
                FileChange(
                    path=_text(item, "path") or "",
                    additions=item.integer("additions", least=0) or 0,
                    deletions=item.integer("deletions", least=0) or 0,
                )
                for item in _items(fields, "files")
            ),
            files_complete=bool(fields.flag("files_complete")),
            note=_text(fields, "note") or "",
        )

    def hub_repos(self) -> tuple[str, ...]:
        """Every model repository that has a snapshot, sorted."""
        folder = self._folder / "hub"
        if not folder.is_dir():
            return ()
        return tuple(sorted(entry.name.replace("__", "/", 1) for entry in folder.iterdir() if entry.is_dir()))

    def pull_requests(self) -> tuple[str, ...]:
        """Every pull request that has a snapshot, as ``owner/repo#N``, sorted."""
        folder = self._folder / "github"
        repos = [entry for entry in folder.iterdir() if entry.is_dir()] if folder.is_dir() else []
        numbers = [
            (repo.name.replace("__", "/", 1), int(file.name.removesuffix(".json")))
            for repo in repos
            for file in repo.iterdir()
            if file.name.removesuffix(".json").isdecimal()
        ]
        return tuple(f"{repo}#{number}" for repo, number in sorted(numbers))

    def _load(self, room: str, repo: str, file_name: str) -> Fields | None:
        entry = self._folder / room / folder_name(repo) / file_name
        if not entry.is_file():
            return None
        name = f"snapshot {room}/{folder_name(repo)}/{file_name}"
        fields = Fields(read_object(entry.read_bytes(), name), name)
        if (schema := fields.integer("schema", least=1)) != SCHEMA:
            raise fields.bad("schema", f"is {schema}; this program reads {SCHEMA}")
        return fields


def folder_name(repo: str) -> str:
    """``owner/name`` as one path component. Raises UsageError for what is no repository id."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", repo):
        raise UsageError(f"{repo[:80]!r} is not a repository id", "write owner/name")
    return repo.replace("/", "__")


def snapshot_time(retrieved: str) -> datetime:
    """A snapshot's date as a time, at its first day when only the month is known."""
    day = retrieved if len(retrieved) > len("2026-10") else f"{retrieved}-01"
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


def _text(fields: Fields, key: str) -> str | None:
    value = fields.values.get(key)
    if value is not None and not isinstance(value, str):
        raise fields.bad(key, "is not a string")
    return value


def _date(fields: Fields) -> str:
    value = _text(fields, "retrieved") or ""
    if not _DATE.match(value):
        raise fields.bad("retrieved", f"is {value[:40]!r}, not a date like 2026-10 or 2026-10-31")
    return value


def _items(fields: Fields, key: str) -> list[Fields]:
    value = fields.values.get(key) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
        raise fields.bad(key, "is not a list of objects")
    return [Fields(item, fields.name, f"{key}.") for item in value if isinstance(item, Mapping)]


def _shapes(fields: Fields) -> Mapping[str, tuple[int, ...]] | None:
    if "tensors" not in fields:
        return None
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in fields.section("tensors").values.items():
        if not isinstance(shape, list) or not all(type(size) is int for size in shape):
            raise fields.bad("tensors", f"has no shape for {name[:80]!r}")
        shapes[name] = tuple(size for size in shape if isinstance(size, int))
    return shapes
