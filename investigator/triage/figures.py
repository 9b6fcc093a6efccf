"""Published and measured figures, each with its harness, source and date (``figures.json``)."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from investigator.triage.definitions import capped

Range = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """An acceptance length that somebody published for a pair.

    ``length``: lowest and highest AL given; None when the source gives only a speedup.
    ``draft_tokens``: tokens a draft in that run. ``date``: when the source said it.
    """

    id: str
    draft: str
    target: str
    setting: str
    length: Range | None
    speedup: float | None
    draft_tokens: int | None
    context_tokens: int | None
    harness: str
    source: str
    date: str | None


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """The same thing measured twice: with something wrong or different, and without.

    ``kind``: ``fault`` (of an engine; ``names`` are contracts), ``drafter`` (a wrong one),
    ``confounder`` (neither), ``case`` (a deployment as a whole).
    """

    id: str
    kind: str
    names: tuple[str, ...]
    what: str
    observed: Range
    reference: Range | None
    unit: str
    harness: str
    source: str
    date: str | None

    @property
    def kept(self) -> Range | None:
        """The share of accepted tokens that was left, lowest and highest."""
        if self.reference is None:
            return None
        base = 1.0 if self.unit == "acceptance length" else 0.0
        low, high = (value - base for value in self.observed)
        reference_low, reference_high = (value - base for value in self.reference)
        return low / reference_high, high / reference_low


@dataclass(frozen=True, kw_only=True)
class Figures:
    """All rows. ``recorded``: the day on which they were written down."""

    recorded: str
    published: tuple[Figure, ...]
    contrasts: tuple[Contrast, ...]

    def of_kind(self, kind: str) -> tuple[Contrast, ...]:
        """The contrasts of one kind, in the file's order."""
        return tuple(row for row in self.contrasts if row.kind == kind)

    def confounder(self, name: str) -> Contrast | None:
        """The measured size of one confounder."""
        return next((row for row in self.of_kind("confounder") if name in row.names), None)


def load_figures() -> Figures:
    """The figures that come with this program."""
    data = json.loads(files("investigator.triage").joinpath("figures.json").read_text(encoding="utf-8"))
    rows: list[Mapping[str, object]] = data["rows"]
    return Figures(
        recorded=data["recorded"],
        published=tuple(_figure(row) for row in rows if row["kind"] == "published"),
        contrasts=tuple(_contrast(row) for row in rows if row["kind"] != "published"),
    )


def for_pair(figures: Figures, draft: str | None, target: str | None) -> tuple[Figure, ...]:
    """Figures of this pair. Folders and repositories are compared by their last name."""
    if draft is None:
        return ()
    wanted, aim = _name(draft), _name(target) if target else None
    return tuple(
        row
        for row in figures.published
        if _name(row.draft) == wanted and (aim is None or _same_target(aim, _name(row.target)))
    )


def like_setting(rows: tuple[Figure, ...], data: str | None) -> tuple[Figure, ...]:
    """Of these, the rows measured on the data set that ``data`` names, or all of them."""
    spelled = re.sub(r"[^a-z0-9]", "", (data or "").lower())
    close = tuple(row for row in rows if spelled and _first_word(row.setting) in spelled)
    return close or rows


def published_range(rows: tuple[Figure, ...], draft_tokens: int | None) -> Range | None:
    """Lowest and highest AL of the rows, brought down to ``draft_tokens`` where those are fewer."""
    values = [
        capped(value, row.draft_tokens, draft_tokens) if row.draft_tokens and draft_tokens else value
        for row in rows
        if row.length is not None
        for value in row.length
    ]
    return (min(values), max(values)) if values else None


def _name(repo: str) -> str:
    return repo.rstrip("/").rsplit("/", 1)[-1].lower()


def _same_target(given: str, published: str) -> bool:
    """A quantised copy keeps the name and adds to it: ``Qwen3.6-27B-FP8`` is still that target."""
    return given == published or given.startswith(published + "-")


def _first_word(setting: str) -> str:
    return re.sub(r"[^a-z0-9]", "", setting.split(",")[0].lower())


def _range(value: object) -> Range | None:
    return (float(value[0]), float(value[1])) if isinstance(value, list) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _int(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _figure(row: Mapping[str, object]) -> Figure:
    speedup = row["speedup"]
    return Figure(
        id=str(row["id"]),
        draft=str(row["draft"]),
        target=str(row["target"]),
        setting=str(row["setting"]),
        length=_range(row["acceptance_length"]),
        speedup=speedup if isinstance(speedup, float) else None,
        draft_tokens=_int(row["draft_tokens"]),
        context_tokens=_int(row["context_tokens"]),
        harness=str(row["harness"]),
        source=str(row["source"]),
        date=_text(row["date"]),
    )


def _contrast(row: Mapping[str, object]) -> Contrast:
    names, observed = row["names"], _range(row["observed"])
    assert isinstance(names, list)
    assert observed is not None
    return Contrast(
        id=str(row["id"]),
        kind=str(row["kind"]),
        names=tuple(str(name) for name in names),
        what=str(row["what"]),
        observed=observed,
        reference=_range(row["reference"]),
        unit=str(row["unit"]),
        harness=str(row["harness"]),
        source=str(row["source"]),
        date=_text(row["date"]),
    )
