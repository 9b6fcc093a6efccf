"""Several pull requests together: which stack, which are redundant, and which few are enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from investigator.model import Evidence
from investigator.patches.verify import Ask, Question, Verdicts
from investigator.pull_requests.effect import Effect, compared, effect_of
from investigator.pull_requests.fit import Bases, Fit, fit_diff
from investigator.sources.diff_reader import ChangedFile
from investigator.sources.interface import Tree

MAX_TOGETHER = 4
"""Pull requests in one set at most; more are never needed for what is asked here."""
MAX_ASKED = 12
"""Sets whose answers are asked for at most; each costs one reading of the engine."""
MAX_TRIED = 300
"""Orders of sets that are tried on the engine's files at most."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A pull request whose diff is at hand."""

    ref: str
    files: tuple[ChangedFile, ...]
    repairs: tuple[str, ...] = ()
    bases: Bases | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How the pull requests of a case stand to each other on one engine.

    ``stacks``: (upper, lower): the upper one fits only on top of the lower one.
    ``redundant``: groups that repair the same. ``smallest``: the fewest that repair all that
    can be repaired, in the order in which they are applied; ``repaired`` is what they repair.
    ``complete`` False: the search was cut short, a smaller set may exist.
    """

    effects: Mapping[str, Effect]
    stacks: tuple[tuple[str, str], ...] = ()
    redundant: tuple[tuple[str, ...], ...] = ()
    smallest: tuple[str, ...] = ()
    repaired: tuple[Question, ...] = ()
    complete: bool = True


def plan(
    candidates: Sequence[Candidate],
    tree: Tree,
    ask: Ask,
    *,
    before: Verdicts | None = None,
    evidence: Mapping[Question, Sequence[Evidence]] | None = None,
) -> Plan:
    """Each pull request's effect on the engine in ``tree``, and the smallest set that helps.

    A set counts when its diffs fit one after the other, no promise that was kept is broken,
    and the questions asked of the result say what it repairs.
    """
    verdicts = before if before is not None else ask(tree)
    effects = {
        one.ref: effect_of(
            one.files,
            tree,
            ask,
            before=verdicts,
            evidence=evidence,
            repairs=one.repairs,
            bases=one.bases,
        )
        for one in candidates
    }
    stacks = _stacks(candidates, effects)
    search = _Search(candidates, tree, ask, verdicts, effects)
    smallest, repaired = search.smallest()
    return Plan(
        effects=effects,
        stacks=stacks,
        redundant=_redundant(effects),
        smallest=smallest,
        repaired=repaired,
        complete=search.exhausted(repaired),
    )


def _stacks(candidates: Sequence[Candidate], effects: Mapping[str, Effect]) -> tuple[tuple[str, str], ...]:
    """Pairs where one that conflicts on the engine fits once the other is applied."""
    found = []
    for upper in candidates:
        if effects[upper.ref].fit is not Fit.CONFLICTS or effects[upper.ref].contained:
            continue
        for lower in candidates:
            ground = effects[lower.ref].patched
            if lower.ref != upper.ref and ground is not None:
                fitted = fit_diff(upper.files, ground, upper.bases)
                if fitted.patched is not None:
                    found.append((upper.ref, lower.ref))
    return tuple(found)


def _redundant(effects: Mapping[str, Effect]) -> tuple[tuple[str, ...], ...]:
    """Groups of pull requests that repair the very same questions."""
    groups: dict[frozenset[Question], list[str]] = {}
    for ref, effect in effects.items():
        if effect.repairs:
            groups.setdefault(frozenset(effect.repairs), []).append(ref)
    return tuple(tuple(refs) for refs in groups.values() if len(refs) > 1)


class _Search:
    """Looks for the smallest set, from one pull request upwards."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        tree: Tree,
        ask: Ask,
        before: Verdicts,
        effects: Mapping[str, Effect],
    ) -> None:
        self._by_ref = {one.ref: one for one in candidates if not effects[one.ref].contained}
        self._tree = tree
        self._ask = ask
        self._before = before
        self._effects = effects
        self._asked = 0
        self._tried_orders = 0

    def exhausted(self, repaired: Sequence[Question]) -> bool:
        """Whether nothing better can have been missed."""
        possible = {question for ref in self._by_ref for question in self._effects[ref].repairs}
        cut = self._asked >= MAX_ASKED or self._tried_orders >= MAX_TRIED
        return not cut and (len(self._by_ref) <= MAX_TOGETHER or possible <= set(repaired))

    def smallest(self) -> tuple[tuple[str, ...], tuple[Question, ...]]:
        """The set and what it repairs; both empty when nothing helps."""
        best: tuple[tuple[str, ...], tuple[Question, ...]] = ((), ())
        for size in range(1, min(len(self._by_ref), MAX_TOGETHER) + 1):
            for refs in combinations(self._by_ref, size):
                if not self._promising(refs, best[1]):
                    continue
                for order, repaired in self._tried(refs):
                    if len(repaired) > len(best[1]):
                        best = (order, repaired)
        return best

    def _promising(self, refs: Sequence[str], best: Sequence[Question]) -> bool:
        """Whether a set may repair more than the best so far; what a stack adds is not known yet."""
        alone = {question for ref in refs for question in self._effects[ref].repairs}
        unknown = any(self._effects[ref].fit is Fit.CONFLICTS for ref in refs)
        within = self._asked < MAX_ASKED and self._tried_orders < MAX_TRIED
        return within and (unknown or len(alone) > len(best))

    def _tried(self, refs: Sequence[str]) -> list[tuple[tuple[str, ...], tuple[Question, ...]]]:
        """The first order in which the set fits, with what it repairs; nothing if none does."""
        if len(refs) == 1:
            effect = self._effects[refs[0]]
            harmless = not any(change.harms for change in effect.changes)
            return [(tuple(refs), effect.repairs)] if harmless and effect.repairs else []
        for order in permutations(refs):
            self._tried_orders += 1
            ground: Tree | None = self._tree
            for ref in order:
                one = self._by_ref[ref]
                fitted = fit_diff(one.files, ground, one.bases) if ground is not None else None
                ground = fitted.patched if fitted is not None and fitted.fit is not Fit.CONTAINED else None
            if ground is not None:
                self._asked += 1
                changes = compared(self._before, self._ask(ground))
                if not any(change.harms for change in changes):
                    return [(order, tuple(change.question for change in changes if change.repairs))]
        return []
