"""Contract by release, read from the package index by ranges; nothing is installed.

The drafter's and the references' answers are gathered once; then each release's engine is
asked the same questions. Kept answers carry over wherever no file they rest on changed.
"""

import gc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from investigator.agents.engine import EngineDesk
from investigator.agents.interface import AgentContext, AgentResult
from investigator.agents.quoting import answer_of
from investigator.case import Case
from investigator.checkpoint import Checkpoint
from investigator.engines.deployment import Deployment
from investigator.engines.registry import EngineKnown, known
from investigator.engines.remembered import Memory, Records
from investigator.errors import IncompleteError, InvestigateError, UsageError
from investigator.events import EventSink, ignore
from investigator.history import Cell, ReleaseRow, Timeline
from investigator.model import AgentStatus, Answer, Role
from investigator.run import Team, gather
from investigator.sources.interface import Tree
from investigator.sources.package_index import Release
from investigator.synthesizer import synthesize

AT_ONCE = 4
"""Releases under way together, at most: each holds its parsed files in memory."""

OpenRelease = Callable[[str], Tree]
Progress = Callable[[ReleaseRow], None]


@dataclass(frozen=True)
class Background:
    """What does not change from release to release."""

    checkpoint: Checkpoint
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class _NoEngine:
    """Stands in for the engine's agent, under its name, while the background is gathered."""

    name: str

    async def run(self, context: AgentContext) -> AgentResult:
        """Nothing."""
        return AgentResult()


def background(case: Case, team: Team, sink: EventSink = ignore) -> Background:
    """The drafter's and the references' answers; blocking. Raises InvestigateError."""
    quiet = Team(engine=_NoEngine(team.engine.name), hub=team.hub, others=team.others)
    gathered = gather(case, quiet, sink)
    if gathered.checkpoint is None:
        failed = [r.error for r in gathered.reports if r.status is AgentStatus.FAILED and r.error]
        raise IncompleteError(failed[0] if failed else "the drafter's config could not be read")
    return Background(gathered.checkpoint, gathered.answers)


def chosen(releases: Sequence[Release], first: str | None, last: str | None) -> tuple[Release, ...]:
    """The final releases from ``first`` to ``last``, both included. Raises UsageError."""
    low, high = bounds(first, last)
    found = tuple(
        release
        for release in releases
        if not release.prerelease
        and (low is None or Version(release.version) >= low)
        and (high is None or Version(release.version) <= high)
    )
    if not found:
        raise UsageError(
            f"no release lies between {first or 'the first'} and {last or 'the last'}",
            f"the index has {releases[0].version} to {releases[-1].version}" if releases else "",
        )
    return found


def bounds(first: str | None, last: str | None) -> tuple[Version | None, Version | None]:
    """Both ends of a span of releases; None: open. Raises UsageError for a span that holds nothing."""
    low, high = _bound(first), _bound(last)
    if low is not None and high is not None and low > high:
        raise UsageError(f"{first} comes after {last}", "give the earlier release with --from")
    return low, high


def _bound(text: str | None) -> Version | None:
    try:
        return Version(text) if text else None
    except InvalidVersion:
        raise UsageError(f"{text!r} is not a version", "write it like 0.20.1") from None


def read(
    engine: str,
    releases: Sequence[Release],
    open_release: OpenRelease,
    given: Background,
    records: Records,
    *,
    draft: str,
    deployment: Deployment | None = None,
    jobs: int = 2,
    progress: Progress = lambda row: None,
) -> Timeline:
    """Ask every release; blocking. One that cannot be read is a row that says why.

    ``deployment``: the settings that every release is asked about, flags that the engine knows.
    """
    kind, deployment = known(engine), deployment or {}
    memory = Memory(records, given.checkpoint, deployment)

    def row(release: Release) -> ReleaseRow:
        try:
            tree = open_release(release.version)
            made = ask_release(kind, release, tree, given, memory)
        except InvestigateError as error:
            made = ReleaseRow(version=release.version, unread=str(error), yanked=release.yanked)
        gc.collect()  # syntax trees hang together in circles, and the collector does not see their size
        progress(made)
        return made

    with ThreadPoolExecutor(max_workers=min(jobs, AT_ONCE), thread_name_prefix="release") as pool:
        rows = tuple(pool.map(row, releases))
    method = given.checkpoint.method
    return Timeline(engine=engine, draft=draft, rows=rows, method=method, deployment=deployment)


def ask_release(
    kind: EngineKnown,
    release: Release,
    tree: Tree,
    given: Background,
    memory: Memory,
    on_full_search: Callable[[str], None] | None = None,
) -> ReleaseRow:
    """One release's row; ``on_full_search`` hears of each search of the whole tree, with what was
    looked for. Raises what reading its files raises."""
    desk = EngineDesk(kind, memory, tree, on_full_search=on_full_search)
    choice = desk.default_runner()
    told = [
        answer_of(found, tree, contract=contract, role=Role.ENGINE, agent=kind.name, runner=runner)
        for contract, runner, found in desk.every()
    ]
    findings = synthesize([*told, *given.answers], given.checkpoint)
    engine = {tree.source.id}
    return ReleaseRow(
        version=release.version,
        runner=choice.runner,
        yanked=release.yanked,
        cells=tuple(
            Cell(
                contract=f.contract,
                runner=f.runner,
                verdict=f.verdict,
                why=f.why,
                evidence=tuple(e for e in f.evidence if e.source in engine),
            )
            for f in findings
        ),
    )
