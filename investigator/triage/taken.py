"""The case as the user and the symptom tell it together: an option that was given wins."""

from collections.abc import Set
from dataclasses import dataclass, replace

from investigator.case import Case, EngineSpec, RepoSpec
from investigator.triage.hints import CaseHints
from investigator.triage.symptom import Setting, Symptom

GIVEN_LINE = 0
"""The line of a setting that stands on the command line and not in the input."""


@dataclass(frozen=True)
class TakenCase:
    """``notes``: what was taken from the symptom, where it disagrees with an option, what it lacks."""

    case: Case
    notes: tuple[str, ...]


def completed(symptom: Symptom, case: Case, given: Set[str]) -> Symptom:
    """The symptom with the pair that the user named, where it names none itself.

    ``given``: the options that the user gave (``engine``, ``draft``, ...).
    """
    named = {
        "draft": case.draft.id,
        "target": case.target.id if case.target else None,
    }
    missing = tuple(
        Setting(name=name, value=value, line=GIVEN_LINE)
        for name, value in named.items()
        if value and name in given and symptom.setting(name) is None
    )
    return replace(symptom, settings=(*missing, *symptom.settings))


def taken(case: Case, hints: CaseHints, given: Set[str], *, limited: bool = False) -> TakenCase:
    """The case with what the symptom says wherever the user gave no option.

    ``limited``: fewer tokens are drafted than the drafter's block holds, so that the
    deployment's block size is not the drafter's and is left out.
    """
    notes: list[str] = []

    def said(option: str, ours: str, theirs: str | None) -> bool:
        """Whether the symptom's value is to be used; notes it either way."""
        if theirs is None:
            if option in ("engine", "draft") and option not in given:
                notes.append(f"it names no {option}: {ours} was assumed; give --{option} for another")
            return False
        if option not in given:
            notes.append(f"{option.replace('_', ' ')} {theirs}")
            return True
        if theirs != ours:
            notes.append(
                f"it says {option.replace('_', ' ')} {theirs}, but --{option.replace('_', '-')} {ours} was "
                "given and is used"
            )
        return False

    made = case
    if said("engine", str(case.engine), hints.engine):
        made = replace(made, engine=EngineSpec.parse(hints.engine or ""))
    if said("method", str(case.method), hints.method):
        made = replace(made, method=hints.method)
        # What is looked at by default is about drafters of whole blocks.
        made = replace(
            made,
            references=made.references if "references" in given else (),
            pull_requests=made.pull_requests if "pull_requests" in given else (),
        )
    # A model that drafts for itself is named once, as the target.
    draft = hints.draft or (hints.target if hints.method else None)
    if said("draft", str(case.draft), draft):
        made = replace(made, draft=RepoSpec.parse(draft or ""))
    if said("target", str(case.target), hints.target):
        made = replace(made, target=RepoSpec.parse(hints.target or ""))
    if limited and hints.block_size:
        notes.append(f"{hints.draft_tokens} draft tokens: fewer than the drafter's block holds")
    elif said("block_size", str(case.block_size), str(hints.block_size) if hints.block_size else None):
        made = replace(made, block_size=hints.block_size)
    for name, value in hints.environment.items():
        ours = case.environment.get(name)
        if ours is None:
            notes.append(f"environment {name}={value}")
        elif ours != value:
            notes.append(f"it says {name}={value}, but --env {name}={ours} was given and is used")
    made = replace(made, environment={**hints.environment, **case.environment})
    return TakenCase(replace(made, flags=_flags(made, hints, notes)), (*notes, *hints.notes))


def _flags(case: Case, hints: CaseHints, notes: list[str]) -> dict[str, str]:
    """The case's flags, and those of a server of its engine that no option sets."""
    found = dict(case.flags)
    for name, value in hints.flags.items() if hints.server == case.engine.name else ():
        ours = found.setdefault(name, value)
        if ours != value:
            notes.append(f"it says {name} {value}, but --flag {name[2:]}={ours} was given and is used")
        elif name not in case.flags:
            notes.append(f"flag {name} {value}".rstrip())
    return found
