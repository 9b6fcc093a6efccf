"""A timeline for people (terminal, markdown) and for programs (JSON); pure functions of it."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from investigator.history import Cell, ReleaseRow, Story, Timeline
from investigator.model import Json, Runner, Verdict
from investigator.reports import summary
from investigator.reports.escape import markdown, markdown_code, visible

if TYPE_CHECKING:
    from rich.console import RenderableType

SYMBOLS = summary.SIGNS
STYLES: dict[Verdict, str] = {
    Verdict.HONOURED: "green",
    Verdict.BROKEN: "bold red",
    Verdict.PARTIAL: "yellow",
    Verdict.REFUSED: "yellow",
    Verdict.UNSUPPORTED: "dim",
    Verdict.NOT_APPLICABLE: "dim",
    Verdict.UNKNOWN: "magenta",
}


def as_json(timelines: Sequence[Timeline]) -> str:
    """One object for one drafter; for several, an object whose ``timelines`` holds one each."""
    objects = [_object(timeline) for timeline in timelines]
    value: Json = objects[0] if len(objects) == 1 else {"schema": 1, "timelines": objects}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _object(timeline: Timeline) -> dict[str, Json]:
    return {
        "schema": 1,
        "engine": timeline.engine,
        "draft": timeline.draft,
        "method": timeline.method,
        "deployment": dict(timeline.deployment),
        "releases": {row.version: _row(row) for row in timeline.rows},
        "stories": [
            {
                "contract": story.contract,
                "runner": story.runner.value if story.runner else None,
                "first_bad": story.first_bad,
                "fixed_in": story.fixed_in,
                "regressed_in": story.regressed_in,
                "refused_since": story.refused_since,
            }
            for story in timeline.stories
        ],
    }


def _row(row: ReleaseRow) -> dict[str, Json]:
    return {
        "default_runner": row.runner.value if row.runner else None,
        "yanked": row.yanked,
        "unread": row.unread,
        "cells": [
            {
                "contract": cell.contract,
                "runner": cell.runner.value if cell.runner else None,
                "verdict": cell.verdict.value,
                "why": cell.why,
                "evidence": [
                    {
                        "source": e.source,
                        "path": e.path,
                        "line": e.line,
                        "end_line": e.end_line,
                        "quote": e.quote,
                    }
                    for e in cell.evidence
                ],
            }
            for cell in row.cells
        ],
    }


def as_markdown(timelines: Sequence[Timeline]) -> str:
    """A table per drafter: contracts down, releases across, then what became of each."""
    return "\n".join(_markdown(timeline) for timeline in timelines)


def _markdown(timeline: Timeline) -> str:
    head = ["contract", "runner", *(markdown(_heading(row)) for row in timeline.rows)]
    own = summary.own_method(timeline.method)
    lines = [
        f"# {markdown_code(timeline.draft)}{own} on {markdown(_engine(timeline))}",
        "",
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
    ]
    for contract, runner in timeline.questions:
        cells = [_symbol(cell_of(row, contract, runner)) for row in timeline.rows]
        lines.append(f"| {markdown_code(contract)} | {_runner(runner)} | {' | '.join(cells)} |")
    if _runners_differ(timeline):
        runners = [row.runner.value.upper() if row.runner else "?" for row in timeline.rows]
        lines.append(f"| default runner | | {' | '.join(runners)} |")
    lines += ["", _legend(), ""]
    lines += [f"- {markdown(told)}" for told in stories(timeline)]
    lines += [f"- {markdown(note)}" for note in notes(timeline)]
    return "\n".join(lines) + "\n"


def _engine(timeline: Timeline) -> str:
    """The engine, and what the deployment sets."""
    return f"{timeline.engine}{summary.setting_words(timeline.deployment)}"


def stories(timeline: Timeline) -> list[str]:
    """What became of each contract, one line each; those that were never bad share the last."""
    moved = [story for story in timeline.stories if story.first_bad or story.refused_since]
    kept = [story for story in timeline.stories if story not in moved]
    lines = [f"{_named(story)}: {story.sentence}" for story in moved]
    return [*lines, f"never seen broken: {', '.join(map(_named, kept))}"] if kept else lines


def _named(story: Story) -> str:
    return f"{story.contract} {_runner(story.runner)}" if story.runner else story.contract


def notes(timeline: Timeline) -> list[str]:
    """Releases that were withdrawn or could not be read."""
    found = []
    for row in timeline.rows:
        if row.yanked is not None:
            found.append(f"{row.version} was withdrawn: {row.yanked or 'no reason given'}")
        if row.unread is not None:
            found.append(f"{row.version} could not be read: {row.unread}")
    return found


def _legend() -> str:
    return ", ".join(f"{symbol} {verdict.value}" for verdict, symbol in SYMBOLS.items())


def _heading(row: ReleaseRow) -> str:
    return f"{row.version}{' (withdrawn)' if row.yanked is not None else ''}"


def cell_of(row: ReleaseRow, contract: str, runner: Runner | None) -> Cell | None:
    """A release's cell for one contract on one runner; None where it has none."""
    return next((c for c in row.cells if c.contract == contract and c.runner is runner), None)


def _symbol(cell: Cell | None) -> str:
    return SYMBOLS[cell.verdict] if cell is not None else " "


def _runners_differ(timeline: Timeline) -> bool:
    """Whether the engine has more than one path, so that it matters which a case takes."""
    return any(runner is not None for _, runner in timeline.questions)


def _runner(runner: Runner | None) -> str:
    return runner.value.upper() if runner else "–"


def for_terminal(timeline: Timeline) -> "RenderableType":
    """The table in colour, then the stories and the notes."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
    table.add_column("contract", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in timeline.rows:
        table.add_column("\n".join(row.version.split(".")), justify="center")
    for contract, runner in timeline.questions:
        cells = []
        for row in timeline.rows:
            cell = cell_of(row, contract, runner)
            in_use = runner is None or row.runner is None or row.runner is runner
            style = STYLES[cell.verdict] if cell is not None else ""
            cells.append(Text(_symbol(cell), style=style if in_use else f"dim {style}"))
        table.add_row(contract, _runner(runner), *cells)
    if _runners_differ(timeline):
        runners = (Text(r.runner.value if r.runner else "?", "dim") for r in timeline.rows)
        table.add_row("default runner", "", *runners)
    lines = [Text(visible(told)) for told in stories(timeline)]
    drafter = f"{timeline.draft}{summary.own_method(timeline.method)}"
    title = Text(f"{visible(drafter)} on {visible(_engine(timeline))}", style="bold")
    extra = [Text(visible(note), style="yellow") for note in notes(timeline)]
    return Group(title, table, Text(_legend(), style="dim"), *lines, *extra)
