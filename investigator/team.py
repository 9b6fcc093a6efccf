"""Who is sent out for a case, what each is asked, who judges, and who repairs.

The one place, beside the commands, that knows agents, contracts, the synthesizer and the
patches room all at once.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import investigator
from investigator.agents.engine import EngineAgent, EngineDesk
from investigator.agents.hub import HubAgent
from investigator.agents.pull_requests import PullRequestsAgent
from investigator.agents.quoting import answer_of
from investigator.agents.reference import ReferenceAgent, ask_is_possible
from investigator.case import Case
from investigator.checkpoint import Checkpoint
from investigator.code.program import ParsedFiles
from investigator.conduct import Assembly, Judgement, Repairs
from investigator.contracts.registry import CONTRACTS
from investigator.engines.registry import OWN, EngineKnown, known, names
from investigator.engines.remembered import Memory, Records
from investigator.events import EventSink
from investigator.kept_repairs import kept
from investigator.model import Answer, Finding, NotChecked, PullRequest, Role, Verdict
from investigator.pull_requests.study import study
from investigator.references.recorded import RecordedReference, read_recorded
from investigator.run import Gathered, Team
from investigator.settings import Settings
from investigator.sources.folder import open_whole_folder
from investigator.sources.github_client import pull_request_source
from investigator.sources.hub_client import hub_source
from investigator.sources.interface import Tree
from investigator.sources.open import Workspace, open_engine, open_git, open_package, recognise
from investigator.synthesizer import synthesize

if TYPE_CHECKING:
    from investigator.patches.verify import Verdicts

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
def assemble(case: Case, settings: Settings, sink: EventSink) -> Iterator[Assembly]:
    """Everything that a case needs, its network connections open for as long as the block runs."""
    workspace = Workspace.open(cache_dir=settings.cache_dir, offline=settings.offline, events=sink)
    with workspace.transport:
        yield assembly(case, workspace, sink)


def assembly(case: Case, workspace: Workspace, sink: EventSink) -> Assembly:
    """The team for a case in a workspace, its judge and its repair."""
    spec = recognise(case.engine, workspace, {name: known(name).folder for name in names()})
    kind = known(spec.name)
    engine_desk = workspace.for_agent(spec.name, events=sink)
    reference_desk = workspace.for_agent("reference", events=sink, seconds=REFERENCE_SECONDS)
    engine = EngineAgent(spec.name, lambda _: open_engine(spec, engine_desk, kind.folder), workspace.store)
    team = Team(
        engine=engine,
        hub=HubAgent(hub_source(workspace.transport, os.environ), CONTRACTS),
        others=(
            PullRequestsAgent(pull_request_source(workspace.transport, workspace.store, os.environ)),
            ReferenceAgent(lambda name: open_reference(name, reference_desk), recorded, workspace.store),
        ),
    )
    return Assembly(
        team=team, judge=_judge(engine, kind, workspace.store), repair=_repair(kind, workspace.store)
    )


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


def _judge(engine: EngineAgent, kind: EngineKnown, records: Records) -> Callable[[Case, Gathered], Judgement]:
    def judge(case: Case, gathered: Gathered) -> Judgement:
        choice = engine.choice
        findings = synthesize(gathered.answers, gathered.checkpoint)
        return Judgement(
            findings=findings,
            default_runner=choice.runner if choice else None,
            default_runner_why=choice.why if choice else "the engine could not be asked",
            pull_requests=_studied(kind, records, case, gathered, findings),
        )

    return judge


def _studied(
    kind: EngineKnown, records: Records, case: Case, gathered: Gathered, findings: Sequence[Finding]
) -> tuple[PullRequest, ...]:
    """The pull requests with what this engine makes of them, by effect."""
    checkpoint, tree = gathered.checkpoint, gathered.engine
    if checkpoint is None or tree is None:
        return gathered.pull_requests
    return study(
        gathered.pull_requests,
        gathered.trees,
        tree,
        ask_again(kind, records, case, checkpoint, gathered.answers),
        {(finding.contract, finding.runner): finding.verdict for finding in findings},
        {
            (finding.contract, finding.runner): [e for e in finding.evidence if e.source == tree.source.id]
            for finding in findings
        },
    ).pull_requests


# -- repairing -------------------------------------------------------------------------


def _repair(kind: EngineKnown, records: Records) -> Callable[[Case, Gathered, Judgement, EventSink], Repairs]:
    """Makes a proven patch for each broken promise on the engine's tree, or takes the kept ones."""

    def repair(case: Case, gathered: Gathered, judgement: Judgement, sink: EventSink) -> Repairs:  # noqa: ARG001
        checkpoint, tree = gathered.checkpoint, gathered.engine
        broken = [f for f in judgement.findings if f.verdict in (Verdict.BROKEN, Verdict.PARTIAL)]
        if checkpoint is None or tree is None or not broken:
            return Repairs()
        others = [asdict(answer) for answer in gathered.answers if answer.role is not Role.ENGINE]
        facts = [
            asdict(checkpoint),
            case.environment,
            others,
            [asdict(f) for f in broken],
            asdict(tree.source),
        ]
        asked = ask_again(kind, records, case, checkpoint, gathered.answers)
        return kept(
            records,
            tree,
            json.dumps(facts, sort_keys=True, default=str),
            lambda watched: _patches(watched, checkpoint, broken, asked),
        )

    return repair


def _patches(
    tree: Tree, checkpoint: Checkpoint, broken: Sequence[Finding], asked: Callable[[Tree], "Verdicts"]
) -> Repairs:
    from investigator.patches import Fault, generate

    series = generate(
        tree,
        [
            Fault(
                contract=contract,
                checkpoint=checkpoint,
                findings=tuple(finding for finding in broken if finding.contract == contract),
            )
            for contract in dict.fromkeys(finding.contract for finding in broken)
        ],
        asked,
        engine=f"{tree.source.id} {tree.source.revision}",
        when=tree.source.retrieved_at,
        signature=f"investigate {investigator.__version__}",
    )
    return Repairs(
        patches=series.patches,
        not_checked=tuple(
            NotChecked(
                what=f"a patch for {refusal.contract}", why=f"{refusal.reason}; instead: {refusal.instead}"
            )
            for refusal in series.refused
        ),
        proofs=series.as_json(),
    )


def ask_again(
    kind: EngineKnown, records: Records, case: Case, checkpoint: Checkpoint, answers: Sequence[Answer]
) -> Callable[[Tree], "Verdicts"]:
    """Puts every engine question to another tree; the other agents' answers stay as they are."""
    others = tuple(answer for answer in answers if answer.role is not Role.ENGINE)
    memory = Memory(records, checkpoint, case.environment)
    parsed = ParsedFiles()

    def verdicts(tree: Tree) -> "Verdicts":
        desk = EngineDesk(kind, memory, tree, parsed)
        told = [
            answer_of(
                replace(found, steps=()),  # nothing is quoted from a tree that is only tried out
                tree,
                contract=contract,
                role=Role.ENGINE,
                agent=kind.name,
                runner=runner,
            )
            for contract, runner, found in desk.every()
        ]
        found = synthesize([*told, *others], checkpoint)
        return {(finding.contract, finding.runner): finding.verdict for finding in found}

    return verdicts
