"""Show that a patch holds: try it with git, parse what it leaves, ask the questions again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from investigator.code.syntax import parse
from investigator.model import PatchProof, Runner, Verdict, question_name
from investigator.patches.git import workplace
from investigator.sources.interface import Tree

Question = tuple[str, Runner | None]
"""A contract's id, and the runner where the engine's path differs by runner."""

Verdicts = Mapping[Question, Verdict]

Ask = Callable[[Tree], Verdicts]
"""Puts every question to a tree that holds the engine. Given by whoever runs the investigation."""

_RANK = {verdict: rank for rank, verdict in enumerate(Verdict)}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What git and the parser said about a patch. ``why`` names the first thing that failed."""

    applies: bool = False
    reverses: bool = False
    parses: bool = False
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether all of it went well."""
        return self.applies and self.reverses and self.parses


def try_patch(patch: bytes, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Trial:
    """Apply the patch to ``before``, compare with ``after``, take it back, compare again.

    ``before`` and ``after`` hold the touched files; a file that the patch adds is only in
    ``after``. Nothing of the engine is run or compiled.
    """
    with workplace(before) as place:
        refusal = place.git_apply(patch, "--check") or place.git_apply(patch)
        if refusal is not None:
            return Trial(why=f"does not apply: {refusal}")
        if place.files() != dict(after):
            return Trial(why="git leaves other bytes than the edits do")
        refusal = place.git_apply(patch, "--check", "-R") or place.git_apply(patch, "-R")
        if refusal is not None:
            return Trial(applies=True, why=f"cannot be taken back: {refusal}")
        if place.files() != dict(before):
            return Trial(applies=True, why="taking it back does not restore the files byte for byte")
    for path, content in after.items():
        if path.endswith(".py") and _errors(path, content) > _errors(path, before.get(path, b"")):
            return Trial(applies=True, reverses=True, why=f"{path} does not parse any more")
    return Trial(applies=True, reverses=True, parses=True)


@lru_cache(maxsize=64)
def _errors(path: str, content: bytes) -> int:
    """How many places of a file the parser could not make sense of."""
    stack = [parse(path, content).root]
    count = 0
    while stack:
        node = stack.pop()
        if node.has_error:
            count += node.is_error or node.is_missing
            stack.extend(node.children)
    return count


def repaired(before: Verdicts, after: Verdicts) -> tuple[str, ...]:
    """The questions that are answered ``honoured`` now and were not before."""
    return tuple(
        question_name(*question)
        for question, verdict in after.items()
        if verdict is Verdict.HONOURED and before.get(question) is not Verdict.HONOURED
    )


def worse(before: Verdicts, after: Verdicts) -> tuple[str, ...]:
    """The questions whose verdict got worse; one that is not answered any more counts."""
    return tuple(
        question_name(*question)
        for question, verdict in before.items()
        if _RANK[after.get(question, Verdict.UNKNOWN)] < _RANK[verdict]
    )


def eased(before: Verdicts, after: Verdicts) -> tuple[str, ...]:
    """The questions whose verdict got better and is not ``honoured``: from broken to partial."""
    return tuple(
        question_name(*question)
        for question, verdict in after.items()
        if verdict is Verdict.PARTIAL and before.get(question) is Verdict.BROKEN
    )


def proof(trial: Trial, before: Verdicts, after: Verdicts) -> PatchProof:
    """The trial and the two sets of verdicts as what a report shows."""
    return PatchProof(
        applies=trial.applies,
        reverses=trial.reverses,
        parses=trial.parses,
        repaired=repaired(before, after),
        worse=worse(before, after),
        eased=eased(before, after),
    )
