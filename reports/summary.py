"""What every format says the same way: order, headline, places, remedies."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from investigator.model import (
    Evidence,
    Finding,
    Investigation,
    Origin,
    RemedyKind,
    Runner,
    Source,
    SourceKind,
    Verdict,
)
from investigator.outcome import concerns_case
from investigator.reports.escape import safe_url

MEANINGS: dict[Verdict, str] = {
    Verdict.BROKEN: "runs, and does something else than the drafter was trained on",
    Verdict.PARTIAL: "holds under a condition that this case may not meet",
    Verdict.REFUSED: "the engine stops with an error that names the reason",
    Verdict.UNSUPPORTED: "there is no such method in this runner",
    Verdict.UNKNOWN: "could not be decided; the reason is given",
    Verdict.NOT_APPLICABLE: "this drafter does not need it",
    Verdict.HONOURED: "the engine does what the drafter was trained on",
}

SIGNS: dict[Verdict, str] = {
    Verdict.BROKEN: "✗",
    Verdict.PARTIAL: "◐",
    Verdict.REFUSED: "⊘",
    Verdict.UNSUPPORTED: "–",
    Verdict.UNKNOWN: "?",
    Verdict.NOT_APPLICABLE: "·",
    Verdict.HONOURED: "✓",
}

_COMMIT = re.compile("[0-9a-f]{40}")

OF_CONFIGURATION = ("config-coverage", "silent-default")
"""Contracts about keys of the checkpoint: a breach lies between its file and the engine's."""

TO_EXPLAIN = (Verdict.BROKEN, Verdict.PARTIAL, Verdict.REFUSED)
"""Verdicts that get a section of their own in a report, the worst first."""

_OPENINGS = {
    Verdict.BROKEN: "This engine does not keep what this drafter was trained on",
    Verdict.PARTIAL: "This engine keeps what this drafter was trained on under a condition only",
    Verdict.REFUSED: "This engine refuses what this drafter was trained on",
}
"""The answer by its worst news."""


def in_use(finding: Finding, investigation: Investigation) -> bool:
    """Whether a finding is about the runner that this case uses by default (or about both)."""
    return concerns_case(finding, investigation.default_runner)


def ordered(investigation: Investigation) -> tuple[Finding, ...]:
    """Findings as a reader wants them: the runner in use first, then the worst news."""
    worst_first = list(Verdict)
    return tuple(
        sorted(
            investigation.findings,
            key=lambda f: (not in_use(f, investigation), worst_first.index(f.verdict)),
        )
    )


def counted(findings: Iterable[Finding]) -> dict[Verdict, int]:
    """How often each verdict was given, the worst first, none that was not given."""
    verdicts = [finding.verdict for finding in findings]
    return {verdict: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts}


def is_accepted(finding: Finding, investigation: Investigation) -> bool:
    """Whether a baseline holds this finding as known."""
    accepted = investigation.extra.get("accepted")
    return isinstance(accepted, list | tuple) and finding.question in accepted


def failure_mode(finding: Finding, investigation: Investigation) -> str | None:
    """What kind of failure a finding is; None where there is none, or it is not known."""
    if finding.verdict in (Verdict.REFUSED, Verdict.UNSUPPORTED):
        return "missing feature"
    if finding.verdict not in (Verdict.BROKEN, Verdict.PARTIAL):
        return None
    if any(item.what == f"{finding.contract}: the references differ" for item in investigation.not_checked):
        return "reference divergence"
    return "configuration mismatch" if finding.contract in OF_CONFIGURATION else "implementation fault"


def own_method(method: str | None) -> str:
    """What follows a drafter's name where that may be a whole model's, too; empty elsewhere."""
    return " (its MTP layers)" if method == "mtp" else ""


def setting_words(deployment: Mapping[str, str]) -> str:
    """What follows an engine's name where the deployment sets something: a comma, and the settings."""
    return "".join(f", {name}={value}" if value else f", {name}" for name, value in deployment.items())


def headline(investigation: Investigation) -> str:
    """The answer in one sentence, for the runner in use."""
    here = counted(f for f in investigation.findings if in_use(f, investigation))
    bad = [f"{number} {verdict.value}" for verdict, number in here.items() if verdict in TO_EXPLAIN]
    honoured = here.get(Verdict.HONOURED, 0)
    bad += [f"{honoured} honoured"] if bad and honoured else []
    unknown = here.get(Verdict.UNKNOWN, 0)
    if not here or unknown == sum(here.values()):
        return "Nothing could be decided"
    if bad:
        return f"{_OPENINGS[next(v for v in TO_EXPLAIN if v in here)]}: {', '.join(bad)}"
    if unknown:
        return f"No promise was found broken, but {unknown} of {sum(here.values())} could not be decided"
    return "No promise was found broken" + (f": {honoured} honoured" if honoured else "")


def runner_name(runner: Runner | None) -> str:
    """``V1``, ``V2``, or ``–`` where the runner makes no difference."""
    return "–" if runner is None else runner.value.upper()


def place(evidence: Evidence) -> str:
    """``path:line`` or ``path:line-line``; of a record, the place that it was made of."""
    if evidence.recorded_from:
        return evidence.recorded_from
    end = "" if evidence.end_line == evidence.line else f"-{evidence.end_line}"
    return f"{evidence.path}:{evidence.line}{end}"


def permalink(investigation: Investigation, evidence: Evidence) -> str | None:
    """Where a reader can see these lines, when their source has such a place."""
    source = next((s for s in investigation.sources if s.id == evidence.source), None)
    if source is None or source.permalink is None:
        return None
    path, line = evidence.path, str(evidence.line)
    if evidence.recorded_from:
        path, _, line = evidence.recorded_from.rpartition(":")
    elif evidence.end_line != evidence.line and source.permalink.endswith("#L{line}"):
        line += f"-L{evidence.end_line}"
    return safe_url(source.permalink.replace("{path}", quoted_path(path)).replace("{line}", line))


def quoted_path(path: str) -> str:
    """A file's path as part of an address."""
    return quote(path.encode("utf-8", "replace"), safe="/")


def source_label(source: Source) -> str:
    """What a reader calls a source: a wheel by its release, the rest by name; a commit by 12 digits."""
    if source.kind is SourceKind.WHEEL:
        return f"{source.id}=={source.revision}"
    revision = source.revision[:12] if _COMMIT.fullmatch(source.revision) else source.revision
    return f"{source.name} {revision}".strip()


def origin_text(source: Source) -> str:
    """Where a source was read: a wheel on the package index, the rest by how fresh it is."""
    if source.kind is not SourceKind.WHEEL or source.origin in (Origin.SNAPSHOT, Origin.LOCAL):
        return source.origin.value
    return "package index" if source.origin is Origin.LIVE else "package index, kept"


def is_dated(source: Source) -> bool:
    """Whether a source was recorded and not read in this run, so that its date matters."""
    return source.origin is Origin.SNAPSHOT


def kind_words(kind: RemedyKind) -> str:
    """What sort of remedy it is, in words."""
    return kind.value.replace("-", " ")


def title(finding: Finding) -> str:
    """Contract and runner as one name: ``layer-types`` or ``layer-types (V1)``."""
    return (
        finding.contract if finding.runner is None else f"{finding.contract} ({runner_name(finding.runner)})"
    )
