"""Every answer that a whole run gets, spoilt in every way, at the index, the Hub and GitHub.

A finding is what an undisturbed run finds, or unknown; an agent that failed says why and what to do;
and the next run, with the same store and no fault, finds exactly what an undisturbed one finds.
"""

import os
import random
import tempfile
from collections import Counter
from pathlib import Path

import investigator
from investigator.case import Case, EngineSpec, RepoSpec
from investigator.errors import InvestigateError
from investigator.model import Investigation, Verdict
from investigator.settings import Settings
from tests.support.fault_proxy import Fault
from tests.support.github_server import REPO as ENGINE
from tests.support.hub_server import REPO as DRAFTER
from tests.support.whole_case import WholeCase, whole_case

REQUESTS = {"index": 5, "hub": 4, "github": 3}
"""What a cold run asks of each."""

Verdicts = dict[tuple[str, str], Verdict]


def campaign(count: int, chance: random.Random) -> Counter[str]:
    """``count`` runs; each fault at each request as often as they come, then several at once."""
    counts: Counter[str] = Counter()
    plans = [
        {server: {number: fault}}
        for server, requests in REQUESTS.items()
        for number in range(requests)
        for fault in Fault
    ]
    while len(plans) < count:
        plans.append(
            {
                server: {number: chance.choice(list(Fault)) for number in chance.sample(range(requests), 2)}
                for server, requests in REQUESTS.items()
            }
        )
    if len(plans) > count:
        plans = chance.sample(plans, count)
    with tempfile.TemporaryDirectory() as name, whole_case(Path(name), stall=1.0) as case:
        os.environ |= case.environment(case.folder / "unused")
        right = verdicts(asked(case, case.folder / "cache"))
        for number, plan in enumerate(plans):
            cache = case.folder / f"cache-{number}"
            for server, proxy in case.proxies.items():
                proxy.seen, proxy.faults = 0, plan.get(server, {})
            counts[outcome(case, cache, right)] += 1
            counts["faults injected"] += sum(len(faults) for faults in plan.values())
            for proxy in case.proxies.values():
                proxy.faults = {}
            healed = verdicts(asked(case, cache)) == right
            counts["healed" if healed else f"FIND: not healed after {plan}"] += 1
    return counts


def outcome(case: WholeCase, cache: Path, right: Verdicts) -> str:
    """What became of one run; begins with FIND when it claims what is not so."""
    try:
        found = asked(case, cache)
    except InvestigateError as error:
        return "clear error" if error.advice else f"FIND: no advice: {error}"
    wrong = [
        key for key, verdict in verdicts(found).items() if verdict not in (right.get(key), Verdict.UNKNOWN)
    ]
    if wrong:
        return f"FIND: wrong {wrong[0]}"
    failed = [report for report in found.agents if report.error]
    if any("defect" in (report.error or "") for report in failed):
        return f"FIND: {failed[0].error}"
    if verdicts(found) == right:
        return "all found, an agent partial" if failed else "all found"
    return "some unknown, and why" if failed else "FIND: less was found, and nobody says why"


def asked(case: WholeCase, cache: Path) -> Investigation:
    """One investigation through the Python interface."""
    return investigator.investigate(
        Case(
            engine=EngineSpec.parse("vllm==0.20.0"),
            draft=RepoSpec.parse(DRAFTER),
            target=RepoSpec.parse(f"path:{case.folder / 'target'}"),
            references=(f"path:{case.folder / 'reference'}",),
            pull_requests=(f"{ENGINE}#7",),
        ),
        Settings(cache_dir=cache),
    )


def verdicts(found: Investigation) -> Verdicts:
    """Verdict by contract and runner."""
    return {(finding.contract, str(finding.runner)): finding.verdict for finding in found.findings}
