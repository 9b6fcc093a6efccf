"""What is said about the pull requests of a case, once the engine's answers are known."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap

from investigator.errors import InvestigateError
from investigator.model import Evidence, PullRequest, question_name
from investigator.patches.diff import git_blob
from investigator.patches.verify import Ask, Question, Verdicts
from investigator.pull_requests.commands import apply_diff, install_from_head
from investigator.pull_requests.effect import Effect, contained_by_effect
from investigator.pull_requests.fit import Bases, Fit
from investigator.pull_requests.plan import Candidate, Plan, plan
from investigator.sources.diff_reader import ChangedFile, read_diff
from investigator.sources.github import BASE, DIFF, PullRequestRef
from investigator.sources.interface import Tree


@dataclass(frozen=True, kw_only=True)
class Study:
    """The pull requests with what this engine makes of them, and how they stand together.

    ``plan`` None: no diff was at hand, so nothing could be applied.
    """

    pull_requests: tuple[PullRequest, ...]
    plan: Plan | None = None


def study(
    pull_requests: Sequence[PullRequest],
    trees: Mapping[str, Tree],
    engine: Tree,
    ask: Ask,
    verdicts: Verdicts,
    evidence: Mapping[Question, Sequence[Evidence]] | None = None,
) -> Study:
    """Say of each pull request whether this engine holds it, and what it does to it.

    ``trees``: source id -> tree, as the agent handed them back. ``ask`` puts every question
    to a tree; ``verdicts`` and ``evidence`` are the answers on ``engine`` as it is.
    With a diff the effect is measured; without one only what the pull request is known to
    repair can be compared with the engine's verdicts.
    """
    pull_requests = [_with_commands(request, engine) for request in pull_requests]
    candidates = {
        request.ref: candidate
        for request in pull_requests
        if (candidate := _candidate(request, trees.get(request.source))) is not None
    }
    if not candidates:
        return Study(pull_requests=tuple(_by_record(request, verdicts) for request in pull_requests))
    found = plan(tuple(candidates.values()), engine, ask, before=verdicts, evidence=evidence)
    return Study(
        pull_requests=tuple(
            _measured(request, found) if request.ref in found.effects else _by_record(request, verdicts)
            for request in pull_requests
        ),
        plan=found,
    )


def sorted_out(
    pull_requests: Sequence[PullRequest], project: Collection[str], engine: str
) -> tuple[tuple[PullRequest, ...], tuple[PullRequest, ...]]:
    """Those to this engine's project, or to a fork of it, and those to another, which repair nothing here.

    ``project``: the names that the engine's repository may have, without its owner.
    """
    names = {_plain(name) for name in project}
    ours = tuple(r for r in pull_requests if _plain(PullRequestRef.parse(r.ref).repo) in names)
    others = tuple(
        replace(
            request,
            contained=None,
            contained_why=f"it is to another project than {engine}",
            repairs=(),
            commands=(),
        )
        for request in pull_requests
        if request not in ours
    )
    return ours, others


def _plain(repository: str) -> str:
    return repository.rpartition("/")[2].lower().replace("_", "-")


def _candidate(request: PullRequest, tree: Tree | None) -> Candidate | None:
    if tree is None or DIFF not in tree.paths():
        return None
    try:
        files = read_diff(tree.read(DIFF), request.ref)
    except InvestigateError:
        return None
    return Candidate(ref=request.ref, files=files, repairs=request.repairs, bases=_bases(tree))


def _bases(tree: Tree) -> Bases:
    """Contents before the change, taken only when they are what the diff was made from."""

    def base(file: ChangedFile) -> bytes | None:
        try:
            content = tree.read(BASE + file.old_path)
        except InvestigateError:
            return None
        vouched = file.old_blob is None or git_blob(content).startswith(file.old_blob)
        return content if vouched else None

    return base


def _with_commands(request: PullRequest, engine: Tree) -> PullRequest:
    ref, package = PullRequestRef.parse(request.ref), engine.source.id
    return replace(request, commands=(install_from_head(ref, package), apply_diff(ref, package)))


def _by_record(request: PullRequest, verdicts: Verdicts) -> PullRequest:
    contained, why = contained_by_effect(verdicts, request.repairs)
    why = why or "its diff is not at hand, and what it repairs is not recorded"
    return replace(request, contained=contained, contained_why=why)


def _measured(request: PullRequest, found: Plan) -> PullRequest:
    effect = found.effects[request.ref]
    repaired = tuple(dict.fromkeys(contract for contract, _ in effect.repairs))
    applied = effect.fit in (Fit.APPLIES, Fit.MERGES)
    words = f"on this engine: {effect}" if applied else ""
    return replace(
        request,
        contained=effect.contained,
        contained_why=effect.why,
        repairs=repaired if applied else request.repairs,
        effect=". ".join(filter(None, (words, request.effect))),
        relations=(*request.relations, *_relations(request.ref, effect, found)),
    )


def _relations(ref: str, effect: Effect, found: Plan) -> list[str]:
    """How it stands to the others here; measured, so it may differ from what was recorded."""
    said = [f"fits here only on top of {lower}" for upper, lower in found.stacks if upper == ref]
    for group in found.redundant:
        if ref in group:
            said += [f"repairs the same here as {other}" for other in group if other != ref]
    if ref in found.smallest:
        repaired = ", ".join(starmap(question_name, found.repaired))
        others = " and ".join(other for other in found.smallest if other != ref)
        alone = f"enough by itself to repair {repaired}"
        said.append(f"with {others} the smallest set that repairs {repaired}" if others else alone)
    said += [f"leaves out {path}: {why}" for path, why in effect.skipped if "outside" not in why]
    return said
