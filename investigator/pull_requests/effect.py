"""What a pull request does to an engine: the difference of the answers with and without it.

Titles and descriptions are not read. The diff is fitted to the engine's tree in memory, the
contracts' questions are asked again, and what differs is the effect.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from investigator.model import Evidence, Verdict, question_name
from investigator.patches.verify import Ask, Question, Verdicts
from investigator.pull_requests.fit import Bases, Conflict, Fit, TreeFit, fit_diff, in_packages, packages_of
from investigator.sources.diff_reader import ChangedFile
from investigator.sources.interface import Tree
from investigator.sources.overlay_tree import PatchedTree

GOOD = (Verdict.HONOURED, Verdict.NOT_APPLICABLE)
_SHOWN = 3
_TELLING = 10
"""Characters that a line must have to be told from any other (``else:``, ``)``)."""


@dataclass(frozen=True)
class Change:
    """One question whose answer differs. ``before`` None: it was not answered without it."""

    question: Question
    before: Verdict | None
    after: Verdict | None

    def __str__(self) -> str:
        before, after = (v.value if v else "not answered" for v in (self.before, self.after))
        return f"{question_name(*self.question)}: {before} → {after}"

    @property
    def repairs(self) -> bool:
        """Whether the promise is kept with it and was not without."""
        return self.after is Verdict.HONOURED and self.before not in GOOD

    @property
    def harms(self) -> bool:
        """Whether the promise was kept without it and is not with it."""
        return self.before in GOOD and self.after not in GOOD


@dataclass(frozen=True, kw_only=True)
class Effect:
    """How a change stands to an engine, and what it changes in the answers.

    ``contained``: whether the engine already holds it; None when that cannot be decided.
    ``why`` says how this was decided, in one line. ``changes`` is empty when the change does
    not fit. ``patched``: the engine with it, None when it does not fit or is there already.
    """

    fit: Fit
    why: str
    contained: bool | None
    changes: tuple[Change, ...] = ()
    unchanged: tuple[Question, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    patched: PatchedTree | None = field(default=None, compare=False)

    @property
    def repairs(self) -> tuple[Question, ...]:
        """The questions that it repairs."""
        return tuple(change.question for change in self.changes if change.repairs)

    def __str__(self) -> str:
        if self.changes:
            return "; ".join(map(str, self.changes))
        return "changes no answer" if self.fit in (Fit.APPLIES, Fit.MERGES) else self.why


def effect_of(
    files: Sequence[ChangedFile],
    tree: Tree,
    ask: Ask,
    *,
    before: Verdicts | None = None,
    evidence: Mapping[Question, Sequence[Evidence]] | None = None,
    repairs: Sequence[str] = (),
    bases: Bases | None = None,
) -> Effect:
    """The effect of a diff on the engine in ``tree``.

    ``ask`` puts every question to a tree; ``before`` are its answers on ``tree`` where they
    are known already, ``evidence`` the lines that these rest on. ``repairs``: contracts that
    the change is known to repair. ``bases`` serves three-way merging.
    """
    verdicts = before if before is not None else ask(tree)
    fitted = fit_diff(files, tree, bases)
    if fitted.fit is Fit.OUTSIDE:
        why = "it changes nothing of the engine's packages"
        return Effect(fit=fitted.fit, why=why, contained=None, skipped=fitted.skipped)
    if fitted.fit is Fit.CONTAINED:
        why = "every change of it is in the engine as it is"
        return Effect(fit=fitted.fit, why=why, contained=True, skipped=fitted.skipped)
    if fitted.patched is None:
        return _conflicting(files, tree, fitted, verdicts, evidence or {}, repairs)
    after = ask(fitted.patched)
    changes = compared(verdicts, after)
    how = "it applies" if fitted.fit is Fit.APPLIES else "it merges with what has changed since"
    return Effect(
        fit=fitted.fit,
        why=f"{how}: the engine does not hold it",
        contained=False,
        changes=changes,
        unchanged=tuple(q for q in after if q not in {change.question for change in changes}),
        skipped=fitted.skipped,
        patched=fitted.patched,
    )


def compared(before: Verdicts, after: Verdicts) -> tuple[Change, ...]:
    """The questions that are answered differently, in the order of the answers."""
    questions = dict.fromkeys((*before, *after))
    pairs = (Change(question, before.get(question), after.get(question)) for question in questions)
    return tuple(change for change in pairs if change.before is not change.after)


def _conflicting(
    files: Sequence[ChangedFile],
    tree: Tree,
    fitted: TreeFit,
    verdicts: Verdicts,
    evidence: Mapping[Question, Sequence[Evidence]],
    repairs: Sequence[str],
) -> Effect:
    """A change that does not fit: is it because the engine has it already, in a later form?"""
    contained, why = contained_by_effect(verdicts, repairs)
    here, total = lines_here(files, tree)
    if contained is None and not repairs and here * 2 >= total:
        quote = _decided_by(files, verdicts, evidence)
        if quote is not None:
            question, item = quote
            contained = True
            there = f"{item.path}:{item.line}"
            why = f"{question_name(*question)} is honoured here by a line that it adds ({there})"
    shown = ", ".join(map(str, fitted.conflicts[:_SHOWN]))
    rest = len(fitted.conflicts) - _SHOWN
    where = shown + (f" and {rest} more" if rest > 0 else "")
    told = f"{why}; as text it conflicts at {where}" if why else f"it conflicts at {where}"
    return Effect(
        fit=fitted.fit,
        why=f"{told}; {here} of {total} lines that it adds are here",
        contained=contained,
        conflicts=fitted.conflicts,
        skipped=fitted.skipped,
    )


def lines_here(files: Sequence[ChangedFile], tree: Tree) -> tuple[int, int]:
    """How many of the telling lines that a change adds stand in the engine's files, and of how many."""
    known = frozenset(tree.paths())
    packages = packages_of(known)
    here = total = 0
    for file in files:
        path = in_packages(file.path, packages)
        if path is None:
            continue
        deleted = {line.strip() for hunk in file.hunks for line in hunk.of("-")}
        added = {line.strip() for hunk in file.hunks for line in hunk.of("+")} - deleted
        telling = {line for line in added if len(line) >= _TELLING}
        total += len(telling)
        if path in known:
            here += len(telling & {line.strip() for line in tree.read(path).split(b"\n")})
    return here, total


