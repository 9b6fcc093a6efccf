"""A timeline as one HTML page that loads nothing: the chart, what became of each contract, each change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

import investigator
from investigator.history import Cell, ReleaseRow, Story, Timeline
from investigator.model import Runner, Verdict
from investigator.reports import html, summary
from investigator.reports.escape import shortened, visible
from investigator.reports.timeline import SYMBOLS, cell_of, notes

LABELS = 220
HEAD = 62
CELL = 24


@dataclass(frozen=True)
class Change:
    """A release whose verdict is not that of the release before. ``place``: of its first evidence."""

    version: str
    verdict: Verdict
    why: str
    place: str


@dataclass(frozen=True)
class Question:
    """One contract on one runner over all releases."""

    contract: str
    runner: Runner | None
    anchor: str
    story: Story
    changes: tuple[Change, ...]
    verdicts: tuple[Verdict | None, ...]


@dataclass(frozen=True)
class Part:
    """One drafter's timeline as the page shows it.

    ``own``: what follows the drafter's name. ``settings``: what the deployment sets.
    """

    timeline: Timeline
    own: str
    settings: str
    chart: Markup
    questions: tuple[Question, ...]
    notes: tuple[str, ...]


def render(timelines: Sequence[Timeline]) -> str:
    """The page for one drafter, or for several below each other."""
    seen = {cell.verdict for timeline in timelines for row in timeline.rows for cell in row.cells}
    return html.page(
        "timeline.html.j2",
        parts=[_part(each, n) for n, each in enumerate(timelines, 1)],
        verdicts=[verdict for verdict in Verdict if verdict in seen],
        version=investigator.__version__,
    )


def _part(timeline: Timeline, number: int) -> Part:
    questions = tuple(_question(timeline, story, number) for story in timeline.stories)
    own, settings = summary.own_method(timeline.method), summary.setting_words(timeline.deployment)
    return Part(timeline, own, settings, chart(timeline), questions, tuple(notes(timeline)))


def _question(timeline: Timeline, story: Story, number: int) -> Question:
    cells = [cell_of(row, story.contract, story.runner) for row in timeline.rows]
    parts = (f"d{number}" if number > 1 else "", story.contract, story.runner.value if story.runner else "")
    return Question(
        contract=story.contract,
        runner=story.runner,
        anchor="-".join(part for part in parts if part),
        story=story,
        changes=tuple(_changes(timeline, cells)),
        verdicts=tuple(cell.verdict if cell else None for cell in cells),
    )


def _changes(timeline: Timeline, cells: Sequence[Cell | None]) -> Iterator[Change]:
    before: Verdict | None = None
    for row, cell in zip(timeline.rows, cells, strict=True):
        if cell is not None and cell.verdict is not before:
            before = cell.verdict
            place = summary.place(cell.evidence[0]) if cell.evidence else ""
            yield Change(row.version, cell.verdict, cell.why, place)


def chart(timeline: Timeline) -> Markup:
    """Contracts down, releases across; the runner that a release does not use by default is pale."""
    width = LABELS + CELL * len(timeline.rows) + 20
    height = HEAD + CELL * len(timeline.questions)
    parts = [_heading(row, LABELS + CELL * n + CELL / 2) for n, row in enumerate(timeline.rows)]
    for n, (contract, runner) in enumerate(timeline.questions):
        parts += _line(timeline, contract, runner, HEAD + CELL * n)
    label = (
        f"{timeline.draft} on {timeline.engine}: each contract in each release; the table below says the same"
    )
    return Markup(
        '<svg class="grid" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}">{}</svg>'
    ).format(visible(label), width, height, width, Markup("").join(parts))


def _heading(row: ReleaseRow, x: float) -> Markup:
    return Markup('<text transform="translate({x:.0f} {y}) rotate(-55)">{version}</text>').format(
        x=x, y=HEAD - 8, version=shortened(visible(row.version), 10)
    )


def _line(timeline: Timeline, contract: str, runner: Runner | None, top: int) -> Iterator[Markup]:
    name = f"{contract} {summary.runner_name(runner)}" if runner else contract
    yield Markup('<text x="0" y="{y}">{name}</text>').format(y=top + 16, name=shortened(visible(name), 30))
    for n, row in enumerate(timeline.rows):
        cell = cell_of(row, contract, runner)
        if cell is None:
            continue
        pale = "" if runner is None or row.runner in (None, runner) else " pale"
        yield Markup(
            '<g class="cell {verdict}{pale}"><title>{said}</title>'
            '<rect x="{x}" y="{y}" width="{size}" height="{size}" rx="3"/>'
            '<text x="{middle}" y="{base}" text-anchor="middle">{sign}</text></g>'
        ).format(
            verdict=cell.verdict.value,
            pale=pale,
            said=visible(f"{row.version}, {name}: {cell.verdict.value}, {cell.why}"),
            x=LABELS + CELL * n + 1,
            y=top + 1,
            size=CELL - 2,
            middle=LABELS + CELL * n + CELL // 2,
            base=top + 17,
            sign=SYMBOLS[cell.verdict],
        )
