"""``investigation.json``: everything that was found, in a versioned shape.

The shape is ``schema/investigation.schema.json``. Fields may be added within a version;
none is renamed or dropped, and a reader is expected to ignore the ones it does not know.
"""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from importlib import resources
from typing import cast

from investigator.model import Answer, Evidence, Finding, Investigation, Json, Patch
from investigator.reports.summary import failure_mode, headline, permalink

SCHEMA = 1
"""The version of the shape."""

JsonObject = dict[str, Json]


def render(investigation: Investigation) -> str:
    """The document as text, ASCII only, ending in a line end."""
    return json.dumps(as_json(investigation), indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def schema() -> JsonObject:
    """The JSON Schema that the document follows."""
    file = resources.files("investigator.reports") / "schema" / "investigation.schema.json"
    return cast(JsonObject, json.loads(file.read_text(encoding="utf-8")))


def as_json(investigation: Investigation) -> JsonObject:
    """The document as JSON's own types."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "investigate", "version": investigation.tool_version},
        "command": investigation.command,
        "headline": headline(investigation),
        "case": plain(investigation.case),
        "default_runner": plain(investigation.default_runner),
        "default_runner_why": investigation.default_runner_why,
        "sources": plain(investigation.sources),
        "agents": plain(investigation.agents),
        "findings": [_finding(investigation, finding) for finding in investigation.findings],
        "pull_requests": plain(investigation.pull_requests),
        "patches": [_patch(patch) for patch in investigation.patches],
        "not_checked": plain(investigation.not_checked),
        "answers": [_answer(answer) for answer in investigation.answers],
        "extra": plain(investigation.extra),
    }


def plain(value: object) -> Json:
    """Any object of the model as JSON.

    Enums by value, times in ISO 8601 (UTC, ``Z``), what is no number (NaN, infinity) as text.
    """
    match value:
        case Enum():
            return cast(Json, value.value)
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case Sequence():
            return [plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is not part of the model")


def _object(value: object) -> JsonObject:
    return cast(JsonObject, plain(value))


def _finding(investigation: Investigation, finding: Finding) -> JsonObject:
    return _object(finding) | {
        "failure_mode": failure_mode(finding, investigation),
        "evidence": [_evidence(investigation, item) for item in finding.evidence],
    }


def _evidence(investigation: Investigation, evidence: Evidence) -> JsonObject:
    return _object(evidence) | {"url": permalink(investigation, evidence)}


def _answer(answer: Answer) -> JsonObject:
    outcome: JsonObject = {"kind": _KINDS[type(answer.outcome).__name__]}
    return _object(answer) | {"outcome": outcome | _object(answer.outcome)}


_KINDS = {"Known": "known", "Refused": "refused", "Unsupported": "unsupported", "NotKnown": "not-known"}


def _patch(patch: Patch) -> JsonObject:
    """Without its text: that is the file of the same name under ``patches/``."""
    document = _object(patch)
    del document["text"]
    return document | {"path": f"patches/{patch.name}"}
