"""Who is sent out for a case, what each is asked, who judges, and who repairs.

The one place, beside the commands, that knows agents, contracts, the synthesizer and the
patches room all at once.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from investigator.agents.engine import EngineAgent
from investigator.agents.hub import HubAgent
from investigator.agents.pull_requests import PullRequestsAgent
from investigator.agents.reference import ReferenceAgent, ask_is_possible
from investigator.case import Case, EngineKind, EngineSpec
from investigator.code.program import ParsedFiles
from investigator.conduct import Assembly, Judgement
from investigator.contracts.registry import CONTRACTS
from investigator.engines.deployment import followed, refuse_unknown
from investigator.engines.registry import OWN, EngineKnown, known, names
from investigator.engines.remembered import Memory, Records
from investigator.events import EventSink, ignore
from investigator.model import Finding, PullRequest
from investigator.pull_requests.study import sorted_out, study
from investigator.references.recorded import RecordedReference, read_recorded
from investigator.repairing import ask_again, repairer
from investigator.run import Gathered, Team
from investigator.settings import Settings
from investigator.sources.folder import open_whole_folder
from investigator.sources.github_client import pull_request_source
from investigator.sources.hub_client import hub_source
from investigator.sources.interface import Tree
from investigator.sources.open import Workspace, open_engine, open_git, open_package, recognise
from investigator.synthesizer import synthesize

if TYPE_CHECKING:
    from investigator.comparison import Comparison

REFERENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Question:
    """A contract's question: the promise, and the agents it goes to."""

    promise: str
    asked: tuple[str, ...]


def questions(engines: Sequence[str] = tuple(OWN)) -> Mapping[str, Question]:
    """Every contract, and who is asked about it."""
    asked_of = {name: {contract for contract, _ in known(name).questions} for name in engines}
    return {
        contract.id: Question(
            contract.promise,
            tuple(
                agent
                for agent, asked in (
                    *((name, contract.id in asked) for name, asked in asked_of.items()),
                    ("hub", contract.ask_checkpoint is not None),
                    ("reference", ask_is_possible(contract.id)),
                )
                if asked
            ),
        )
        for contract in CONTRACTS
    }


@contextmanager
def assemble(
    case: Case, settings: Settings, sink: EventSink, *, upstream: bool = False
) -> Iterator[Assembly]:
    """Everything that a case needs, its network connections open for as long as the block runs."""
    workspace = Workspace.open(cache_dir=settings.cache_dir, offline=settings.offline, events=sink)
    with workspace.transport:
        yield assembly(case, workspace, sink, upstream=upstream)


def pinned(case: Case, settings: Settings, sink: EventSink = ignore) -> Case:
    """The case with its release, where only the engine was named: the newest one.

    Raises UsageError (no such engine, no release), OfflineError, SourceError.
    """
    if case.engine.kind is not EngineKind.NEWEST:
        return case
    known(case.engine.name)
    workspace = Workspace.open(cache_dir=settings.cache_dir, offline=settings.offline, events=sink)
    with workspace.transport:
        return replace(case, engine=recognise(case.engine, workspace, {}))


def assembly(case: Case, workspace: Workspace, sink: EventSink, *, upstream: bool = False) -> Assembly:
    """The team for a case in a workspace, its judge and its repair.

    ``upstream``: patches get regression tests, as for a pull request.
    """
    spec = recognised(case.engine, workspace)
    kind = known(spec.name)
    refuse_unknown(kind.name, case.deployment, kind.flags)
    engine_desk = workspace.for_agent(spec.name, events=sink)
    reference_desk = workspace.for_agent("reference", events=sink, seconds=REFERENCE_SECONDS)
    parsed = ParsedFiles()
    engine = EngineAgent(
        spec.name, lambda _: open_engine(spec, engine_desk, kind.folder), workspace.store, parsed
    )
    team = Team(
        engine=engine,
        hub=HubAgent(hub_source(workspace.transport, os.environ), CONTRACTS),
        others=(
            PullRequestsAgent(pull_request_source(workspace.transport, workspace.store, os.environ)),
            ReferenceAgent(lambda name: open_reference(name, reference_desk), recorded, workspace.store),
        ),
    )
    return Assembly(
        team=team,
        judge=_judge(engine, kind, workspace.store, parsed),
        repair=repairer(kind, workspace.store, parsed, upstream=upstream),
    )


