"""Charts as inline SVG. Colours come from the page's classes; every figure is in the text too."""

from collections.abc import Sequence

from markupsafe import Markup

from investigator.model import AgentReport
from investigator.reports.blocks import Spans, percentages
from investigator.reports.escape import shortened, visible

WIDTH = 640
LABELS = 130
ROW = 26


def agent_timeline(agents: Sequence[AgentReport]) -> Markup:
    """When each agent worked, as bars over one axis of seconds; empty without agents."""
    if not agents:
        return Markup("")
    begun = min(agent.started for agent in agents)
    total = max((agent.finished - begun).total_seconds() for agent in agents) or 1.0
    scale = (WIDTH - LABELS - 60) / total
    rows = []
    for number, agent in enumerate(agents):
        offset = (agent.started - begun).total_seconds()
        spent = (agent.finished - agent.started).total_seconds()
        x, width = LABELS + offset * scale, max(2.0, spent * scale)
        top = number * ROW
        rows.append(
            Markup(
                '<text x="0" y="{y}">{name}</text>'
                '<rect class="bar {status}" x="{x:.1f}" y="{top}" width="{width:.1f}" height="16" rx="3"/>'
                '<text x="{end:.1f}" y="{y}">{spent:.1f} s</text>'
            ).format(
                y=top + 13,
                name=shortened(visible(agent.name), 16),
                status=agent.status.value,
                x=x,
                top=top,
                width=width,
                end=x + width + 6,
                spent=spent,
            )
        )
    said = ", ".join(f"{a.name} {(a.finished - a.started).total_seconds():.1f} s" for a in agents)
    return _chart(f"How long each agent worked: {said}", len(agents) * ROW, rows)


def by_position(shares: Sequence[float]) -> Markup:
    """Share of drafts whose token was accepted, a bar a position; each in [0, 1]."""
    shown = shares[:64]
    left, step = 44, min(40.0, (WIDTH - 50) / max(1, len(shown)))
    height, base = 120, 140
    parts = [
        Markup('<path class="axis" d="M{0} 20V{1}H{2:.0f}"/>').format(
            left - 4, base, left + step * len(shown)
        )
    ]
    for share in (0.0, 0.5, 1.0):
        y = base - height * share
        parts.append(
            Markup('<text class="end" x="{}" y="{:.0f}">{:.0%}</text>').format(left - 9, y + 4, share)
        )
    for number, share in enumerate(shown):
        x, tall = left + step * number, max(1.0, height * share)
        parts.append(
            Markup(
                '<rect class="bar share" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="2"/>'
            ).format(x, base - tall, step - 3, tall)
        )
        if len(shown) <= 20 or number % 5 == 0:
            middle = x + (step - 3) / 2
            parts.append(
                Markup('<text class="middle" x="{:.1f}" y="{}">{}</text>').format(
                    middle, base + 16, number + 1
                )
            )
            if share >= 0.005 and len(shown) <= 20:
                parts.append(
                    Markup('<text class="middle" x="{:.1f}" y="{:.1f}">{:.0f}</text>').format(
                        middle, base - tall - 4, 100 * share
                    )
                )
    return _chart(f"Accepted by position: {percentages(shares)}", base + 22, parts)


def spans(block: Spans) -> Markup:
    """Ranges over one axis, each with its figures, and a line at what was observed."""
    label, right = 250, 84
    ends = [end for _, _, span in block.rows for end in span]
    most = max([block.observed, *ends, 2.0])
    scale = (WIDTH - label - right) / most
    parts = []
    for number, (name, kind, (low, high)) in enumerate(block.rows):
        top = 20 + number * ROW
        parts.append(
            Markup(
                '<text x="0" y="{y}">{name}</text>'
                '<rect class="span {kind}" x="{x:.1f}" y="{top}" width="{width:.1f}" height="14" rx="3"/>'
                '<text class="soft" x="{end:.1f}" y="{y}">{low:.2f} to {high:.2f}</text>'
            ).format(
                y=top + 12,
                name=shortened(visible(name), 38),
                kind=kind,
                x=label + low * scale,
                top=top,
                width=max(2.0, (high - low) * scale),
                end=label + high * scale + 6,
                low=low,
                high=high,
            )
        )
    x, bottom = label + block.observed * scale, 20 + len(block.rows) * ROW
    parts.append(
        Markup(
            '<path class="observed" d="M{0:.1f} 14V{1}"/><text class="middle strong" x="{0:.1f}" y="11">'
            "observed {2:.2f}</text>"
        ).format(x, bottom, block.observed)
    )
    said = "; ".join(f"{name} {low:.2f} to {high:.2f}" for name, _, (low, high) in block.rows)
    return _chart(f"Observed {block.observed:.2f}. {said}", bottom + 4, parts)


def _chart(said: str, height: int, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>').format(
        visible(said), WIDTH, height, Markup("").join(parts)
    )
