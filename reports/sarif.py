"""``findings.sarif``: SARIF 2.1.0 as GitHub code scanning takes it.

Results are what a maintainer has to act on; what could not be decided is a notification of
the run, since code scanning would show a result of any kind as an alert. The evidence after
the first piece is a result's related locations, and all of it one code flow, in the order in
which the value travels. A fingerprint rests on the contract, runner, engine and drafter, so
that it stays the same when lines move or a new release is looked at.
"""

import hashlib
import json
from typing import cast

from investigator.explain import BY_CONTRACT, Explanation
from investigator.model import AgentStatus, Evidence, Finding, Investigation, Json, Verdict
from investigator.reports import summary
from investigator.reports.escape import markdown, markdown_code, markdown_fence, shortened, visible
from investigator.reports.markdown import sentence

LEVELS: dict[Verdict, str] = {
    Verdict.BROKEN: "error",
    Verdict.PARTIAL: "warning",
    Verdict.REFUSED: "warning",
}
LONGEST_DESCRIPTION = 1000
"""Characters: GitHub takes 1,024 of a rule's description."""
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

JsonObject = dict[str, Json]


def render(investigation: Investigation) -> str:
    """The document as text, ASCII only, ending in a line end."""
    return json.dumps(as_json(investigation), indent=2, ensure_ascii=True) + "\n"


def as_json(investigation: Investigation) -> JsonObject:
    """The document as JSON's own types."""
    results = [f for f in summary.ordered(investigation) if f.verdict in LEVELS]
    rules = {finding.contract: _rule(finding) for finding in results}
    numbers = {contract: number for number, contract in enumerate(rules)}
    run: JsonObject = {
        "tool": {
            "driver": {
                "name": "investigate",
                "version": investigation.tool_version or "0",
                "rules": list(rules.values()),
            }
        },
        # Up to its last slash the id is the category: runs about other pairs leave each other's alerts alone.
        "automationDetails": {
            "id": f"investigate/{_engine_name(investigation)}/{_draft_name(investigation)}/"
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(investigation)],
        "results": [_result(investigation, f, numbers[f.contract]) for f in results if f.evidence],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding) -> JsonObject:
    """The contract itself: the same in every run, so that an alert's rule does not change with the case."""
    known = BY_CONTRACT.get(finding.contract)
    promise = known.promise if known else finding.promised or finding.contract
    more = f"investigate explain {finding.contract}"
    text = f"{known.matters}\n\n{' '.join(known.repair)}\n\n{more}" if known else more
    return {
        "id": finding.contract,
        "name": "".join(part.capitalize() for part in finding.contract.split("-")),
        "shortDescription": {"text": _text(shortened(promise, LONGEST_DESCRIPTION))},
        "fullDescription": {"text": _text(shortened(promise, LONGEST_DESCRIPTION))},
        "defaultConfiguration": {"level": LEVELS[finding.verdict]},
        "help": {"text": _text(text), "markdown": _help(known) if known else markdown_code(more)},
    }


def _help(known: Explanation) -> str:
    """The explanation as GitHub shows it beside an alert."""
    parts = [f"**{known.promise}**", known.matters, markdown_fence(known.drawing, "text")]
    for title, items in (("How engines break it", known.breaks), ("What repairs it", known.repair)):
        parts.append("\n".join([f"{title}:", "", *(f"- {markdown(item)}" for item in items)]))
    return "\n\n".join(parts)


def _result(investigation: Investigation, finding: Finding, rule: int) -> JsonObject:
    first, *others = finding.evidence
    related = [_location(investigation, item) | {"id": number} for number, item in enumerate(others, 1)]
    steps: list[Json] = [
        {"location": _location(investigation, item), "executionOrder": number}
        for number, item in enumerate(finding.evidence, 1)
    ]
    result: JsonObject = {
        "ruleId": finding.contract,
        "ruleIndex": rule,
        "level": LEVELS[finding.verdict],
        "message": {"text": _message(finding)},
        "locations": [_location(investigation, first)],
        # Code scanning tracks alerts by the first name alone; the second is ours, for other readers.
        "partialFingerprints": {
            "primaryLocationLineHash": f"{fingerprint(investigation, finding)}:1",
            "investigate/v1": fingerprint(investigation, finding),
        },
        "codeFlows": [{"threadFlows": [{"locations": steps}]}],
        "properties": {
            "verdict": finding.verdict.value,
            "runner": finding.runner.value if finding.runner else None,
            "inUse": summary.in_use(finding, investigation),
            "live": finding.live,
        },
    }
    result |= {"relatedLocations": cast(Json, related)} if related else {}
    if summary.is_accepted(finding, investigation):
        result["suppressions"] = [{"kind": "external", "justification": "known, by the baseline"}]
    return result


def _message(finding: Finding) -> str:
    """What is wrong, what it costs, what repairs it; code scanning makes its title of the first sentence."""
    said = [f"{summary.title(finding)} is {finding.verdict.value}: {finding.why}"]
    said += [finding.happens] if finding.happens != finding.why else []
    said.append(finding.consequence)
    if finding.remedies:
        ways = (f"{summary.kind_words(remedy.kind)} {remedy.ref}" for remedy in finding.remedies)
        said.append(f"What to do: {', '.join(ways)}")
    return _text(" ".join(sentence(part) for part in said if part))


def _location(investigation: Investigation, evidence: Evidence) -> JsonObject:
    """A place; the engine's files by their path, so that they resolve in its own repository."""
    link = summary.permalink(investigation, evidence)
    seen = f" ({link})" if link else ""
    recorded = evidence.recorded_from.rpartition(":")[2]
    region: JsonObject = (
        {"startLine": int(recorded)}
        if recorded.isdecimal()
        else {
            "startLine": evidence.line,
            "endLine": evidence.end_line,
            "snippet": {"text": evidence.quote},
        }
    )
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(investigation, evidence)},
            "region": region,
        },
        "message": {"text": _text(f"{evidence.source}: {evidence.role or 'evidence'}{seen}")},
    }


def _uri(investigation: Investigation, evidence: Evidence) -> str:
    """Relative, always: code scanning turns a whole file down for one address of another scheme."""
    engine = next((a.source for a in investigation.answers if a.role == "engine"), None)
    path = evidence.recorded_from.rpartition(":")[0] or evidence.path
    return summary.quoted_path(path if evidence.source == engine else f"{evidence.source}/{path}")


def fingerprint(investigation: Investigation, finding: Finding) -> str:
    """32 hex digits that stay the same from release to release and from run to run."""
    runner = finding.runner.value if finding.runner else ""
    parts = (finding.contract, runner, _engine_name(investigation), _draft_name(investigation))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _engine_name(investigation: Investigation) -> str:
    engine = investigation.case.engine
    return engine.partition("==")[0] if "==" in engine else engine.partition(":")[0]


def _draft_name(investigation: Investigation) -> str:
    return investigation.case.draft.partition("@")[0]


def _invocation(investigation: Investigation) -> JsonObject:
    failed = [agent for agent in investigation.agents if agent.status is AgentStatus.FAILED]
    said = [("error", f"agent {agent.name} failed: {agent.error}") for agent in failed]
    said += [
        ("note", f"{summary.title(finding)} is unknown: {finding.why}")
        for finding in investigation.findings
        if finding.verdict is Verdict.UNKNOWN
    ]
    return {
        "executionSuccessful": not failed,
        "commandLine": investigation.command,
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": _text(text)}} for level, text in said
        ],
    }


def _text(text: str) -> str:
    """A message: in SARIF, brackets in plain text make links unless a backslash stands before."""
    return visible(text).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
