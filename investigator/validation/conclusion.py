"""What the results of an experiment say: judged, written down, and concluded from."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from investigator.errors import ContradictionError, IncompleteError, UsageError, what_is_wrong
from investigator.model import Json
from investigator.validation.assess import Assessment, assess, skipped
from investigator.validation.charts import acceptance_length_chart, per_position_chart, telling
from investigator.validation.document import as_document, render
from investigator.validation.emit import read_variants
from investigator.validation.report_section import markdown
from investigator.validation.results import read_results


def read_experiment(folder: Path) -> dict[str, Json]:
    """``experiment.json`` of a folder. Raises UsageError."""
    file = folder / "experiment.json"
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{folder} is no experiment: {error}", "give a folder that --emit wrote") from error
    if not isinstance(document, dict) or document.get("schema") != 1:
        raise UsageError(f"{file} is of another version", "collect it with the program that emitted it")
    return document


def collect(folder: Path) -> tuple[Assessment, dict[str, Json]]:
    """Read an experiment's results and judge them: the assessment and ``validation.json``."""
    import investigator

    experiment = read_experiment(folder)
    try:
        variants = read_variants(experiment)
        engine, pair = experiment["engine"], experiment["pair"]
        assert isinstance(engine, dict)
        assert isinstance(pair, dict)
        requirement = engine.get("requirement")
        broken, cut = _names(experiment["broken"]), _names(experiment["cut"])
        kept = _kept(experiment.get("repairs", []))
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        raise UsageError(
            f"{folder}/experiment.json is not as it was written: {what_is_wrong(error)}",
            "emit the experiment again",
        ) from error
    results = read_results(folder, tuple(v.name for v in variants))
    assessment = assess(
        variants,
        results,
        place=str(experiment["place"]),
        engine=None if requirement is None else str(requirement),
        pair=str(pair["name"]),
        broken=broken,
        kept=kept,
        cut=cut,
        investigated=None if experiment.get("investigated") is None else str(experiment["investigated"]),
    )
    document = as_document(
        assessment, experiment, results, when=datetime.now(UTC), tool_version=investigator.__version__
    )
    return assessment, document


def write(assessment: Assessment, document: Mapping[str, Json], out: Path) -> None:
    """``validation.json``, ``validation.md`` and the two charts."""
    out.mkdir(parents=True, exist_ok=True)
    files = {
        "validation.json": render(document),
        "validation.md": markdown(assessment),
        "acceptance-length.svg": acceptance_length_chart(assessment),
        "by-position.svg": per_position_chart(assessment, telling(assessment)),
    }
    for name, text in files.items():
        if text:
            part = out / f".{name}.part"
            part.write_text(text, encoding="utf-8", newline="\n")
            part.replace(out / name)


def conclude(assessment: Assessment) -> None:
    """Raise what the figures call for.

    ContradictionError when they contradict the findings, IncompleteError when a variant that
    was to be measured was not.
    """
    if assessment.contradictions:
        raise ContradictionError(
            "the validation contradicts the findings: " + "; ".join(assessment.contradictions),
            "read validation.md; report the case with both files",
        )
    missing = [f"{f.variant.name} ({f.status})" for f in skipped(assessment) if f.status != "refused"]
    if missing:
        raise IncompleteError(
            f"not measured: {', '.join(missing)}",
            "see results/*.log of the experiment; run the command again to go on from what is finished",
        )


def _kept(repairs: Json) -> list[str]:
    """What holds with the repairs of an experiment, by their proofs; an older one does not say."""
    rows = repairs if isinstance(repairs, list) else []
    return [c for row in rows if isinstance(row, dict) for c in _names(row.get("keeps", []))]


def _names(value: Json) -> Sequence[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a list of names was expected")
    return [str(item) for item in value]
