"""What to do about an investigation, in a few sentences: the part that a reader in a hurry needs."""

from collections.abc import Iterable, Iterator, Sequence

from investigator.model import Finding, Investigation, PullRequestState, RemedyKind, Verdict, contract_of
from investigator.reports import summary


def advice(investigation: Investigation) -> tuple[str, ...]:
    """The next steps, the most effective first. Accepted findings and the runner not in use ask for none."""
    findings = [f for f in investigation.findings if summary.in_use(f, investigation)]
    faults = [
        f
        for f in summary.ordered(investigation)
        if f in findings and f.verdict in summary.TO_EXPLAIN and not summary.is_accepted(f, investigation)
    ]
    undecided = [f for f in findings if f.verdict is Verdict.UNKNOWN]
    steps = list(_repairs(investigation, faults)) if faults else list(_nothing(findings, undecided))
    if undecided:
        lacks = dict.fromkeys(a.error for a in investigation.agents if a.error)
        because = f" Not to be had: {'; '.join(lacks)}." if lacks else ""
        steps.append(f"Not decided: {listed(contracts(undecided))}; the reasons are below.{because}")
    return tuple(steps)


def contracts(findings: Iterable[Finding]) -> list[str]:
    """Each contract's id once."""
    return list(dict.fromkeys(finding.contract for finding in findings))


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _nothing(findings: Sequence[Finding], undecided: Sequence[Finding]) -> Iterator[str]:
    if undecided and len(findings) > len(undecided):
        yield "Nothing of what was decided needs a repair."
    elif findings and not undecided:
        yield "Nothing needs a repair. If acceptance is low all the same, look at prompts and settings."


def _repairs(investigation: Investigation, faults: Sequence[Finding]) -> Iterator[str]:
    at_fault = contracts(faults)
    proven = {contract_of(name) for patch in investigation.patches for name in patch.proof.repaired}
    mended = [name for name in at_fault if name in proven]
    eased = {contract_of(name) for patch in investigation.patches for name in patch.proof.eased}
    better = [name for name in at_fault if name in eased - proven]
    left = [name for name in at_fault if name not in eased | proven]
    if mended:
        number = len(investigation.patches)
        what = "the patch" if number == 1 else f"the {number} patches"
        partly = f", {listed(better)} in part" if better else ""
        stay = f"; {listed(left)} {'stays' if len(left) == 1 else 'stay'} as {_it(left)}" if left else ""
        yield f"Put {what} below on this engine: {listed(mended)} {_are(mended)} repaired then{partly}{stay}."
    for setting, names in _by_setting(faults).items():
        yield f"Without a patch, {setting} avoids {listed(names)}, at the cost named below."
    for pull in investigation.pull_requests:
        names = [name for name in at_fault if name in pull.repairs]
        if names and pull.state is PullRequestState.MERGED and pull.contained is False:
            since = f" on {pull.merged_at:%Y-%m-%d}" if pull.merged_at else ""
            yield (
                f"Later releases: {pull.ref}, merged{since}, repairs {listed(names)}; "
                "'investigate timeline' shows from which release on."
            )
    if asleep := contracts(f for f in faults if f.live is False):
        yield f"Dormant with the defaults of this case, until a setting changes: {listed(asleep)}."
    for fault in faults:
        if fault.verdict is Verdict.PARTIAL and not fault.remedies:
            yield f"Mind the condition of {fault.contract}: {fault.why}."
    if not any(fault.remedies or fault.verdict is Verdict.PARTIAL for fault in faults):
        name, release, _ = investigation.case.engine.partition("==")
        which = f" --engine {name}" if release else ""
        yield f"No patch, no setting is known; 'investigate timeline{which}' shows which releases keep them."


def _by_setting(faults: Sequence[Finding]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for fault in faults:
        for remedy in fault.remedies:
            if remedy.kind is RemedyKind.SETTING and fault.contract not in found.setdefault(remedy.ref, []):
                found[remedy.ref].append(fault.contract)
    return found


def _it(names: Sequence[str]) -> str:
    return "it is" if len(names) == 1 else "they are"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
