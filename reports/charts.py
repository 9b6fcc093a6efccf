"""Charts as inline SVG. Colours come from the page's classes; every figure is in the text too."""

from collections.abc import Sequence

from markupsafe import Markup

from investigator.model import AgentReport
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
    return Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>').format(
        visible(f"How long each agent worked: {said}"), WIDTH, len(agents) * ROW, Markup("").join(rows)
    )
