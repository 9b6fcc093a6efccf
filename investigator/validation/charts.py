"""Two charts as SVG text that stands alone: readable on light and dark, every figure in words too."""

from collections.abc import Iterable
from html import escape

from investigator.validation.assess import Assessment, Figures
from investigator.validation.plan import AS_RELEASED, Kind
from investigator.validation.statistics import Estimate

WIDTH = 720
ROW = 26
LABELS = 285
INK, BAR, BEST, GRID = "#57606a", "#5b8def", "#2da44e", "#8c959f55"
LINES = ("#5b8def", "#2da44e", "#d4762a", "#a371f7", "#8c959f", "#bf3989")


def acceptance_length_chart(assessment: Assessment) -> str:
    """AL per variant as bars with their intervals; the reference is a line across."""
    rows = [
        (f, f.acceptance_length) for f in assessment.figures if f.acceptance_length is not None and f.drafts
    ]
    if not rows:
        return ""
    top = max((e.high or e.value) for _, e in rows)
    scale = (WIDTH - LABELS - 150) / max(top, 1.0)
    reference = assessment.of("reference")
    parts = []
    for number, (figures, length) in enumerate(rows):
        y = 30 + number * ROW
        colour = BEST if figures.variant.kind is Kind.REFERENCE else BAR
        parts.append(_text(LABELS - 8, y + 13, figures.variant.name, anchor="end"))
        parts.append(_rect(LABELS, y, length.value * scale, 16, colour))
        end = length.value
        if length.low is not None and length.high is not None:
            parts.append(_whisker(LABELS + length.low * scale, LABELS + length.high * scale, y + 8))
            end = max(end, length.high)
        parts.append(_text(LABELS + end * scale + 8, y + 13, _interval(length)))
    bottom = 30 + len(rows) * ROW
    if reference is not None and reference.acceptance_length is not None:
        x = LABELS + reference.acceptance_length.value * scale
        parts.insert(
            0, f'<path d="M{x:.1f} 24V{bottom}" stroke="{BEST}" stroke-dasharray="4 3" fill="none"/>'
        )
    title = f"Acceptance length, {assessment.engine or assessment.place}, {assessment.prompts} prompts"
    said = "; ".join(f"{f.variant.name} {_interval(e)}" for f, e in rows)
    return _svg(title, said, bottom + 10, parts)


def per_position_chart(assessment: Assessment, names: Iterable[str] | None = None) -> str:
    """Share of drafts accepted at each position, one line a variant."""
    wanted = list(names) if names is not None else [f.variant.name for f in assessment.figures]
    shown = _distinct([f for f in assessment.figures if f.variant.name in wanted and f.per_position])
    if not shown:
        return ""
    width = max(len(f.per_position) for f in shown)
    left, height, base = 60, 220, 260
    step = (WIDTH - left - 240) / max(width - 1, 1)
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = base - share * height
        parts.append(f'<path d="M{left} {y:.1f}H{WIDTH - 230}" stroke="{GRID}" fill="none"/>')
        parts.append(_text(left - 8, y + 4, f"{share:.0%}", anchor="end"))
    for position in range(width):
        parts.append(_text(left + position * step, base + 20, str(position + 1), anchor="middle"))
    parts.append(_text(left + (width - 1) * step / 2, base + 40, "position in the draft", anchor="middle"))
    for number, figures in enumerate(shown):
        colour = LINES[number % len(LINES)]
        points = [(left + i * step, base - e.value * height) for i, e in enumerate(figures.per_position)]
        path = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
        dash = ' stroke-dasharray="5 4"' if figures.variant.kind is Kind.REFERENCE else ""
        parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="2"{dash} fill="none"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        y = 34 + number * 20
        parts.append(_rect(WIDTH - 220, y - 9, 12, 10, colour))
        parts.append(_text(WIDTH - 202, y, figures.variant.name))
    said = "; ".join(f"{f.variant.name} " + " ".join(f"{e.value:.3f}" for e in f.per_position) for f in shown)
    return _svg("Accepted drafts by position", said, base + 50, parts)


def telling(assessment: Assessment) -> list[str]:
    """The variants whose lines by position are worth a look."""
    names = [AS_RELEASED, "all-repairs", "reference"]
    return names + [f.variant.name for f in assessment.figures if f.variant.name.startswith("only-")][:3]


def _distinct(figures: list[Figures]) -> list[Figures]:
    """Without lines that would hide one another."""
    seen: set[tuple[float, ...]] = set()
    kept = []
    for one in figures:
        line = tuple(round(e.value, 3) for e in one.per_position)
        if line not in seen:
            seen.add(line)
            kept.append(one)
    return kept[: len(LINES)]


def _interval(e: Estimate) -> str:
    spread = "" if e.low is None or e.high is None else f" [{e.low:.2f}, {e.high:.2f}]"
    return f"{e.value:.2f}{spread}"


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="3" fill="{colour}"/>'


def _whisker(low: float, high: float, y: float) -> str:
    path = f"M{low:.1f} {y}H{high:.1f}M{low:.1f} {y - 4}v8M{high:.1f} {y - 4}v8"
    return f'<path d="{path}" stroke="{INK}" fill="none"/>'


def _svg(title: str, said: str, height: float, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'font-family="system-ui, sans-serif" font-size="12"><title>{escape(title)}</title>'
        f"<desc>{escape(said)}</desc>" + _text(0, 14, title) + "".join(parts) + "</svg>\n"
    )
