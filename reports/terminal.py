"""The verdicts on a terminal: a table in colour, as wide as there is room, plain when piped."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from investigator.model import AgentStatus, Finding, Investigation, Verdict
from investigator.reports import summary
from investigator.reports.escape import visible

STYLES: dict[Verdict, str] = {
    Verdict.BROKEN: "bold red",
    Verdict.PARTIAL: "bold yellow",
    Verdict.REFUSED: "magenta",
    Verdict.UNSUPPORTED: "dim",
    Verdict.UNKNOWN: "yellow",
    Verdict.NOT_APPLICABLE: "dim",
    Verdict.HONOURED: "green",
}
WITH_PLACES = 130
"""From this many columns on each row names the place in the engine."""


def print_verdicts(console: Console, investigation: Investigation) -> None:
    """Print headline, table, legend, and what the reader must know about its basis.

    No markup is read out of any text of the investigation.
    """
    console.print(_verdicts(investigation, console.width), highlight=False)


def _verdicts(investigation: Investigation, width: int) -> Group:
    case = investigation.case
    parts: list[RenderableType] = [
        Text(visible(f"{case.engine} with {case.draft}"), style="bold"),
        Text(visible(summary.headline(investigation))),
    ]
    if investigation.default_runner is not None:
        runner = summary.runner_name(investigation.default_runner)
        parts.append(
            Text(visible(f"Runner {runner} by default: {investigation.default_runner_why}"), style="dim")
        )
    if investigation.findings:
        parts += [Text(""), _table(investigation, width), _legend(investigation)]
    parts += [Text(visible(note), style="yellow") for note in _notes(investigation)]
    return Group(*parts)


def _table(investigation: Investigation, width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    table.add_column("contract", no_wrap=True)
    table.add_column("runner", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("why", ratio=1, overflow="fold")
    if width >= WITH_PLACES:
        table.add_column("where", max_width=68, overflow="fold")
    for finding in summary.ordered(investigation):
        cells = [
            Text(visible(finding.contract)),
            Text(summary.runner_name(finding.runner)),
            _verdict(finding, investigation),
            Text(visible(finding.why)),
        ]
        cells += [Text(_where(finding), style="dim")] if width >= WITH_PLACES else []
        table.add_row(*cells, style=None if summary.in_use(finding, investigation) else "dim")
    return table


def _verdict(finding: Finding, investigation: Investigation) -> Text:
    accepted = " (accepted)" if summary.is_accepted(finding, investigation) else ""
    said = f"{summary.SIGNS[finding.verdict]} {finding.verdict.value}{accepted}"
    return Text(said, style="dim" if accepted else STYLES[finding.verdict])


def _where(finding: Finding) -> str:
    """The first place, and how many more there are."""
    places = list(dict.fromkeys(summary.place(item) for item in finding.evidence))
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{visible(places[0])}{more}" if places else ""


def _legend(investigation: Investigation) -> Text:
    given = summary.counted(investigation.findings)
    lines = [f"{summary.SIGNS[verdict]} {verdict.value}: {summary.MEANINGS[verdict]}" for verdict in given]
    return Text("\n" + "\n".join(lines), style="dim")


def _notes(investigation: Investigation) -> list[str]:
    dated = [
        f"{summary.source_label(source)} ({source.retrieved_at:%Y-%m-%d})"
        for source in investigation.sources
        if summary.is_dated(source)
    ]
    notes = [f"recorded on the day given, not read in this run: {', '.join(dated)}"] if dated else []
    return notes + [
        f"agent {agent.name} brought only a part: {agent.error}"
        for agent in investigation.agents
        if agent.status is AgentStatus.PARTIAL
    ]
