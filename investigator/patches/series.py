"""From broken promises to patches that were seen to hold, alone, in pairs and all together."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import combinations

from investigator.code.program import ParsedFiles
from investigator.errors import PatchError
from investigator.model import Json, Patch, contract_of
from investigator.patches.candidate import Bench, Candidate
from investigator.patches.combination import Checker, Combination
from investigator.patches.diff import mail
from investigator.patches.git import applied
from investigator.patches.letter import Letter
from investigator.patches.repairs import REPAIRS, CannotRepair, Fault
from investigator.patches.verify import Ask, try_patch
from investigator.sources.interface import Tree


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
class Imprint:
    """What the texts of a series say beside their changes.

    ``engine``: ``vllm 0.20.1``. ``when``: the date of every patch; pass the release's, so that they
    come out the same every time. ``effects``: per contract, what a validation measured.
    """

    engine: str
    when: datetime
    effects: Mapping[str, str] = field(default_factory=dict)
    signature: str = "investigate"


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
    parsed: ParsedFiles | None = None,
) -> Series:
    """A patch for each fault that can be repaired, proven on ``tree``.

    The texts say ``engine``, ``when``, ``effects`` and ``signature`` (see :class:`Imprint`).
    ``upstream`` adds a regression test in the engine's own style where that needs no GPU and no
    model. ``parsed``: the tree's files that were parsed before. A patch that was not seen to hold is
    not among the result: it is a refusal that says why.
    Raises only what ``tree`` and ``ask`` raise.
    """
    bench = Bench(tree, ask, ask(tree), upstream, parsed or ParsedFiles())
    candidates: list[Candidate] = []
    refused: list[Refusal] = []
    for fault in sorted(faults, key=_rank):
        found = bench.alone(fault)
        if isinstance(found, Candidate):
            candidates.append(found)
        else:
            refused.append(_refusal(fault.contract, found))
    imprint = Imprint(engine=engine, when=when, effects=effects or {}, signature=signature)
    while True:
        stack, conflicts = _stacked(bench, candidates)
        series = _numbered(bench, stack, imprint)
        failed = first_failure(series)
        if failed is None:
            return _settled(series, [*refused, *conflicts])
        dropped = stack[[patch.name for patch in series.patches].index(failed.patches[-1])]
        refused.append(_refusal(dropped.contract, CannotRepair(_why(failed), dropped.fault.instead())))
        candidates = [candidate for candidate in candidates if candidate.contract != dropped.contract]


def _settled(series: Series, refused: Sequence[Refusal]) -> Series:
    """The series with what was refused, less what another contract's patch repairs as well."""
    covered = {
        refusal.contract: patch.contract
        for refusal in refused
        for patch in series.patches
        if any(contract_of(question) == refusal.contract for question in patch.proof.repaired)
    }
    left = tuple(refusal for refusal in refused if refusal.contract not in covered)
    return replace(series, refused=left, covered=covered)


def _why(failed: Combination) -> str:
    others = " and ".join(failed.patches[:-1])
    if failed.worse:
        return f"together with {others} it makes {', '.join(failed.worse)} worse"
    return f"together with {others} not everything stays repaired"


def _rank(fault: Fault) -> int:
    known = list(REPAIRS)
    return known.index(fault.contract) if fault.contract in known else len(known)


def _refusal(contract: str, why: CannotRepair) -> Refusal:
    return Refusal(contract=contract, reason=why.reason, instead=why.instead)


def _stacked(bench: Bench, candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Refusal]]:
    """Candidates whose diffs apply one after another; one that would not is made anew on top of
    those before it that touch its files."""
    done: dict[str, bytes] = {}
    stack: list[Candidate] = []
    conflicts: list[Refusal] = []
    for candidate in candidates:
        try:
            files = {path: done.get(path, content) for path, content in candidate.before.items()}
            done |= applied(candidate.diff, files)
            stack.append(candidate)
            continue
        except PatchError:
            touching = (other for other in stack if not other.after.keys().isdisjoint(candidate.after))
            anew = bench.on_top(candidate, done, tuple(other.contract for other in touching))
        if isinstance(anew, Candidate):
            done |= anew.after
            stack.append(anew)
        else:
            conflicts.append(_refusal(candidate.contract, anew))
    return stack, conflicts


def _numbered(bench: Bench, stack: Sequence[Candidate], imprint: Imprint) -> Series:
    """Give the candidates their files, and check the final texts in pairs and all together."""
    names = {c.contract: f"{n:04d}-{c.contract}.patch" for n, c in enumerate(stack, 1)}
    patches = tuple(
        _written(bench, candidate, names, number, imprint) for number, candidate in enumerate(stack, 1)
    )
    checker = Checker(bench.tree, bench.ask, bench.verdicts)
    return Series(
        patches=patches,
        order={names[c.contract]: tuple(names[b] for b in c.below) for c in stack if c.below},
        pairs=tuple(checker.see(pair) for pair in combinations(patches, 2) if _independent(pair, stack)),
        together=checker.see(patches) if len(patches) > 1 else None,
    )


def _written(
    bench: Bench, candidate: Candidate, names: Mapping[str, str], number: int, imprint: Imprint
) -> Patch:
    """The candidate as a file, that file tried once more."""
    known = REPAIRS[candidate.contract]
    below = " and ".join(names[contract] for contract in candidate.below)
    letter = Letter(
        repair=known,
        findings=candidate.fault.findings,
        engine=imprint.engine,
        source=bench.tree.source.id,
        repaired=candidate.proof.repaired,
        effect=imprint.effects.get(candidate.contract, ""),
        order=f"Applies on top of {below}." if below else "",
        crlf=any(b"\r\n" in content for content in candidate.before.values()),
    )
    text = mail(
        candidate.sections,
        subject=known.subject,
        body=str(letter),
        when=imprint.when,
        number=number,
        total=len(names),
        signature=imprint.signature,
    )
    trial = try_patch(text, candidate.before, candidate.after)
    return Patch(
        name=names[candidate.contract],
        contract=candidate.contract,
        subject=known.subject,
        text=text.decode("utf-8", "surrogateescape"),
        files=tuple(section.path for section in candidate.sections),
        proof=replace(candidate.proof, applies=trial.applies, reverses=trial.reverses, parses=trial.parses),
    )


def _independent(pair: tuple[Patch, ...], stack: Sequence[Candidate]) -> bool:
    """Whether the two patches of a pair need no third one below them."""
    below = {candidate.contract: set(candidate.below) for candidate in stack}
    contracts = {patch.contract for patch in pair}
    return all(below[contract] <= contracts for contract in contracts)


def first_failure(series: Series) -> Combination | None:
    """The first pair, or all together, that does not repair what each patch repairs alone."""
    alone = {patch.name: set(patch.proof.repaired) for patch in series.patches}
    seen = [*series.pairs, *([series.together] if series.together else [])]
    for combination in seen:
        expected = set().union(*(alone[patch] for patch in combination.patches))
        if combination.worse or not expected <= set(combination.repaired):
            return combination
    return None
