"""Facts about a reference that were written down, for when it cannot be reached."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from investigator.checkpoint import Checkpoint
from investigator.code.syntax import Place
from investigator.engines.interface import Step, Told
from investigator.errors import IntegrityError
from investigator.model import Json, Known, NotKnown, Origin, Source, SourceKind
from investigator.sources.interface import Tree
from investigator.sources.text_tree import TextTree

FILE = "snapshot.json"


@dataclass(frozen=True)
class RecordedReference:
    """One reference's facts. ``tree`` holds the record itself, so that its lines can be quoted."""

    facts: Mapping[str, Mapping[str, Json]]
    tree: Tree


def read_recorded(text: bytes, name: str) -> RecordedReference:
    """Read one record. Raises IntegrityError."""
    try:
        record = json.loads(text)
        facts = {key: dict(value) for key, value in record["facts"].items()}
        source = Source(
            id=str(record["reference"]).rpartition("/")[2],
            kind=SourceKind.GIT,
            name=str(record["reference"]),
            revision=str(record["revision"]),
            origin=Origin.SNAPSHOT,
            retrieved_at=datetime.fromisoformat(record["retrieved"]).replace(tzinfo=UTC),
            note=str(record["note"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(f"the record {name} is not readable: {error}", "reinstall investigate") from None
    return RecordedReference(facts, TextTree(source, {FILE: text}))


def recorded_answer(reference: RecordedReference, contract: str, checkpoint: Checkpoint) -> Told | None:
    """A contract's answer by the recorded facts; None where they say nothing about it."""
    match contract:
        case "target-layer-offset" | "target-capture":
            ids = checkpoint.target_layer_ids
            offset = _fact(reference, "layer_id_offset")
            if ids is None:
                return Told(outcome=NotKnown("the checkpoint names no target layer ids"))
            if not isinstance(offset, int):
                return None
            return _told(reference, "layer_id_offset", [k + offset for k in ids])
        case "layer-types":
            if _fact(reference, "window_per_layer") is not True:
                return None
            if checkpoint.windows is None:
                return Told(outcome=NotKnown("the checkpoint does not say how its layers attend"))
            return _told(reference, "window_per_layer", list(checkpoint.windows))
        case "in-block-causality":
            causal = _fact(reference, "causal")
            if not isinstance(causal, bool):
                return None
            return _told(reference, "causal", [causal] * checkpoint.num_draft_layers)
        case "cache-drop":
            if _fact(reference, "context_from_target") is not True:
                return None
            return _told(reference, "context_from_target", [])
        case "lookahead":
            if _fact(reference, "whole_block") is not True:
                return None
            if checkpoint.block_size is None:
                return Told(outcome=NotKnown("the checkpoint names no block size"))
            return _told(reference, "whole_block", checkpoint.block_size)
        case _:
            return None


def _fact(reference: RecordedReference, name: str) -> Json:
    return reference.facts.get(name, {}).get("value")


def _told(reference: RecordedReference, name: str, value: Json) -> Told:
    """The answer, resting on the record's own line."""
    lines = reference.tree.read(FILE).decode("utf-8", "replace").splitlines()
    number = next(i for i, line in enumerate(lines, 1) if f'"{name}"' in line)
    place = reference.facts[name].get("place")
    return Told(outcome=Known(value), steps=(Step(Place(FILE, number, number), f"recorded from {place}"),))
