"""From broken promises to proven patches and to settings that avoid them, on one engine's tree."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import investigator
from investigator.agents.engine import EngineDesk
from investigator.agents.quoting import answer_of
from investigator.case import Case
from investigator.checkpoint import Checkpoint
from investigator.code.program import ParsedFiles, Program
from investigator.conduct import Judgement, Repair, Repairs
from investigator.engines.registry import EngineKnown
from investigator.engines.remembered import Memory, Records
from investigator.events import EventSink
from investigator.kept_repairs import kept
from investigator.model import Answer, Finding, NotChecked, Role, Runner, Verdict
from investigator.remedies import TO_REPAIR, with_remedies
from investigator.run import Gathered
from investigator.sources.interface import Tree
from investigator.synthesizer import synthesize

if TYPE_CHECKING:
    from investigator.patches import Fault
    from investigator.patches.settings import Setting
    from investigator.patches.verify import Verdicts

UNDATED = datetime(2001, 9, 17, tzinfo=UTC)
"""The date of patches for a tree that has none: a patch is the same in every run."""

_PATCHED = (Verdict.BROKEN, Verdict.PARTIAL)


def repairer(kind: EngineKnown, records: Records, parsed: ParsedFiles, *, upstream: bool = False) -> Repair:
    """Makes a proven patch for each broken promise on the engine's tree, or takes the kept ones.

    ``parsed``: the tree's files, as far as they were parsed before. ``upstream``: with regression
    tests, as for a pull request.
    """

    def repair(case: Case, gathered: Gathered, judgement: Judgement, sink: EventSink) -> Repairs:  # noqa: ARG001
        checkpoint, tree = gathered.checkpoint, gathered.engine
        if checkpoint is None or tree is None or all(f.verdict not in TO_REPAIR for f in judgement.findings):
            return Repairs()
        findings = with_remedies(judgement.findings, judgement.pull_requests)
        others = [asdict(answer) for answer in gathered.answers if answer.role is not Role.ENGINE]
        facts = [
            asdict(checkpoint),
            case.deployment,
            others,
            [asdict(finding) for finding in findings],
            judgement.default_runner,
            [tree.source.id, tree.source.revision, tree.source.released_at],
            upstream,
        ]
        asked = ask_again(kind, records, parsed, case, checkpoint, gathered.answers)
        return kept(
            records,
            tree,
            json.dumps(facts, sort_keys=True, default=str),
            lambda watched: _repairs(
                watched,
                parsed,
                case,
                checkpoint,
                findings,
                judgement.default_runner,
                asked,
                upstream=upstream,
            ),
        )

    return repair


def _repairs(
    tree: Tree,
    parsed: ParsedFiles,
    case: Case,
    checkpoint: Checkpoint,
    findings: Sequence[Finding],
    runner: Runner | None,
    asked: Callable[[Tree], "Verdicts"],
    *,
    upstream: bool,
) -> Repairs:
    from investigator.patches import generate
    from investigator.patches.detours import detours, remedies_of

    settings = _settings(Program(tree, parsed=parsed), checkpoint, findings)
    around = remedies_of(settings, findings)
    series = generate(
        tree,
        faults(checkpoint, with_remedies(findings, (), settings=around), _PATCHED),
        asked,
        engine=f"{tree.source.id} {tree.source.revision}",
        when=tree.source.released_at or UNDATED,
        signature=f"investigate {investigator.__version__}",
        upstream=upstream,
        parsed=parsed,
    )
    return Repairs(
        patches=series.patches,
        not_checked=tuple(
            NotChecked(
                what=f"a patch for {refusal.contract}", why=f"{refusal.reason}; instead: {refusal.instead}"
            )
            for refusal in series.refused
        ),
        proofs={**series.as_json(), "serve": _serve(tree, case, checkpoint)},
        settings=around,
        detours=tuple(
            asdict(detour) for detour in detours(checkpoint, settings, findings, runner, _given(case))
        ),
    )


def _serve(tree: Tree, case: Case, checkpoint: Checkpoint) -> str | None:
    """What serves this drafter on the patched engine; None for an engine whose words are not known."""
    from investigator.patches.settings import serve_command

    if tree.source.id != "vllm":
        return None
    return serve_command(checkpoint, [_given(case)])


def _given(case: Case) -> "Setting":
    """What the deployment sets, as a setting to serve with."""
    from investigator.patches.settings import Setting

    flags = tuple(f"{name}={value}" if value else name for name, value in case.flags.items())
    return Setting(contract="", effect="", environment=case.environment, flags=flags)


def _settings(program: Program, checkpoint: Checkpoint, findings: Sequence[Finding]) -> "tuple[Setting, ...]":
    from investigator.patches.detours import usable
    from investigator.patches.settings import settings_for

    verdicts = {(finding.contract, finding.runner): finding.verdict for finding in findings}
    return usable(settings_for(program, faults(checkpoint, findings, TO_REPAIR), verdicts), findings)


def faults(checkpoint: Checkpoint, findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> "list[Fault]":
    """One fault per contract that has one of these verdicts, with all its findings that do."""
    from investigator.patches import Fault

    bad = [finding for finding in findings if finding.verdict in verdicts]
    return [
        Fault(
            contract=contract,
            checkpoint=checkpoint,
            findings=tuple(finding for finding in bad if finding.contract == contract),
        )
        for contract in dict.fromkeys(finding.contract for finding in bad)
    ]


def ask_again(
    kind: EngineKnown,
    records: Records,
    parsed: ParsedFiles,
    case: Case,
    checkpoint: Checkpoint,
    answers: Sequence[Answer],
) -> Callable[[Tree], "Verdicts"]:
    """Puts every engine question to another tree; the other agents' answers stay as they are.

    ``parsed``: files of such trees that were parsed before, and those that will be.
    """
    others = tuple(answer for answer in answers if answer.role is not Role.ENGINE)
    memory = Memory(records, checkpoint, case.deployment)

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
