"""``validation.json``: an experiment and what it says, in a versioned shape."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import cast

from investigator.model import Json
from investigator.validation.assess import Assessment
from investigator.validation.results import VariantResult
from investigator.validation.sentences import sentences
from investigator.validation.statistics import DRAWS, LEVEL, Sameness

SCHEMA = 1


def as_document(
    assessment: Assessment,
    experiment: Mapping[str, Json],
    results: Mapping[str, VariantResult],
    *,
    when: datetime,
    tool_version: str,
) -> dict[str, Json]:
    """Everything that is needed to check the figures, but for the texts: those as a hash."""
    engines = [dict(result.engine) for result in results.values() if result.engine]
    distinct: list[Json] = []
    for engine in engines:
        shown: dict[str, Json] = {key: value for key, value in engine.items() if key != "package"}
        if shown not in distinct:
            distinct.append(shown)
    return {
        "schema": SCHEMA,
        "tool": {"name": "investigate", "version": tool_version},
        "time": when.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "place": assessment.place,
        "engine": assessment.engine,
        "pair": assessment.pair,
        "investigated": assessment.investigated,
        "machines": distinct,
        "experiment": {
            key: experiment[key]
            for key in (
                "method", "speculative_tokens", "new_tokens", "prompt_count", "prompts_sha256",
                "options", "environment", "before", "repairs",
            )
            if key in experiment
        },
        "statistics": {"level": LEVEL, "draws": DRAWS, "resampled": "prompts, paired over variants"},
        "variants": [
            plain(figures) | {"outputs_sha256": _hash(results[figures.variant.name])}
            for figures in assessment.figures
        ],
        "counters_by_prompt": {
            name: [[p, c.drafts, c.accepted] for p, c in sorted(result.fresh.prompts.items())]
            for name, result in results.items()
            if result.fresh is not None
        },
        "effects": plain(assessment.effects),
        "to_reference": plain(assessment.to_reference),
        "released_to_reference": plain(assessment.released_to_reference),
        "outputs": {name: plain(same) for name, same in (assessment.sameness or {}).items()},
        "contradictions": list(assessment.contradictions),
        "sentences": list(sentences(assessment)),
        "cut": list(assessment.cut),
    }  # fmt: skip


def render(document: Mapping[str, Json]) -> str:
    """The document as text, ending in a line end."""
    text = json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False)
    return text + "\n"


def plain(value: object) -> "dict[str, Json]":
    """A figure or a list of figures as JSON."""
    return cast("dict[str, Json]", _plain(value))


def _plain(value: object) -> Json:
    match value:
        case Enum():
            return cast(Json, value.value)
        case float():
            return round(value, 5) if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
        case Sameness():
            return cast(Json, dataclasses.asdict(value))
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case Sequence():
            return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is no figure")


def _hash(result: VariantResult) -> str | None:
    if result.fresh is None or not result.fresh.outputs:
        return None
    return hashlib.sha256(json.dumps(result.fresh.outputs, separators=(",", ":")).encode()).hexdigest()
