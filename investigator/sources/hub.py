"""Where a model's config comes from: the Hub, a local folder, the Hub's cache, or a snapshot.

The order for ``owner/name``: the Hub itself, unless the run is offline; else the copy that
huggingface_hub keeps on this machine; else the snapshot. Which one it was stands in the
source's ``origin``, and why it was not the Hub in ``notes``. A revision that was asked for is
never replaced by another.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from investigator.case import RepoSpec
from investigator.checkpoint import ModelConfig
from investigator.checkpoints import model_config, read_object
from investigator.checkpoints.strict_json import MAX_BYTES
from investigator.errors import (
    InvestigateError,
    LimitError,
    NotFoundError,
    OfflineError,
    SourceError,
    UsageError,
)
from investigator.model import Origin, Source, SourceKind
from investigator.sources.interface import Tree
from investigator.sources.snapshots import REVISION_PREFIX, HubSnapshot, Snapshots, snapshot_time
from investigator.sources.text_tree import TextTree, pretty_json

_COMMIT = re.compile(r"[0-9a-f]{40}")

CONFIG = "config.json"
SHAPES = "safetensors-header.json"
"""The tree's file with each tensor's shape; written here, the weights are never read."""


@dataclass(frozen=True, kw_only=True)
class HubModel:
    """What the Hub, or its cache on this machine, gave for one repository.

    ``repo``: its name now, which differs from the one asked for when it was renamed.
    ``revision``: the commit. ``files``: ``config.json`` and modeling files, as they are.
    ``base_models``: what the card says it was made for. ``tensors``: None when not read.
    """

    repo: str
    revision: str
    files: Mapping[str, bytes]
    origin: Origin
    gated: str | None = None
    base_models: tuple[str, ...] = ()
    card: Mapping[str, str] = field(default_factory=dict)
    tensors: Mapping[str, tuple[int, ...]] | None = None
    notes: tuple[str, ...] = ()


class HubClient(Protocol):
    """Talks to the Hub; the real one is :class:`investigator.sources.hub_client.LiveHub`."""

    def fetch(self, repo: str, revision: str | None, *, shapes: bool = False) -> HubModel:
        """The repository as it is now, with its tensors' shapes if asked.

        Raises NotFoundError, SourceError or LimitError.
        """
        ...

    def cached(self, repo: str, revision: str | None) -> HubModel | None:
        """What is kept on this machine from an earlier fetch; opens no socket."""
        ...


@dataclass(frozen=True, kw_only=True)
class FetchedModel:
    """A model's config, the tree that quotes are read from, and what to tell the user.

    ``config_path``: the config's path in the tree. ``target``: the model that a drafter's
    card or snapshot names. ``not_live``: why it did not come from the Hub and what to do,
    empty when it did or was not meant to. ``notes``: one line each.
    """

    config: ModelConfig
    tree: Tree
    config_path: str = CONFIG
    target: str | None = None
    gated: str | None = None
    card: Mapping[str, str] = field(default_factory=dict)
    not_live: str = ""
    notes: tuple[str, ...] = ()


class HubSource:
    """Fetches configs. ``client`` None: no Hub and no cache, only files and snapshots."""

    def __init__(
        self,
        *,
        offline: bool = False,
        client: HubClient | None = None,
        snapshots: Snapshots | None = None,
    ) -> None:
        self._offline = offline
        self._client = client
        self._snapshots = snapshots or Snapshots()

    def fetch(self, spec: RepoSpec, source_id: str, *, shapes: bool = False) -> FetchedModel:
        """The model that ``spec`` names; blocking. ``source_id`` is what evidence will carry.

        ``shapes``: read the header of the weights too, where the Hub serves it.

        Raises UsageError for a config that is not one, NotFoundError, OfflineError or
        SourceError when there is neither a live answer nor a stored one.
        """
        if spec.path is not None:
            return _from_path(Path(spec.path), spec.id, source_id)
        if spec.revision is not None and spec.revision.startswith(REVISION_PREFIX):
            return self._pinned_snapshot(spec.id, spec.revision, source_id)
        if not shapes and _COMMIT.fullmatch(spec.revision or "") and (here := self._cached(spec)):
            return _from_hub(here, spec, source_id)
        try:
            model = self._live(spec, shapes)
        except (SourceError, LimitError) as error:
            return self._kept(spec, source_id, error)
        return _from_hub(model, spec, source_id, recorded=self._snapshots.hub(spec.id))

    def _cached(self, spec: RepoSpec) -> HubModel | None:
        return self._client.cached(spec.id, spec.revision) if self._client is not None else None

    def _live(self, spec: RepoSpec, shapes: bool) -> HubModel:
        if self._offline or self._client is None:
            raise OfflineError(
                f"{spec.id} would have to be fetched from the Hub, and this run is offline",
                "run it once without --offline, or use path:DIR with a config.json that you have",
            )
        return self._client.fetch(spec.id, spec.revision, shapes=shapes)

    def _kept(self, spec: RepoSpec, source_id: str, why: SourceError | LimitError) -> FetchedModel:
        """What this machine has of a repository that could not be fetched because of ``why``."""
        reason = "this run is offline" if isinstance(why, OfflineError) else str(why)
        snapshot = self._snapshots.hub(spec.id)
        if (here := self._cached(spec)) is not None:
            note = f"{reason}; the Hub's cache here was used"
            kept = _from_hub(here, spec, source_id, recorded=snapshot, note=note)
            return replace(kept, not_live=with_advice(why))
        if snapshot is None:
            raise why
        if spec.revision not in (None, snapshot.revision):
            held = snapshot.revision or "a revision that was not recorded"
            raise SourceError(
                f"{why}; the snapshot of {snapshot.retrieved} is of {held}, not of {spec.revision}",
                f"{why.advice}; or name {spec.id} without a revision to take the snapshot",
            ) from why
        found = _from_snapshot(snapshot, source_id, note=f"{reason}; the snapshot was used")
        return replace(found, not_live=with_advice(why))

    def _pinned_snapshot(self, repo: str, revision: str, source_id: str) -> FetchedModel:
        snapshot = self._snapshots.hub(repo)
        if snapshot is None:
            known = ", ".join(self._snapshots.hub_repos())
            raise NotFoundError(f"there is no snapshot of {repo}", f"there are snapshots of {known}")
        if revision != f"{REVISION_PREFIX}{snapshot.retrieved}":
            raise NotFoundError(
                f"there is no snapshot {revision} of {repo}",
                f"there is {REVISION_PREFIX}{snapshot.retrieved}",
            )
        return _from_snapshot(snapshot, source_id, note="the snapshot was asked for")


def with_advice(error: InvestigateError) -> str:
    """An error and what to do about it, in one line."""
    return f"{error} ({error.advice})" if error.advice else str(error)


def _from_hub(
    model: HubModel,
    spec: RepoSpec,
    source_id: str,
    *,
    recorded: HubSnapshot | None = None,
    note: str = "",
) -> FetchedModel:
    """``recorded`` knows which target a drafter was trained for where its card does not say."""
    raw = read_object(model.files[CONFIG], f"{CONFIG} of {model.repo}")
    files = dict(model.files)
    if model.tensors is not None:
        shapes = {name: list(shape) for name, shape in model.tensors.items()}
        files[SHAPES] = (pretty_json(shapes) + "\n").encode()
    target = model.base_models[0] if len(model.base_models) == 1 else None
    renamed = (f"{spec.id} is called {model.repo} now",) if model.repo != spec.id else ()
    source = Source(
        id=source_id,
        kind=SourceKind.HUB,
        name=model.repo,
        revision=model.revision,
        origin=model.origin,
        retrieved_at=datetime.now(UTC),
        permalink=f"https://huggingface.co/{model.repo}/blob/{model.revision}/{{path}}#L{{line}}",
        note=note or None,
    )
    return FetchedModel(
        config=model_config(
            raw, repo=model.repo, revision=model.revision, source=source_id, tensors=model.tensors
        ),
        tree=TextTree(source, files),
        target=target or (recorded.target if recorded else None),
        gated=model.gated,
        card=model.card,
        notes=tuple(filter(None, (note, *renamed, *model.notes))),
    )


def _from_snapshot(snapshot: HubSnapshot, source_id: str, note: str) -> FetchedModel:
    revision = snapshot.revision or f"{REVISION_PREFIX}{snapshot.retrieved}"
    files = {CONFIG: (pretty_json(snapshot.config) + "\n").encode()}
    if snapshot.tensors is not None:
        shapes = {name: list(shape) for name, shape in snapshot.tensors.items()}
        files[SHAPES] = (pretty_json(shapes) + "\n").encode()
    told = [f"{snapshot.repo}: snapshot of {snapshot.retrieved}: {note}"]
    if not snapshot.complete:
        told.append(f"{snapshot.repo}: the snapshot holds only some of the file's keys")
    if snapshot.inferred:
        told.append(f"{snapshot.repo}: inferred, not read: {', '.join(snapshot.inferred)}")
    source = Source(
        id=source_id,
        kind=SourceKind.HUB,
        name=snapshot.repo,
        revision=revision,
        origin=Origin.SNAPSHOT,
        retrieved_at=snapshot_time(snapshot.retrieved),
        note=f"snapshot of {snapshot.retrieved}: {'; '.join(filter(None, (note, snapshot.note)))}",
    )
    return FetchedModel(
        config=model_config(
            snapshot.config,
            repo=snapshot.repo,
            revision=revision,
            source=source_id,
            complete=snapshot.complete,
            tensors=snapshot.tensors,
        ),
        tree=TextTree(source, files),
        target=snapshot.target,
        gated=snapshot.gated,
        card=snapshot.card,
        notes=tuple(told),
    )


def _from_path(path: Path, name: str, source_id: str) -> FetchedModel:
    """A ``config.json``, or the folder that holds one and perhaps modeling files."""
    file = path / CONFIG if path.is_dir() else path
    try:
        if file.stat().st_size > MAX_BYTES:
            raise LimitError(f"{file} is larger than {MAX_BYTES:,} bytes", "it is not a config.json")
        data = file.read_bytes()
        modeling = sorted(file.parent.glob("*.py")) if path.is_dir() else []
        files = {item.name: item.read_bytes() for item in modeling if item.stat().st_size <= MAX_BYTES}
    except OSError as error:
        raise UsageError(
            f"cannot read {file}: {error.strerror}", "name a config.json or the folder that holds it"
        ) from error
    raw = read_object(data, str(file))
    source = Source(
        id=source_id,
        kind=SourceKind.FOLDER,
        name=name,
        revision="local",
        origin=Origin.LOCAL,
        retrieved_at=datetime.now(UTC),
    )
    return FetchedModel(
        config=model_config(raw, repo=name, revision="local", source=source_id),
        tree=TextTree(source, {**files, file.name: data}),
        config_path=file.name,
    )
