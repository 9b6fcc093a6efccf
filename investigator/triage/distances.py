"""How far an observed AL lies from what known causes would give for the same pair. Pure."""

from math import prod

from investigator.triage.definitions import capped
from investigator.triage.figures import Contrast, Figure, Figures, Range
from investigator.triage.verdict import Comparison, Distance


def comparisons(
    rows: tuple[Figure, ...], observed: float, draft_tokens: int | None
) -> tuple[Comparison, ...]:
    """The observed AL beside each figure of the pair that gives a length."""
    found = []
    for row in rows:
        if row.length is None:
            continue
        low, high = (_brought(value, row.draft_tokens, draft_tokens) for value in row.length)
        kept = ((observed - 1) / (high - 1), (observed - 1) / (low - 1))
        found.append(Comparison(figure=row, length=(low, high), kept=kept))
    return tuple(found)


def distances(
    figures: Figures, expected: Range | None, observed: float, *, texts_covered: bool
) -> tuple[Distance, ...]:
    """As published, with each fault that was measured, with a wrong drafter, with confounders.

    Each known cause is a share of accepted tokens that it left elsewhere; applied to the
    published range of this pair it gives the AL to expect. Empty without such a range.
    """
    if expected is None:
        return ()
    found = [_distance("neither", "everything right", (1.0, 1.0), expected, observed, "the published range")]
    for name, rows in _by_name(figures.of_kind("fault")).items():
        kept = _span(rows)
        if kept is not None:
            found.append(_distance("engine", name, kept, expected, observed, _sources(rows)))
    for row in figures.of_kind("drafter"):
        if row.kept is not None:
            found.append(_distance("drafter", row.what, row.kept, expected, observed, row.source))
    confounders = [row for row in figures.of_kind("confounder") if row.kept is not None]
    for row in confounders:
        assert row.kept is not None
        found.append(_distance("neither", row.what, row.kept, expected, observed, row.source))
    together = all_confounders(figures, texts_covered=texts_covered)
    found.append(
        _distance(
            "neither",
            "thinking and language together" + ("" if texts_covered else ", on other text as well"),
            (together, together),
            expected,
            observed,
            "their product, as if they were independent",
        )
    )
    return tuple(found)


def all_confounders(figures: Figures, *, texts_covered: bool) -> float:
    """The share of accepted tokens that all measured confounders together would leave.

    ``texts_covered``: the published range spans several kinds of text already, so that the kind
    of text is not counted twice.
    """
    rows = figures.of_kind("confounder")
    return prod(row.kept[0] for row in rows if row.kept and not (texts_covered and "text" in row.names))


def one_confounder(figures: Figures) -> float:
    """The share that the strongest single confounder leaves."""
    return min(row.kept[0] for row in figures.of_kind("confounder") if row.kept is not None)


def _brought(value: float, drafted: int | None, limit: int | None) -> float:
    return capped(value, drafted, limit) if drafted and limit else value


def _distance(side: str, name: str, kept: Range, expected: Range, observed: float, basis: str) -> Distance:
    low, high = 1 + kept[0] * (expected[0] - 1), 1 + kept[1] * (expected[1] - 1)
    gap = observed - low if observed < low else observed - high if observed > high else 0.0
    return Distance(side=side, name=name, length=(low, high), gap=gap, basis=basis)


def _by_name(rows: tuple[Contrast, ...]) -> dict[str, list[Contrast]]:
    grouped: dict[str, list[Contrast]] = {}
    for row in rows:
        for name in row.names:
            grouped.setdefault(name, []).append(row)
    return grouped


def _span(rows: list[Contrast]) -> Range | None:
    kept = [row.kept for row in rows if row.kept is not None]
    return (min(low for low, _ in kept), max(high for _, high in kept)) if kept else None


def _sources(rows: list[Contrast]) -> str:
    return "; ".join(dict.fromkeys(f"{row.source} ({row.harness})" for row in rows if row.kept is not None))
