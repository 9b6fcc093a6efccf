"""What a variant's process wrote, read back strictly: it may come from another machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from investigator.errors import LimitError, SourceError, what_is_wrong
from investigator.model import Json

MAX_RESULT_BYTES = 64 << 20
_MAX_POSITIONS = 256


@dataclass(frozen=True, kw_only=True)
class Count:
    """vLLM's counters over some drafts. ``per_position[i]``: drafts that had token i accepted."""

    drafts: int
    draft_tokens: int
    accepted: int
    per_position: tuple[int, ...] = ()

    @property
    def acceptance_length(self) -> float | None:
        """1 + accepted ÷ drafts, the bonus token counted; None where nothing was drafted."""
        return 1 + self.accepted / self.drafts if self.drafts else None


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One run over all prompts. ``prompts`` is empty where the engine gave no split by prompt."""

    seconds: float
    total: Count
    prompts: Mapping[int, Count] = field(default_factory=dict)
    outputs: tuple[tuple[int, ...], ...] = ()
    prefix_queries: int | None = None
    prefix_hits: int | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class VariantResult:
    """How one variant fared. ``status``: done, refused, out-of-memory, hung, died, failed, missing."""

    variant: str
    status: str
    error: str | None = None
    engine: Mapping[str, Json] = field(default_factory=dict)
    options: Mapping[str, Json] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    load_seconds: float | None = None
    peak_memory_bytes: int | None = None
    fresh: Pass | None = None
    reuse: Pass | None = None


def read_results(folder: Path, names: tuple[str, ...]) -> dict[str, VariantResult]:
    """Every variant's result from ``folder/results``; one without a file is ``missing``.

    Raises LimitError and SourceError for files that no harness writes.
    """
    found = {}
    for name in names:
        file = folder / "results" / f"{name}.json"
        if not file.is_file():
            found[name] = VariantResult(variant=name, status="missing", error="it left no result")
            continue
        if file.stat().st_size > MAX_RESULT_BYTES:
            raise LimitError(f"{file} is larger than {MAX_RESULT_BYTES:,} bytes", "measure fewer prompts")
        found[name] = parse_result(file.read_text(encoding="utf-8"), str(file), name)
    return found


def parse_result(text: str, where: str, name: str) -> VariantResult:
    """One result document. Raises SourceError when it is not one, or one of another variant."""
    try:
        document = json.loads(text)
        if document["variant"] != name:
            raise ValueError(f"it is about {document['variant']!r}")
        passes = document.get("passes") or {}
        return VariantResult(
            variant=name,
            status=str(document["status"])[:40],
            error=None if document.get("error") is None else str(document["error"])[:2000],
            engine=dict(document.get("engine") or {}),
            options=dict(document.get("options") or {}),
            notes=tuple(str(note)[:500] for note in document.get("notes") or ()),
            load_seconds=_number(document.get("load_seconds")),
            peak_memory_bytes=None
            if document.get("peak_memory_bytes") is None
            else _whole(document["peak_memory_bytes"]),
            fresh=_pass(passes["fresh"]) if "fresh" in passes else None,
            reuse=_pass(passes["reuse"]) if "reuse" in passes else None,
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise SourceError(
            f"{where} is not a result of this experiment: {what_is_wrong(error)}",
            "run the experiment folder again",
        ) from error


def _number(value: Any) -> float | None:
    if value is None:
        return None
    number = float(value)
    if not 0 <= number < 1e9:
        raise ValueError(f"{value!r} is no duration")
    return number


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _count(row: Mapping[str, Any]) -> Count:
    positions = tuple(_whole(value) for value in row.get("per_position") or ())
    count = Count(
        drafts=_whole(row.get("drafts", 0)),
        draft_tokens=_whole(row.get("draft_tokens", 0)),
        accepted=_whole(row.get("accepted", 0)),
        per_position=positions,
    )
    if len(positions) > _MAX_POSITIONS or any(value > count.drafts for value in positions):
        raise ValueError("more tokens accepted at a position than there were drafts")
    if positions and sum(positions) != count.accepted:
        raise ValueError("accepted tokens do not add up over the positions")
    return count


def _pass(document: Mapping[str, Any]) -> Pass:
    prompts = {_whole(row["prompt"]): _count(row) for row in document.get("prompts") or ()}
    counters = document.get("counters")
    total = _count(counters) if counters is not None else add(prompts.values())
    seconds = _number(document["seconds"])
    assert seconds is not None
    return Pass(
        seconds=seconds,
        total=total,
        prompts=prompts,
        outputs=tuple(tuple(_whole(token) for token in row) for row in document.get("outputs") or ()),
        prefix_queries=_optional(counters, "prefix_queries"),
        prefix_hits=_optional(counters, "prefix_hits"),
        note=document.get("note"),
    )


def _optional(counters: Mapping[str, Any] | None, name: str) -> int | None:
    return _whole(counters[name]) if counters and name in counters else None


def add(counts: Any) -> Count:
    """The sum of some counts."""
    rows = list(counts)
    width = max((len(row.per_position) for row in rows), default=0)
    return Count(
        drafts=sum(row.drafts for row in rows),
        draft_tokens=sum(row.draft_tokens for row in rows),
        accepted=sum(row.accepted for row in rows),
        per_position=tuple(
            sum(row.per_position[i] for row in rows if i < len(row.per_position)) for i in range(width)
        ),
    )
