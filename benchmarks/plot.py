"""Cost per added release, drawn: a panel of bars over releases for each figure."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from benchmarks.targets import on_wire, releases

WIDTH, HEIGHT, LEFT, TOP, GAP, FOOT = 760, 100, 70, 40, 34, 60
COLD, WARM = "#4c78a8", "#f58518"


def svg(timeline: Mapping[str, Any]) -> str:
    """One SVG: bytes and requests over the wire, processor seconds cold and warm."""
    cold, warm = releases(timeline["cold_rows"]), timeline["warm_rows"]
    wire = [on_wire(row, timeline["cold_sent"]) for row in cold.values()]
    panels = [
        ("cold: fetched, kB", COLD, [size / 1000 for _, size in wire]),
        ("cold: requests", COLD, [float(requests) for requests, _ in wire]),
        ("cold: CPU, s", COLD, [row["cpu"] for row in cold.values()]),
        ("warm: CPU, s (nothing is fetched)", WARM, [warm[version]["cpu"] for version in cold]),
    ]
    bottom = TOP + len(panels) * (HEIGHT + GAP) - GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + LEFT + 20}" height="{bottom + FOOT}"'
        ' font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="16" font-size="13">What one more release costs a timeline</text>',
    ]
    for number, (label, colour, values) in enumerate(panels):
        parts += _panel(label, colour, values, TOP + number * (HEIGHT + GAP))
    step = WIDTH / max(1, len(cold))
    for index, version in enumerate(cold):
        x, y = LEFT + (index + 0.5) * step, bottom + 14
        parts.append(
            f'<text x="{x:.1f}" y="{y}" text-anchor="end"'
            f' transform="rotate(-50 {x:.1f} {y})">{escape(version)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _panel(label: str, colour: str, values: Sequence[float], top: float) -> list[str]:
    most = max([1e-9, *values])
    step = WIDTH / max(1, len(values))
    parts = [
        f'<text x="{LEFT}" y="{top - 5}" fill="{colour}">{escape(label)}</text>',
        f'<text x="{LEFT - 6}" y="{top + 9}" text-anchor="end">{_number(most)}</text>',
        f'<text x="{LEFT - 6}" y="{top + HEIGHT}" text-anchor="end">0</text>',
        f'<line x1="{LEFT}" y1="{top + HEIGHT}" x2="{LEFT + WIDTH}" y2="{top + HEIGHT}" stroke="#999"/>',
    ]
    for index, value in enumerate(values):
        height = HEIGHT * value / most
        x = LEFT + (index + 0.15) * step
        parts.append(
            f'<rect x="{x:.1f}" y="{top + HEIGHT - height:.1f}" width="{step * 0.7:.1f}"'
            f' height="{height:.1f}" fill="{colour}"><title>{_number(value)}</title></rect>'
        )
    return parts
