"""Findings that are known and accepted: an earlier ``investigation.json`` as the measure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from investigator.errors import UsageError, what_is_wrong
from investigator.model import CaseRecord, Finding, Investigation, Runner, Verdict
from investigator.outcome import ACCEPTED

MAX_BYTES = 16 << 20

_ORDER = {verdict: rank for rank, verdict in enumerate(Verdict)}


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What was found before. ``case`` is the earlier one; its revisions may differ from today's."""

    case: CaseRecord
    verdicts: Mapping[tuple[str, Runner | None], Verdict]

    def accepts(self, finding: Finding) -> bool:
        """Whether this finding, or a worse one in its place, was there before."""
        known = self.verdicts.get((finding.contract, finding.runner))
        return known is not None and _ORDER[known] <= _ORDER[finding.verdict]


def read_baseline(path: Path) -> Baseline:
    """The findings of an earlier run. Raises UsageError for a file that is not one."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES >> 20} MiB")
        if not path.is_file():  # a device or a pipe has no end
            raise ValueError("it is not a regular file")
        document = json.loads(path.read_text(encoding="utf-8"))
        case = document["case"]
        if document["schema"] != 1:
            raise ValueError(f"it has schema {document['schema']!r}, this program reads 1")
        return Baseline(
            case=CaseRecord(engine=str(case["engine"]), draft=str(case["draft"]), target=None),
            verdicts={
                (str(row["contract"]), Runner(row["runner"]) if row["runner"] else None): Verdict(
                    row["verdict"]
                )
                for row in document["findings"]
            },
        )
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror or error}", "name an investigation.json"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path} is no baseline: {what_is_wrong(error)}", "name the investigation.json of an earlier run"
        ) from error


def with_accepted(investigation: Investigation, baseline: Baseline) -> Investigation:
    """The investigation with its known findings named in ``extra["accepted"]``.

    Raises UsageError when the baseline is about another drafter.
    """
    before, now = _repo(baseline.case.draft), _repo(investigation.case.draft)
    if before != now:
        raise UsageError(
            f"the baseline is about another drafter: {before}, not {now}", "make one for this drafter"
        )
    accepted = [finding.question for finding in investigation.findings if baseline.accepts(finding)]
    return replace(investigation, extra={**investigation.extra, ACCEPTED: accepted})


def _repo(draft: str) -> str:
    """A drafter without its revision."""
    return draft if draft.startswith("path:") else draft.partition("@")[0]
