"""The verdicts on a terminal: a table in colour, as wide as there is room, plain when piped."""

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from investigator.model import AgentStatus, Finding, Investigation, Verdict
from investigator.reports import summary
from investigator.reports.escape import visible
from investigator.reports.rows import Row, decisive, table_rows

STYLES: dict[Verdict, str] = {
    Verdict.BROKEN: "bold red",
    Verdict.PARTIAL: "bold yellow",
    Verdict.REFUSED: "magenta",
    Verdict.UNSUPPORTED: "dim",
    Verdict.UNKNOWN: "yellow",
    Verdict.NOT_APPLICABLE: "dim",
    Verdict.HONOURED: "green",
}
WIDE = 130
"""From this many columns on the place in the engine has a column of its own, else a line."""
NARROW = 72
"""Below this many columns there is no table: each row is a line, with its reason beneath."""
PLACE = 56
"""Columns of a place beside the reason; a longer one loses folders in front."""


def print_verdicts(console: Console, investigation: Investigation) -> None:
    """Print headline, table, legend, and what the reader must know about its basis.

    No markup is read out of any text of the investigation.
    """
    console.print(_verdicts(investigation, console.width), highlight=False)


def _verdicts(investigation: Investigation, width: int) -> Group:
    case = investigation.case
    parts: list[RenderableType] = [
        Text(visible(f"{case.engine} with {case.draft}{summary.own_method(case.method)}"), style="bold"),
        Text(visible(summary.headline(investigation))),
    ]
    if why := investigation.default_runner_why:
        runner = summary.runner_name(investigation.default_runner)
        known = f"Model runner {runner}" if investigation.default_runner else "Model runner not known"
        if any(finding.runner for finding in investigation.findings):
            parts.append(Text(visible(f"{known}: {why}"), style="dim"))
    if investigation.findings:
        drawn = _table(investigation, width) if width >= NARROW else _listed(investigation, width)
        parts += [Text(""), drawn, _legend(investigation)]
    parts += [Text(visible(note), style="yellow") for note in _notes(investigation)]
    return Group(*parts)


def _table(investigation: Investigation, width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    table.add_column("contract", no_wrap=True)
    table.add_column("runner", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("why", ratio=1, overflow="fold")
    if width >= WIDE:
        table.add_column("where", no_wrap=True)
    rows = table_rows(investigation)
    taken = sum(max(map(len, cells)) + 2 for cells in zip(*(_names(row) for row in rows), strict=True))
    for row in rows:
        why = Text(visible(_why(row)))
        place = _where(row.one, PLACE if width >= WIDE else width - taken) if row.one else ""
        cells = [Text(_names(row)[0]), Text(_names(row)[1]), _verdict(row, investigation), why]
        if width >= WIDE:
            cells.append(Text(place, style="dim"))
        elif place:
            why.append(f"\n{place}", style="dim")
        table.add_row(*cells, style=None if row.in_use else "dim")
    return table


def _listed(investigation: Investigation, width: int) -> Group:
    """The rows one beneath the other, for a terminal that has no room for columns."""
    parts: list[RenderableType] = []
    for row in table_rows(investigation):
        contract, runner, _ = _names(row)
        head = _verdict(row, investigation) + Text(f" {contract}" + (f" ({runner})" if row.runner else ""))
        place = _where(row.one, width - 2) if row.one else ""
        said = Text("\n".join(filter(None, (visible(_why(row)), place))), style="dim")
        parts += [head, Padding(said, (0, 0, 0, 2))]
    return Group(*parts)


def _names(row: Row) -> tuple[str, str, str]:
    """What stands in the first three columns."""
    contract = row.one.contract if row.one else f"{len(row.findings)} contracts"
    sign = f"{summary.SIGNS[row.verdict]} {row.verdict.value}"
    return visible(contract), summary.runner_name(row.runner), sign


def _why(row: Row) -> str:
    """A row's reason; the contracts' names where each has its own, which the report gives."""
    return row.why or ", ".join(row.contracts)


def _verdict(row: Row, investigation: Investigation) -> Text:
    accepted = row.one is not None and summary.is_accepted(row.one, investigation)
    said = f"{_names(row)[2]}{' (accepted)' if accepted else ''}"
    return Text(said, style="dim" if accepted else STYLES[row.verdict])


def _where(finding: Finding, room: int) -> str:
    """The first decisive place, in ``room`` columns; none for a kept promise: the report has it."""
    if not finding.evidence or finding.verdict is Verdict.HONOURED:
        return ""
    return fitted(visible(summary.place(decisive(finding)[0][0])), room)


def fitted(place: str, room: int) -> str:
    """A place without as many of its first folders as it takes to fit."""
    shown = place
    while len(shown) > room and "/" in shown.removeprefix("…/"):
        shown = "…/" + shown.removeprefix("…/").partition("/")[2]
    return shown


def _legend(investigation: Investigation) -> Text:
    given = summary.counted(investigation.findings)
    lines = [f"{summary.SIGNS[verdict]} {verdict.value}: {summary.MEANINGS[verdict]}" for verdict in given]
    return Text("\n" + "\n".join(lines), style="dim")


def _notes(investigation: Investigation) -> list[str]:
    days: dict[str, list[str]] = {}
    for source in filter(summary.is_dated, investigation.sources):
        days.setdefault(f"{source.retrieved_at:%Y-%m-%d}", []).append(summary.source_label(source))
    dated = "; ".join(f"{', '.join(dict.fromkeys(names))} ({day})" for day, names in days.items())
    notes = [f"recorded on the day given, not read in this run: {dated}"] if dated else []
    return notes + [
        f"agent {agent.name} brought only a part: {agent.error}"
        for agent in investigation.agents
        if agent.status is AgentStatus.PARTIAL
    ]
