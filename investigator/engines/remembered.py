"""Answers that are kept: asked again only when a file they rest on has changed.

An answer is a function of the question, the checkpoint, the engine's variables, this
program's own reading code, and the files that were looked at. The first four make the key;
the files and their hashes are kept beside the answer. So the second investigation of a
release reads no code, and in a timeline an answer carries over from one release to the next
wherever none of its files changed.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Protocol

import investigator
from investigator.checkpoint import Checkpoint
from investigator.code.contents import Contents
from investigator.code.syntax import Place
from investigator.engines.deployment import Deployment
from investigator.engines.interface import RunnerChoice, Step, Told
from investigator.model import Json, Known, NotKnown, Outcome, Refused, Runner, Unsupported
from investigator.sources.interface import Tree

MOST_ENTRIES = 64
"""Answers kept to one question: one per distinct set of files."""
READING_ROOMS = ("code", "engines", "contracts", "references", "methods.py")
"""The modules that decide answers."""


class Records(Protocol):
    """Where answers are kept (the store)."""

    def record(self, kind: str, key: str) -> Json | None:
        """The record of a kind under a key."""
        ...

    def keep(self, kind: str, key: str, record: Json) -> None:
        """Keep a record."""
        ...


class Memory:
    """The kept answers about one checkpoint in a deployment with given settings; shared by threads.

    Each question's record is read once and written whole, with what other trees added to it in
    the meantime; another process that writes the same record at the same moment may cost an
    answer, which is then asked for again.
    """

    def __init__(self, records: Records, checkpoint: Checkpoint, deployment: Deployment) -> None:
        self.checkpoint = checkpoint
        self.deployment = deployment
        self._records = records
        facts = json.dumps([asdict(checkpoint), dict(deployment)], sort_keys=True, default=str)
        self._facts = f"{code_of(*READING_ROOMS)}\0{facts}"
        self._entries: dict[str, list[Mapping[str, Json]]] = {}
        self._lock = threading.Lock()

    def of(self, tree: Tree) -> "TreeMemory":
        """What is remembered of one tree."""
        return TreeMemory(self, tree)

    def entries(self, question: str) -> Sequence[Mapping[str, Json]]:
        """Every kept answer to a question: its ``files``, the facts it rests on, and what was ``told``."""
        with self._lock:
            return self._read(question)

    def keep(self, question: str, entry: Mapping[str, Json]) -> None:
        """Keep one more answer to a question, the newest first."""
        with self._lock:
            entries = [entry, *self._read(question)][:MOST_ENTRIES]
            self._entries[question] = entries
            self._records.keep("answers", self._key(question), list(entries))

    def _read(self, question: str) -> list[Mapping[str, Json]]:
        if question not in self._entries:
            self._entries[question] = _entries(self._records.record("answers", self._key(question)))
        return self._entries[question]

    def _key(self, question: str) -> str:
        return hashlib.sha256(f"{self._facts}\0{question}".encode()).hexdigest()


class TreeMemory:
    """The kept answers of one tree: those whose files are the same there."""

    def __init__(self, memory: Memory, tree: Tree) -> None:
        self._memory = memory
        self._contents = Contents(tree)

    def told(self, question: str, ask: Callable[[], tuple[Told, Mapping[str, str]]]) -> Told:
        """The kept answer to ``question`` where its files are unchanged; else ``ask()``, kept.

        ``ask`` gives the answer and the facts that it rests on.
        """
        for entry in self._memory.entries(question):
            files = entry["files"]
            assert isinstance(files, Mapping)
            if self._contents.hold({name: str(value) for name, value in files.items()}):
                return _told(entry["told"])
        answer, rests_on = ask()
        self._memory.keep(question, {"files": dict(rests_on), "told": _json(answer)})
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
def code_of(*rooms: str) -> str:
    """One hash over this program's modules below these folders, or of these files."""
    digest = hashlib.sha256(investigator.__version__.encode())
    root = Path(investigator.__file__).parent
    for room in rooms:
        for path in sorted((root / room).rglob("*.py")) or [root / room]:
            digest.update(path.read_bytes())
    return digest.hexdigest()


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
