"""From broken promises to patches that were seen to hold, alone, in pairs and all together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import combinations

from investigator.code.program import Program
from investigator.errors import PatchError
from investigator.model import Json, Patch, PatchProof
from investigator.patches.combination import Checker, Combination
from investigator.patches.diff import FileDiff, diff_edits, mail, unified
from investigator.patches.edits import Edit, Edits, by_path, edited_files
from investigator.patches.git import applied
from investigator.patches.letter import Letter
from investigator.patches.repairs import REPAIRS, CannotRepair, Fault, repair
from investigator.patches.upstream import regression_test
from investigator.patches.verify import (
    Ask,
    Trial,
    Verdicts,
    ask_patched,
    name,
    proof,
    try_patch,
)
from investigator.sources.interface import Tree
from investigator.sources.overlay_tree import PatchedTree

Files = Mapping[str, bytes]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A contract that stays broken: why there is no patch, and what to do instead."""

    contract: str
    reason: str
    instead: str


@dataclass(frozen=True, kw_only=True)
class Series:
    """Patches in the order in which they apply, and everything that was checked about them.

    ``covered``: contracts that need no patch of their own, with the contract whose patch
    repairs them too. ``order``: for a patch that is written on top of others, their names.
    """

    patches: tuple[Patch, ...] = ()
    refused: tuple[Refusal, ...] = ()
    covered: Mapping[str, str] = field(default_factory=dict)
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pairs: tuple[Combination, ...] = ()
    together: Combination | None = None

    def as_json(self) -> dict[str, Json]:
        """Everything but the patches themselves, for ``investigation.json``."""
        return {
            "refused": [asdict(refusal) for refusal in self.refused],
            "covered": dict(self.covered),
            "order": {patch: list(below) for patch, below in self.order.items()},
            "pairs": [asdict(pair) for pair in self.pairs],
            "together": asdict(self.together) if self.together else None,
        }


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    """Edits that hold when applied alone, before they have a number."""

    fault: Fault
    sections: tuple[FileDiff, ...]
    before: Files
    after: Files
    proof: PatchProof
    below: tuple[str, ...] = ()

    @property
    def contract(self) -> str:
        return self.fault.contract

    @property
    def diff(self) -> bytes:
        return unified(self.sections)


def generate(
    tree: Tree,
    faults: Sequence[Fault],
    ask: Ask,
    *,
    engine: str,
    when: datetime,
    effects: Mapping[str, str] | None = None,
    signature: str = "investigate",
    upstream: bool = False,
) -> Series:
    """A patch for each fault that can be repaired, proven on ``tree``.

    ``engine`` names the engine in the patches' texts (``vllm 0.20.1``); ``when`` is their date:
    the release's, so that they come out the same every time. ``effects`` says per contract what
    a validation measured. ``upstream`` adds a regression test in the engine's own style to each patch
    where that needs no GPU and no model. A patch that was not seen to hold is not among the result: it is a
    refusal that says why. Raises only what ``tree`` and ``ask`` raise.
    """
    before = ask(tree)
    candidates: list[_Candidate] = []
    refused: list[Refusal] = []
    for fault in sorted(faults, key=_rank):
        found = _alone(tree, fault, ask, before, upstream=upstream)
        if isinstance(found, _Candidate):
            candidates.append(found)
        else:
            refused.append(Refusal(contract=fault.contract, reason=found.reason, instead=found.instead))
    stacked, conflicts = _stacked(tree, candidates)
    refused += conflicts
    covered = {
        refusal.contract: candidate.contract
        for refusal in refused
        for candidate in stacked
        if any(text.partition("/")[0] == refusal.contract for text in candidate.proof.repaired)
    }
    return _numbered(
        tree,
        stacked,
        Series(refused=tuple(r for r in refused if r.contract not in covered), covered=covered),
        lambda files: ask_patched(ask, tree, files),
        before,
        engine=engine,
        when=when,
        effects=effects or {},
        signature=signature,
    )


def _rank(fault: Fault) -> int:
    known = list(REPAIRS)
    return known.index(fault.contract) if fault.contract in known else len(known)


def _edits(tree: Tree, fault: Fault) -> tuple[Edits, Files, Files] | CannotRepair:
    """The repair's edits with the touched files before and after."""
    made = repair(Program(tree), fault)
    if isinstance(made, CannotRepair):
        return made
    if not made:
        return CannotRepair("the code is already as the repair would make it", fault.instead())
    before = {path: tree.read(path) for path in by_path(made)}
    try:
        return made, before, edited_files(made, before)
    except PatchError as error:
        return CannotRepair(str(error), fault.instead())


