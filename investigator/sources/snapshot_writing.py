"""Turn what the live sources gave into snapshots: facts, and never a line of anybody's code.

What only a person can say (a pull request's effect, what it repairs, how it relates; a
drafter's target when its card is silent) is carried over from the snapshot that is replaced.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

from investigator.errors import SourceError, UsageError
from investigator.model import Json, Origin, Source
from investigator.sources.github import FetchedPullRequest
from investigator.sources.hub import FetchedModel
from investigator.sources.snapshots import (
    SCHEMA,
    HubSnapshot,
    PullRequestSnapshot,
    folder_name,
)
from investigator.sources.text_tree import pretty_json


def hub_record(model: FetchedModel, before: HubSnapshot | None, day: date) -> Mapping[str, Json]:
    """The snapshot of a model repository. Raises SourceError for one that did not come live."""
    source = model.tree.source
    _check_live(source, model.notes)
    return {
        "schema": SCHEMA,
        "kind": "hub-model",
        "repo": source.name,
        "revision": source.revision,
        "retrieved": day.isoformat(),
        "complete": True,
        "inferred": [],
        "gated": model.gated,
        "target": model.target,
        "card": {**(before.card if before else {}), **model.card},
        "note": "recorded from the Hub",
        "tensors": _shapes(model.config.tensors),
        "config": model.config.raw,
    }


def pull_request_record(
    item: FetchedPullRequest, before: PullRequestSnapshot | None, day: date
) -> Mapping[str, Json]:
    """The snapshot of a pull request. Raises SourceError for one that did not come live."""
    _check_live(item.tree.source, item.notes)
    facts = item.facts
    return {
        "schema": SCHEMA,
        "kind": "github-pull-request",
        "repo": item.ref.repo,
        "number": item.ref.number,
        "title": facts.title,
        "state": facts.state,
        "retrieved": day.isoformat(),
        "merged_at": facts.merged_at.isoformat() if facts.merged_at else None,
        "head": facts.head,
        "effect": before.effect if before else "",
        "relations": [{"kind": kind, "ref": ref} for kind, ref in before.relations] if before else [],
        "repairs": list(before.repairs) if before else [],
        "note": "; ".join(item.notes),
        "files_complete": facts.files_complete,
        "files": [
            {"path": file.path, "additions": file.additions, "deletions": file.deletions}
            for file in facts.files
        ],
    }


def write_record(record: Mapping[str, Json], folder: Path) -> Path:
    """Write a snapshot where :class:`~investigator.sources.snapshots.Snapshots` looks for it.

    Raises UsageError when the folder cannot be written.
    """
    repo = str(record["repo"])
    if record["kind"] == "hub-model":
        place = folder / "hub" / folder_name(repo) / "snapshot.json"
    else:
        place = folder / "github" / folder_name(repo) / f"{record['number']}.json"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_suffix(".part")
        part.write_text(pretty_json(record) + "\n", encoding="utf-8")
        part.replace(place)
    except OSError as error:
        raise UsageError(
            f"cannot write {place}: {error.strerror}", "name another folder with --out"
        ) from error
    return place


def _check_live(source: Source, notes: tuple[str, ...]) -> None:
    """What is kept or recorded must not become a record of today."""
    if source.origin is not Origin.LIVE:
        why = notes[0] if notes else f"{source.name} came from {source.origin.value}"
        raise SourceError(why, "a snapshot is made of what is live")


def _shapes(tensors: Mapping[str, tuple[int, ...]] | None) -> Json:
    return None if tensors is None else {name: list(shape) for name, shape in tensors.items()}
