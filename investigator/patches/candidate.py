"""One repair on one tree: its edits, tried with git, parsed, and asked about again."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from investigator.code.program import ParsedFiles, Program
from investigator.errors import PatchError
from investigator.model import PatchProof, contract_of, question_name
from investigator.patches.diff import FileDiff, diff_edits, unified
from investigator.patches.edits import Edit, Edits, by_path, edited_files
from investigator.patches.repairs import CannotRepair, Fault, repair
from investigator.patches.upstream import regression_test
from investigator.patches.verify import Ask, Verdicts, proof, try_patch
from investigator.sources.interface import Tree
from investigator.sources.overlay_tree import PatchedTree

Files = Mapping[str, bytes]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A repair that holds when it is applied alone, before its patch has a number.

    ``before`` and ``after`` hold the touched files; one that is added is only in ``after``.
    ``below``: contracts whose patches have to be applied before this one.
    """

    fault: Fault
    sections: tuple[FileDiff, ...]
    before: Files
    after: Files
    proof: PatchProof
    below: tuple[str, ...] = ()

    @property
    def contract(self) -> str:
        """What it repairs."""
        return self.fault.contract

    @property
    def diff(self) -> bytes:
        """Its edits as a diff."""
        return unified(self.sections)


@dataclass(frozen=True)
class Bench:
    """Makes candidates for one tree. ``verdicts``: the answers on the tree as it is."""

    tree: Tree
    ask: Ask
    verdicts: Verdicts
    upstream: bool = False
    parsed: ParsedFiles = field(default_factory=ParsedFiles)

    def alone(self, fault: Fault) -> Candidate | CannotRepair:
        """Repair one fault on the pristine tree and see whether that holds."""
        made = self._made(self.tree, fault)
        if isinstance(made, CannotRepair):
            return made
        sections, before, after = made
        trial = try_patch(unified(sections), before, after)
        if not trial.holds:
            return CannotRepair(f"tried with git: {trial.why}", fault.instead())
        patched = PatchedTree(self.tree, dict(after))
        verdicts = self.ask(patched)
        found = proof(trial, self.verdicts, verdicts)
        if not any(contract_of(question) == fault.contract for question in found.repaired):
            answers = [
                f"{question_name(*q)} {v.value}" for q, v in verdicts.items() if q[0] == fault.contract
            ]
            reason = f"asked again after the edits, the answer is {', '.join(answers) or 'none'}"
            return CannotRepair(reason, fault.instead())
        if found.worse:
            return CannotRepair(f"the edits make {', '.join(found.worse)} worse", fault.instead())
        if repair(self._program(patched), fault) != ():
            reason = "a second generation would not leave the patched tree alone"
            return CannotRepair(reason, fault.instead())
        return Candidate(fault=fault, sections=sections, before=before, after=after, proof=found)

    def on_top(self, candidate: Candidate, done: Files, below: tuple[str, ...]) -> Candidate | CannotRepair:
        """The candidate made anew on the tree as the patches of ``below`` leave it (``done``)."""
        made = self._made(PatchedTree(self.tree, dict(done)), candidate.fault)
        if isinstance(made, CannotRepair):
            return CannotRepair(f"together with {' and '.join(below)}: {made.reason}", made.instead)
        sections, before, after = made
        return replace(candidate, sections=sections, before=before, after=after, below=below)

    def _made(
        self, tree: Tree, fault: Fault
    ) -> tuple[tuple[FileDiff, ...], dict[str, bytes], dict[str, bytes]] | CannotRepair:
        """The repair's edits as sections of a diff, with the touched files before and after."""
        edits = repair(self._program(tree), fault)
        if isinstance(edits, CannotRepair):
            return edits
        if not edits:
            return CannotRepair("the code is already as the repair would make it", fault.instead())
        before = {path: tree.read(path) for path in by_path(edits)}
        try:
            after = edited_files(edits, before)
            edits = (*edits, *self._test(PatchedTree(tree, dict(after)), fault))
            sections = diff_edits(edits, before)
        except PatchError as error:
            return CannotRepair(str(error), fault.instead())
        added = {edit.path: edit.replacement for edit in edits if edit.path not in before}
        return sections, before, after | added

    def _test(self, repaired: Tree, fault: Fault) -> Edits:
        """A regression test for the repaired tree, where one is wanted and possible."""
        test = regression_test(self._program(repaired), fault) if self.upstream else None
        return (Edit(test.path, 0, 0, test.content),) if test else ()

    def _program(self, tree: Tree) -> Program:
        return Program(tree, parsed=self.parsed)