def _alone(
    tree: Tree, fault: Fault, ask: Ask, before: Verdicts, *, upstream: bool
) -> _Candidate | CannotRepair:
    """Repair one fault on the pristine tree and see whether that holds."""
    made = _edits(tree, fault)
    if isinstance(made, CannotRepair):
        return made
    edits, files, after = made
    if upstream and (test := regression_test(Program(PatchedTree(tree, dict(after))), fault)):
        edits = (*edits, Edit(test.path, 0, 0, test.content))
        after = {**after, test.path: test.content}
    try:
        sections = diff_edits(edits, files)
    except PatchError as error:
        return CannotRepair(str(error), fault.instead())
    trial = try_patch(unified(sections), files, after)
    if not trial.holds:
        return CannotRepair(f"tried with git: {trial.why}", fault.instead())
    patched = PatchedTree(tree, dict(after))
    verdicts = ask(patched)
    found = proof(trial, before, verdicts)
    if not any(text.partition("/")[0] == fault.contract for text in found.repaired):
        answer = ", ".join(f"{name(q)} {v.value}" for q, v in verdicts.items() if q[0] == fault.contract)
        return CannotRepair(f"asked again after the edits, the answer is {answer or 'none'}", fault.instead())
    if found.worse:
        return CannotRepair(f"the edits make {', '.join(found.worse)} worse", fault.instead())
    again = repair(Program(patched), fault)
    if isinstance(again, CannotRepair) or again:
        return CannotRepair("a second generation would not leave the patched tree alone", fault.instead())
    return _Candidate(fault=fault, sections=sections, before=files, after=after, proof=found)


def _stacked(tree: Tree, candidates: Sequence[_Candidate]) -> tuple[list[_Candidate], list[Refusal]]:
    """Candidates whose diffs apply one after another; one that would not is written anew on top
    of those before it."""
    done: dict[str, bytes] = {}
    stack: list[_Candidate] = []
    conflicts: list[Refusal] = []
    for candidate in candidates:
        files = {path: done.get(path, content) for path, content in candidate.before.items()}
        try:
            done |= applied(candidate.diff, files)
            stack.append(candidate)
            continue
        except PatchError:
            made = _edits(PatchedTree(tree, dict(done)), candidate.fault)
        below = tuple(other.contract for other in stack if not other.after.keys().isdisjoint(candidate.after))
        if isinstance(made, CannotRepair):
            reason = f"together with {' and '.join(below)}: {made.reason}"
            conflicts.append(Refusal(contract=candidate.contract, reason=reason, instead=made.instead))
            continue
        edits, under, after = made
        done |= after
        stack.append(
            replace(candidate, sections=diff_edits(edits, under), before=under, after=after, below=below)
        )
    return stack, conflicts


def _numbered(
    tree: Tree,
    stack: Sequence[_Candidate],
    series: Series,
    asked: Callable[[Files], Verdicts],
    before: Verdicts,
    *,
    engine: str,
    when: datetime,
    effects: Mapping[str, str],
    signature: str,
) -> Series:
    """Give the candidates their files, and check the final texts in pairs and all together."""
    names = {c.contract: f"{n:04d}-{c.contract}.patch" for n, c in enumerate(stack, 1)}
    patches = []
    for number, candidate in enumerate(stack, 1):
        known = REPAIRS[candidate.contract]
        order = "Applies on top of " + " and ".join(names[b] for b in candidate.below) + "."
        text = mail(
            candidate.sections,
            subject=known.subject,
            body=str(
                Letter(
                    repair=known,
                    findings=candidate.fault.findings,
                    engine=engine,
                    source=tree.source.id,
                    repaired=candidate.proof.repaired,
                    effect=effects.get(candidate.contract, ""),
                    order=order if candidate.below else "",
                    crlf=any(b"\r\n" in content for content in candidate.before.values()),
                )
            ),
            when=when,
            number=number,
            total=len(stack),
            signature=signature,
        )
        trial = try_patch(text, candidate.before, candidate.after)
        patches.append(
            Patch(
                name=names[candidate.contract],
                contract=candidate.contract,
                subject=known.subject,
                text=text.decode("utf-8", "surrogateescape"),
                files=tuple(section.path for section in candidate.sections),
                proof=_with_trial(candidate.proof, trial),
            )
        )
    checker = Checker(tree, asked, before)
    return replace(
        series,
        patches=tuple(patches),
        order={names[c.contract]: tuple(names[b] for b in c.below) for c in stack if c.below},
        pairs=tuple(checker.see(pair) for pair in combinations(patches, 2) if _independent(pair, stack)),
        together=checker.see(tuple(patches)) if len(patches) > 1 else None,
    )


def _with_trial(found: PatchProof, trial: Trial) -> PatchProof:
    return replace(found, applies=trial.applies, reverses=trial.reverses, parses=trial.parses)


def _independent(pair: tuple[Patch, ...], stack: Sequence[_Candidate]) -> bool:
    """Whether the two patches of a pair need no third one below them."""
    below = {candidate.contract: set(candidate.below) for candidate in stack}
    contracts = {patch.contract for patch in pair}
    return all(below[contract] <= contracts for contract in contracts)


def complete(series: Series) -> bool:
    """Whether every pair, and all patches together, repair what each repairs alone."""
    alone = {patch.name: set(patch.proof.repaired) for patch in series.patches}
    seen = [*series.pairs, *([series.together] if series.together else [])]
    return all(
        not combination.worse
        and set(combination.repaired) >= set().union(*(alone[patch] for patch in combination.patches))
        for combination in seen
    )
