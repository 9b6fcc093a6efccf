"""Patches that are kept with their proofs, for as long as everything they rest on is the same.

Making a patch and proving it is a function of the findings, of the engine's files that were
looked at on the way, and of this program. What was proven on these very bytes stays proven.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from investigator.conduct import Repairs
from investigator.engines.remembered import READING_ROOMS, Records, code_of
from investigator.model import Json, NotChecked, Patch, PatchProof, Remedy, RemedyKind
from investigator.sources.interface import Tree
from investigator.sources.watched_tree import WatchedTree, is_as_seen

KIND = "repairs"
ROOMS = (*READING_ROOMS, "patches", "remedies.py", "repairing.py", "synthesizer.py")
"""The modules that decide patches and their proofs."""


def kept(records: Records, tree: Tree, facts: str, make: Callable[[Tree], Repairs]) -> Repairs:
    """The repairs that were kept under ``facts`` where ``tree`` is as it was then; else ``make(tree)``.

    ``facts`` names everything but the tree that the repairs depend on. Where git refused or
    failed, nothing is kept: that may be another matter the next time.
    """
    key = hashlib.sha256(f"{code_of(*ROOMS)}\0{facts}".encode()).hexdigest()
    found = _read(records.record(KIND, key), tree)
    if found is not None:
        return found
    watched = WatchedTree(tree)
    made = make(watched)
    if all("git" not in item.why for item in made.not_checked):
        seen: dict[str, Json] = dict(watched.seen)
        records.keep(KIND, key, {"seen": seen, "repairs": _json(made)})
    return made


def _json(made: Repairs) -> Json:
    return {
        "patches": [asdict(patch) for patch in made.patches],
        "not_checked": [asdict(item) for item in made.not_checked],
        "proofs": dict(made.proofs),
        "settings": {
            question: [asdict(remedy) for remedy in found] for question, found in made.settings.items()
        },
        "detours": [dict(detour) for detour in made.detours],
    }


def _read(record: Json | None, tree: Tree) -> Repairs | None:
    """The repairs in a record; None where it is none, or of another tree."""
    try:
        value: Any = record
        seen, rows = value["seen"], value["repairs"]
        assert isinstance(seen, Mapping)
        if not is_as_seen(tree, seen):
            return None
        return Repairs(
            patches=tuple(_patch(row) for row in rows["patches"]),
            not_checked=tuple(NotChecked(**row) for row in rows["not_checked"]),
            proofs=rows["proofs"],
            settings={
                question: tuple(_remedy(row) for row in found) for question, found in rows["settings"].items()
            },
            detours=tuple(rows["detours"]),
        )
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError):
        return None


def _patch(row: Mapping[str, Any]) -> Patch:
    proof = PatchProof(**_tupled(row["proof"]))
    return Patch(**{**_tupled(row), "proof": proof})


def _remedy(row: Mapping[str, Any]) -> Remedy:
    return Remedy(**{**row, "kind": RemedyKind(row["kind"])})


def _tupled(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
