"""A model as it was fetched: its config, the tree to quote from, and what to tell the user."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from investigator.case import RepoSpec
from investigator.checkpoint import ModelConfig
from investigator.checkpoints import model_config, read_object
from investigator.checkpoints.strict_json import MAX_BYTES
from investigator.errors import InvestigateError, LimitError, SourceError, UsageError
from investigator.model import Json, Origin, Source, SourceKind
from investigator.sources.folder import read_regular, user_path
from investigator.sources.interface import Tree
from investigator.sources.safetensors_header import read_local_header
from investigator.sources.snapshots import REVISION_PREFIX, HubSnapshot, snapshot_time
from investigator.sources.text_tree import TextTree, pretty_json

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
REFORMATTED = "config.reformatted.json"
"""A config whose lines are too long to quote, written with short ones here; the same values."""
LONGEST_LINE = 400
MAX_MODELING_FILES = 20
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


def from_hub(
    model: HubModel,
    spec: RepoSpec,
    source_id: str,
    *,
    recorded: HubSnapshot | None = None,
    note: str = "",
) -> FetchedModel:
    """What the Hub or its cache gave. Raises UsageError for a config that is none.

    ``recorded`` knows which target a drafter was trained for where its card does not say.
    """
    raw = read_object(model.files[CONFIG], f"{CONFIG} of {model.repo}")
    files = dict(model.files)
    if model.tensors is not None:
        files[SHAPES] = _shapes_text(model.tensors)
    config_path = _quotable(files, CONFIG, raw)
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
        config_path=config_path,
        target=target or (recorded.target if recorded else None),
        gated=model.gated,
        card=model.card,
        notes=tuple(filter(None, (note, *renamed, *model.notes))),
    )


def from_snapshot(snapshot: HubSnapshot, source_id: str, note: str) -> FetchedModel:
    """What was recorded; ``note`` says why it is used."""
    revision = snapshot.revision or f"{REVISION_PREFIX}{snapshot.retrieved}"
    files = {CONFIG: (pretty_json(snapshot.config) + "\n").encode()}
    if snapshot.tensors is not None:
        files[SHAPES] = _shapes_text(snapshot.tensors)
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


def from_path(path: Path, name: str, source_id: str) -> FetchedModel:
    """A ``config.json``, or the folder that holds one and perhaps modeling files and weights.

    Raises UsageError for what cannot be read or is no config, LimitError for a huge one.
    """
    path = user_path(path)
    file = path / CONFIG if path.is_dir() else path
    try:
        data = read_regular(file, str(file), MAX_BYTES)
    except SourceError as error:
        raise UsageError(str(error), "name a config.json or the folder that holds it") from error
    modeling = sorted(file.parent.glob("*.py"))[:MAX_MODELING_FILES] if path.is_dir() else []
    files: dict[str, bytes] = {}
    for item in modeling:
        with suppress(SourceError, LimitError):
            files[item.name] = read_regular(item, item.name, MAX_BYTES)
    raw = read_object(data, str(file))
    tensors, notes = _local_shapes(file.parent / WEIGHTS) if path.is_dir() else (None, ())
    if tensors is not None:
        files[SHAPES] = _shapes_text(tensors)
    files[file.name] = data
    config_path = _quotable(files, file.name, raw)
    source = Source(
        id=source_id,
        kind=SourceKind.FOLDER,
        name=name,
        revision="local",
        origin=Origin.LOCAL,
        retrieved_at=datetime.now(UTC),
    )
    return FetchedModel(
        config=model_config(raw, repo=name, revision="local", source=source_id, tensors=tensors),
        tree=TextTree(source, files),
        config_path=config_path,
        notes=notes,
    )


def _quotable(files: dict[str, bytes], path: str, raw: Mapping[str, Json]) -> str:
    """Where the config's lines can be quoted: the file itself, or a copy with shorter lines."""
    if max(map(len, files[path].split(b"\n"))) <= LONGEST_LINE:
        return path
    files[REFORMATTED] = (pretty_json(raw) + "\n").encode()
    return REFORMATTED


def _local_shapes(weights: Path) -> tuple[Mapping[str, tuple[int, ...]] | None, tuple[str, ...]]:
    if not weights.is_file():
        return None, ()
    try:
        return read_local_header(weights), ()
    except (InvestigateError, OSError) as error:
        return None, (f"the shapes in {weights} were not read: {error}",)


def _shapes_text(tensors: Mapping[str, tuple[int, ...]]) -> bytes:
    return (pretty_json({name: list(shape) for name, shape in tensors.items()}) + "\n").encode()