def contained_by_effect(verdicts: Verdicts, repairs: Sequence[str]) -> tuple[bool | None, str]:
    """Whether what a change repairs is kept already; None where that is mixed or not known.

    A contract counts as kept when it is honoured on a runner and broken on none.
    """
    if not repairs:
        return None, ""
    kept: list[str] = []
    lacking: list[str] = []
    for contract in repairs:
        found = [verdict for (asked, _), verdict in verdicts.items() if asked == contract]
        if Verdict.HONOURED in found and Verdict.BROKEN not in found and Verdict.PARTIAL not in found:
            kept.append(contract)
        elif Verdict.BROKEN in found or Verdict.PARTIAL in found:
            lacking.append(contract)
    if len(kept) == len(repairs):
        return True, f"what it repairs is honoured here: {', '.join(kept)}"
    if lacking and not kept:
        return False, f"what it repairs is broken here: {', '.join(lacking)}"
    if lacking:
        return False, f"only a part of what it repairs is honoured here: {', '.join(kept)}"
    return None, f"what it repairs cannot be compared on this engine: {', '.join(repairs)}"


def _decided_by(
    files: Sequence[ChangedFile],
    verdicts: Verdicts,
    evidence: Mapping[Question, Sequence[Evidence]],
) -> tuple[Question, Evidence] | None:
    """A promise that is kept here by a line which this change adds, and where that line stands."""
    for question, items in evidence.items():
        if verdicts.get(question) is not Verdict.HONOURED:
            continue
        for item in items:
            if any(_adds(file, item.quote) for file in files if file.path.endswith(item.path)):
                return question, item
    return None


def _adds(file: ChangedFile, quote: str) -> bool:
    """Whether the file gets a quoted line from this change and had none such in sight before."""
    stripped = (line.strip() for line in quote.encode("utf-8", "replace").split(b"\n"))
    lines = {line for line in stripped if len(line) >= _TELLING}
    added = {line.strip() for hunk in file.hunks for line in hunk.of("+")}
    old = {line.strip() for hunk in file.hunks for line in hunk.old}
    return bool(lines & added - old)