def compared(one: Case, other: Case, workspace: Workspace) -> "Comparison":
    """Two engines for one drafter; blocking. Raises InvestigateError."""
    from investigator.compare import Asked, ask, compare
    from investigator.timeline import background

    plain = replace(one, flags={})
    given = background(plain, assembly(plain, workspace, ignore).team)
    specs = [recognised(case.engine, workspace) for case in (one, other)]
    kinds = [known(spec.name) for spec in specs]
    both = " and ".join(dict.fromkeys(kind.name for kind in kinds))
    refuse_unknown(both, one.deployment, {flag for kind in kinds for flag in kind.flags})

    def asked(case: Case, spec: EngineSpec, kind: EngineKnown) -> Asked:
        memory = Memory(workspace.store, given.checkpoint, followed(case.deployment, kind.flags))
        return ask(str(case.engine), kind, open_engine(spec, workspace, kind.folder), memory, given.answers)

    target = given.checkpoint.target
    sides = [asked(case, spec, kind) for case, spec, kind in zip((one, other), specs, kinds, strict=True)]
    found = compare(*sides, draft=str(one.draft), target=target.repo if target else None)
    return replace(found, method=given.checkpoint.method, deployment=one.deployment)


def recognised(spec: EngineSpec, workspace: Workspace) -> EngineSpec:
    """The engine with its name as its tree says it. Raises UsageError."""
    if spec.kind is EngineKind.RELEASE:  # a release names its engine: the others stay unloaded
        return spec
    return recognise(spec, workspace, {name: known(name).folder for name in names()})


def open_reference(name: str, workspace: Workspace) -> Tree:
    """What ``--reference`` names: ``dflash==0.1.0``, ``path:DIR``, ``git:PLACE[@REF]`` or
    ``github:OWNER/NAME[@REF]``. Raises UsageError.
    """
    if name.startswith(("git:", "github:")):
        return open_git(name, workspace)
    if name.startswith("path:"):
        return open_whole_folder(Path(name.removeprefix("path:")))
    return open_package(name, workspace)


def recorded(name: str) -> RecordedReference | None:
    """The facts about a reference that this program ships, if there are any."""
    kind, _, rest = name.partition(":")
    where = rest.partition("@")[0]
    if kind != "github" or "/" not in where:
        return None
    file = files("investigator.fixtures") / "references" / f"{where.replace('/', '__')}.json"
    return read_recorded(file.read_bytes(), file.name) if file.is_file() else None


# -- judging ---------------------------------------------------------------------------


def _judge(
    engine: EngineAgent, kind: EngineKnown, records: Records, parsed: ParsedFiles
) -> Callable[[Case, Gathered], Judgement]:
    def judge(case: Case, gathered: Gathered) -> Judgement:
        choice = engine.choice
        findings = synthesize(gathered.answers, gathered.checkpoint)
        return Judgement(
            findings=findings,
            default_runner=choice.runner if choice else None,
            default_runner_why=choice.why if choice else "the engine could not be asked",
            pull_requests=_studied(kind, records, parsed, case, gathered, findings),
        )

    return judge


def _studied(
    kind: EngineKnown,
    records: Records,
    parsed: ParsedFiles,
    case: Case,
    gathered: Gathered,
    findings: Sequence[Finding],
) -> tuple[PullRequest, ...]:
    """The pull requests with what this engine makes of them, by effect."""
    checkpoint, tree = gathered.checkpoint, gathered.engine
    if checkpoint is None or tree is None:
        return gathered.pull_requests
    ours, others = sorted_out(gathered.pull_requests, kind.project, kind.name)
    studied = study(
        ours,
        gathered.trees,
        tree,
        ask_again(kind, records, parsed, case, checkpoint, gathered.answers),
        {(finding.contract, finding.runner): finding.verdict for finding in findings},
        {
            (finding.contract, finding.runner): [e for e in finding.evidence if e.source == tree.source.id]
            for finding in findings
        },
    ).pull_requests
    by_ref = {request.ref: request for request in (*studied, *others)}
    return tuple(by_ref[request.ref] for request in gathered.pull_requests)
