"""Facts about a reference that were written down, for when it cannot be reached."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from investigator.checkpoint import Checkpoint
from investigator.code.syntax import Place
from investigator.engines.interface import Step, Told
from investigator.errors import IntegrityError, what_is_wrong
from investigator.model import Json, Known, NotKnown, Origin, Outcome, Source, SourceKind
from investigator.sources.git_remote import permalink
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
            permalink=permalink(
                str(record["reference"]).replace("github:", "https://github.com/", 1), str(record["revision"])
            ),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(
            f"the record {name} is not readable: {what_is_wrong(error)}", "reinstall investigate"
        ) from None
    return RecordedReference(facts, TextTree(source, {FILE: text}))


def recorded_answer(reference: RecordedReference, contract: str, checkpoint: Checkpoint) -> Told | None:
    """A contract's answer by the recorded facts; None where they say nothing about it."""
    found = _BY_CONTRACT.get(contract)
    if found is None:
        return None
    name, answer = found
    outcome = answer(_fact(reference, name), checkpoint)
    if isinstance(outcome, Known):
        return _told(reference, name, outcome.value)
    return Told(outcome=outcome) if outcome is not None else None


def _offset(value: Json, checkpoint: Checkpoint) -> Outcome | None:
    ids = checkpoint.target_layer_ids
    if ids is None:
        return NotKnown("the checkpoint names no target layer ids")
    return Known([k + value for k in ids]) if isinstance(value, int) else None


def _windows(value: Json, checkpoint: Checkpoint) -> Outcome | None:
    if value is not True:
        return None
    if checkpoint.windows is None:
        return NotKnown("the checkpoint does not say how its layers attend")
    return Known(list(checkpoint.windows))


def _behind(value: Json, checkpoint: Checkpoint) -> Outcome | None:
    outcome = _windows(value, checkpoint)
    if isinstance(outcome, Known) and checkpoint.windows is not None:
        return Known([None if window is None else window - 1 for window in checkpoint.windows])
    return outcome


def _causal(value: Json, checkpoint: Checkpoint) -> Outcome | None:
    return Known([value] * checkpoint.num_draft_layers) if isinstance(value, bool) else None


def _no_drop(value: Json, checkpoint: Checkpoint) -> Outcome | None:  # noqa: ARG001
    return Known([]) if value is True else None


def _block(value: Json, checkpoint: Checkpoint) -> Outcome | None:
    if value is not True:
        return None
    if checkpoint.block_size is None:
        return NotKnown("the checkpoint names no block size")
    return Known(checkpoint.block_size)


def _head(value: Json, checkpoint: Checkpoint) -> Outcome | None:  # noqa: ARG001
    return Known("target") if value is True else None


def _rotation(value: Json, checkpoint: Checkpoint) -> Outcome | None:
    return Known({"layout": value, "theta": checkpoint.draft.rope_theta}) if isinstance(value, str) else None


_BY_CONTRACT: dict[str, tuple[str, Callable[[Json, Checkpoint], Outcome | None]]] = {
    "target-layer-offset": ("layer_id_offset", _offset),
    "target-capture": ("layer_id_offset", _offset),
    "layer-types": ("window_per_layer", _windows),
    "kv-retention": ("window_per_layer", _behind),
    "in-block-causality": ("causal", _causal),
    "cache-drop": ("context_from_target", _no_drop),
    "lookahead": ("whole_block", _block),
    "head-sharing": ("target_head", _head),
    "rope": ("rotation", _rotation),
}
"""Contract -> the fact that answers it, and how."""


def _fact(reference: RecordedReference, name: str) -> Json:
    return reference.facts.get(name, {}).get("value")


def _told(reference: RecordedReference, name: str, value: Json) -> Told:
    """The answer, resting on the record's own line."""
    lines = reference.tree.read(FILE).decode("utf-8", "replace").splitlines()
    number = next(i for i, line in enumerate(lines, 1) if f'"{name}"' in line)
    fact = reference.facts[name]
    step = Step(Place(FILE, number, number), str(fact.get("what", "")), str(fact.get("place", "")))
    return Told(outcome=Known(value), steps=(step,))
