"""Answers that are kept: asked again only when a file they rest on has changed.

An answer is a function of the question, the checkpoint, the engine's variables, this
program's own reading code, and the files that were looked at. The first four make the key;
the files and their hashes are kept beside the answer. So the second investigation of a
release reads no code, and in a timeline an answer carries over from one release to the next
wherever none of its files changed.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Protocol

import investigator
from investigator.checkpoint import Checkpoint
from investigator.code.program import EVERYTHING, fingerprint, python_files
from investigator.code.syntax import Place
from investigator.engines.interface import RunnerChoice, Step, Told
from investigator.model import Json, Known, NotKnown, Outcome, Refused, Runner, Unsupported
from investigator.sources.interface import Tree

MOST_ENTRIES = 64
"""Answers kept to one question: one per distinct set of files."""
READING_ROOMS = ("code", "engines", "contracts", "references")


class Records(Protocol):
    """Where answers are kept (the store)."""

    def record(self, kind: str, key: str) -> Json | None:
        """The record of a kind under a key."""
        ...

    def keep(self, kind: str, key: str, record: Json) -> None:
        """Keep a record."""
        ...


class NoRecords:
    """Keeps nothing: every question is asked afresh."""

    def record(self, kind: str, key: str) -> Json | None:
        """Nothing."""
        return None

    def keep(self, kind: str, key: str, record: Json) -> None:
        """Dropped."""


def told(
    records: Records,
    tree: Tree,
    checkpoint: Checkpoint,
    question: str,
    environment: Mapping[str, str],
    ask: Callable[[], tuple[Told, Mapping[str, str]]],
) -> Told:
    """The kept answer to ``question`` where its files are unchanged; else ``ask()`` and keep it.

    ``ask`` gives the answer and the files it rests on (path -> sha256, "" for absent).
    """
    key = _key(checkpoint, question, environment)
    entries = _entries(records.record("answers", key))
    present = frozenset(tree.paths()) if entries else frozenset()
    for entry in entries:
        files = entry["files"]
        assert isinstance(files, Mapping)
        if all(_unchanged(tree, present, path, str(digest)) for path, digest in files.items()):
            return _told(entry["told"])
    answer, files = ask()
    kept: list[Json] = [{"files": dict(files), "told": _json(answer)}, *entries]
    records.keep("answers", key, kept[:MOST_ENTRIES])
    return answer


def as_told(choice: RunnerChoice) -> Told:
    """A runner choice in the shape in which answers are kept."""
    return Told(
        outcome=Known(choice.runner.value if choice.runner else None), steps=choice.steps, note=choice.why
    )


def as_choice(answer: Told) -> RunnerChoice:
    """The runner choice that ``as_told`` was given."""
    value = answer.outcome.value if isinstance(answer.outcome, Known) else None
    return RunnerChoice(
        runner=Runner(value) if isinstance(value, str) else None, why=answer.note, steps=answer.steps
    )


@cache
def reading_code() -> str:
    """One hash over the modules that decide answers."""
    digest = hashlib.sha256(investigator.__version__.encode())
    root = Path(investigator.__file__).parent
    for room in READING_ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _key(checkpoint: Checkpoint, question: str, environment: Mapping[str, str]) -> str:
    facts = json.dumps([asdict(checkpoint), dict(environment)], sort_keys=True, default=str)
    return hashlib.sha256(f"{reading_code()}\0{question}\0{facts}".encode()).hexdigest()


def _unchanged(tree: Tree, present: frozenset[str], path: str, digest: str) -> bool:
    if path == EVERYTHING:
        return fingerprint(tree, python_files(present)) == digest
    return tree.digest(path) == digest if path in present else digest == ""


def _entries(record: Json | None) -> list[Mapping[str, Json]]:
    if not isinstance(record, list):
        return []
    return [
        e for e in record if isinstance(e, Mapping) and isinstance(e.get("files"), Mapping) and "told" in e
    ]


# -- answers as JSON -------------------------------------------------------------------

_OUTCOMES: dict[str, tuple[type, str]] = {
    "known": (Known, "value"),
    "refused": (Refused, "error"),
    "unsupported": (Unsupported, "reason"),
    "not-known": (NotKnown, "reason"),
}


def _json(answer: Told) -> Json:
    kind, name = next(
        (kind, name) for kind, (cls, name) in _OUTCOMES.items() if isinstance(answer.outcome, cls)
    )
    return {
        "outcome": {kind: getattr(answer.outcome, name)},
        "steps": [[s.place.path, s.place.line, s.place.end_line, s.role] for s in answer.steps],
        "assumptions": list(answer.assumptions),
        "note": answer.note,
        "live": answer.live,
    }


def _told(record: Json) -> Told:
    assert isinstance(record, Mapping)
    outcome = record["outcome"]
    assert isinstance(outcome, Mapping)
    ((kind, value),) = outcome.items()
    cls = _OUTCOMES[kind][0]
    made: Outcome = cls(value)
    live = record["live"]
    return Told(
        outcome=made,
        steps=tuple(_steps(record["steps"])),
        assumptions=tuple(str(a) for a in _list(record["assumptions"])),
        note=str(record["note"]),
        live=live if isinstance(live, bool) else None,
    )


def _steps(record: Json) -> Iterator[Step]:
    for row in _list(record):
        path, line, end_line, role = _list(row)
        assert isinstance(line, int)
        assert isinstance(end_line, int)
        yield Step(Place(str(path), line, end_line), str(role))


def _list(value: Json) -> list[Json]:
    assert isinstance(value, list | tuple)
    return list(value)
