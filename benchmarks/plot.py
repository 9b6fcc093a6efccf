"""Cost per added release, drawn: bars over releases, cold beside warm, one row per figure."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT, LEFT, TOP = 760, 130, 70, 34
COLD, WARM = "#4c78a8", "#f58518"


def svg(timeline: Mapping[str, Any]) -> str:
    """One SVG with three panels: bytes fetched, processor seconds, requests."""
    cold, warm = timeline["cold_rows"], timeline["warm_rows"]
    versions = [name for name in cold if name[:1].isdigit()]
    panels = [
        ("fetched, kB", [(cold[v]["bytes"] / 1000, warm[v]["bytes"] / 1000) for v in versions]),
        ("processor, s", [(cold[v]["cpu"], warm[v]["cpu"]) for v in versions]),
        ("requests", [(cold[v]["requests"], warm[v]["requests"]) for v in versions]),
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + LEFT + 20}"'
        f' height="{len(panels) * (HEIGHT + TOP) + 50}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="14" font-size="12">Cost of one more release: '
        f'<tspan fill="{COLD}">cold</tspan>, <tspan fill="{WARM}">warm</tspan></text>',
    ]
    for number, (label, values) in enumerate(panels):
        parts += _panel(label, values, TOP + number * (HEIGHT + TOP))
    step = WIDTH / max(1, len(versions))
    bottom = len(panels) * (HEIGHT + TOP) + 4
    for index, version in enumerate(versions):
        x = LEFT + (index + 0.5) * step
        parts.append(
            f'<text x="{x:.1f}" y="{bottom}" text-anchor="end"'
            f' transform="rotate(-50 {x:.1f} {bottom})">{escape(version)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(label: str, values: Sequence[tuple[float, float]], top: float) -> list[str]:
    most = max([1e-9, *(value for pair in values for value in pair)])
    step = WIDTH / max(1, len(values))
    parts = [
        f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end">{most:,.4g}</text>',
        f'<text x="{LEFT - 6}" y="{top + HEIGHT}" text-anchor="end">0</text>',
        f'<text x="4" y="{top + HEIGHT / 2}">{escape(label)}</text>',
        f'<line x1="{LEFT}" y1="{top + HEIGHT}" x2="{LEFT + WIDTH}" y2="{top + HEIGHT}" stroke="#999"/>',
    ]
    for index, pair in enumerate(values):
        for side, (value, colour) in enumerate(zip(pair, (COLD, WARM), strict=True)):
            height = HEIGHT * value / most
            x = LEFT + index * step + step * (0.12 + 0.38 * side)
            parts.append(
                f'<rect x="{x:.1f}" y="{top + HEIGHT - height:.1f}" width="{step * 0.36:.1f}"'
                f' height="{height:.1f}" fill="{colour}"><title>{value:,.3g}</title></rect>'
            )
    return parts
