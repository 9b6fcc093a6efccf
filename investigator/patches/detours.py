"""Command lines that avoid faults without a patch, and what each of them leaves as it is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from investigator.checkpoint import Checkpoint
from investigator.model import Finding, Remedy, Runner, Verdict
from investigator.patches.settings import RUNNER_VARIABLE, Setting, serve_command
from investigator.remedies import TO_REPAIR

_STOPS = (Verdict.REFUSED, Verdict.UNSUPPORTED)
"""Verdicts of a runner that does not run this drafter at all."""


@dataclass(frozen=True, kw_only=True)
class Detour:
    """One way to serve this drafter on the engine as it is.

    ``command`` can be pasted into a shell. ``runner``: the one that it runs, where that is known.
    ``avoids``: contracts whose faults do not happen any more. ``leaves``: those that stay at fault.
    ``undecided``: those that are not known on that runner.
    """

    command: str
    runner: Runner | None
    avoids: tuple[str, ...]
    leaves: tuple[str, ...]
    undecided: tuple[str, ...] = ()


def usable(settings: Iterable[Setting], findings: Sequence[Finding]) -> tuple[Setting, ...]:
    """The settings less those that switch to a runner that stops on this drafter."""
    stopped = {finding.runner for finding in findings if finding.verdict in _STOPS}
    return tuple(s for s in settings if _target(s) is None or _target(s) not in stopped)


def remedies_of(settings: Sequence[Setting], findings: Sequence[Finding]) -> Mapping[str, tuple[Remedy, ...]]:
    """What the settings do about each faulty question (``contract`` or ``contract/runner``)."""
    return {
        finding.question: tuple(
            dict.fromkeys(setting.remedy() for setting in settings if _helps(setting, finding))
        )
        for finding in findings
        if finding.verdict in TO_REPAIR and any(_helps(setting, finding) for setting in settings)
    }


def detours(
    checkpoint: Checkpoint,
    settings: Sequence[Setting],
    findings: Sequence[Finding],
    runner: Runner | None,
    given: Setting,
) -> tuple[Detour, ...]:
    """Ways to serve on the ``runner`` in use, and on the other one where that leaves fewer faults.

    None on a runner that stops on this drafter.

    ``given``: what the deployment sets anyway.
    """
    faults = _contracts(findings, runner, TO_REPAIR)
    switches = [s for s in settings if runner is not None and _target(s) not in (None, runner)]
    found = []
    for switch in (None, *switches[:1]):
        runs = _target(switch) if switch else runner
        if _contracts(findings, runs, _STOPS):
            continue
        there = _contracts(findings, runs, TO_REPAIR)
        chosen = _chosen([s for s in settings if _target(s) is None and s.contract in there])
        left = [contract for contract in there if not any(_avoids(s, contract, settings) for s in chosen)]
        if len(left) < len(faults):
            found.append(
                Detour(
                    command=serve_command(checkpoint, [given, *([switch] if switch else []), *chosen]),
                    runner=runs,
                    avoids=tuple(contract for contract in faults if contract not in left),
                    leaves=tuple(left),
                    undecided=_contracts(findings, runs, (Verdict.UNKNOWN,)),
                )
            )
    return tuple(found)


def _chosen(settings: Sequence[Setting]) -> list[Setting]:
    """The first setting of each contract, contracts with the least choice first; none twice."""
    options: dict[str, list[Setting]] = {}
    for setting in settings:
        options.setdefault(setting.contract, []).append(setting)
    chosen: dict[str, Setting] = {}
    for choice in sorted(options.values(), key=len):
        if not any(setting.ref in chosen for setting in choice):
            chosen[choice[0].ref] = choice[0]
    return list(chosen.values())


def _avoids(setting: Setting, contract: str, settings: Sequence[Setting]) -> bool:
    """Whether the same setting is among those of this contract."""
    return any(other.ref == setting.ref and other.contract == contract for other in settings)


def _helps(setting: Setting, finding: Finding) -> bool:
    target = _target(setting)
    return setting.contract == finding.contract and (target is None or target is not finding.runner)


def _target(setting: Setting) -> Runner | None:
    """The model runner that a setting switches to."""
    value = setting.environment.get(RUNNER_VARIABLE)
    return None if value is None else Runner.V2 if value == "1" else Runner.V1


def _contracts(
    findings: Sequence[Finding], runner: Runner | None, verdicts: Sequence[Verdict]
) -> tuple[str, ...]:
    """Contracts with one of these verdicts on a runner; on any, where it is not known."""
    return tuple(
        dict.fromkeys(
            finding.contract
            for finding in findings
            if finding.verdict in verdicts and (runner is None or finding.runner in (None, runner))
        )
    )
