"""A comparison for people (terminal, markdown) and for programs (JSON); pure functions of it."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from investigator.comparison import Comparison, Row, Side
from investigator.model import Evidence, Finding, Json, Verdict
from investigator.reports import summary
from investigator.reports.escape import markdown, markdown_code, markdown_fence, shortened, visible
from investigator.reports.timeline import STYLES

if TYPE_CHECKING:
    from rich.console import RenderableType

NOT_ASKED = "not asked"
MOST_QUOTES = 5
MOST_FUNCTIONS = 3
MOST_CHANGED = 20
"""Functions that a terminal shows the difference of, for one contract; lines of each."""
WIDEST_QUOTE = 90


def as_json(comparison: Comparison) -> str:
    """The whole comparison, one object."""
    value: dict[str, Json] = {
        "schema": 1,
        "draft": comparison.draft,
        "target": comparison.target,
        "method": comparison.method,
        "deployment": dict(comparison.deployment),
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "contracts": [_row(comparison, row) for row in comparison.rows],
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _side(side: Side) -> dict[str, Json]:
    return {
        "engine": side.name,
        "source": side.source.id,
        "revision": side.source.revision,
        "default_runner": side.runner.value if side.runner else None,
    }


def _row(comparison: Comparison, row: Row) -> dict[str, Json]:
    return {
        "contract": row.contract,
        "differs": row.differs,
        "in_use": row.in_use,
        "a": _finding(comparison.a, row.a),
        "b": _finding(comparison.b, row.b),
        "settings": [{"ref": remedy.ref, "effect": remedy.effect} for remedy in row.settings],
        "changes": [{"path": c.path, "function": c.function, "diff": c.diff} for c in row.changes],
    }


def _finding(side: Side, finding: Finding | None) -> Json:
    if finding is None:
        return None
    return {
        "runner": finding.runner.value if finding.runner else None,
        "verdict": finding.verdict.value,
        "why": finding.why,
        "live": finding.live,
        "evidence": [_evidence(shown) for shown in side.evidence(finding)],
    }


def _evidence(shown: Evidence) -> dict[str, Json]:
    return {
        "path": shown.path,
        "line": shown.line,
        "end_line": shown.end_line,
        "quote": shown.quote,
        "role": shown.role,
    }


# -- markdown --------------------------------------------------------------------------


def as_markdown(comparison: Comparison) -> str:
    """A table of every promise, then each difference with the evidence on both sides."""
    a, b = comparison.a, comparison.b
    own, given = summary.own_method(comparison.method), summary.setting_words(comparison.deployment)
    lines = [
        f"# {markdown_code(comparison.draft)}{own}: {markdown(f'{a.name} and {b.name}{given}')}",
        "",
        markdown(conclusion(comparison)),
        "",
        f"| contract | {markdown(_heading(a))} | {markdown(_heading(b))} |",
        "| --- | --- | --- |",
    ]
    for row in comparison.rows:
        cells = (markdown(_word(finding)) for finding in (row.a, row.b))
        lines.append(f"| {markdown(_title(row))} | {' | '.join(cells)} |")
    for row in (*comparison.differences, *_in_kind(comparison)):
        lines += ["", f"## {markdown(_title(row))}", ""]
        for side, finding in ((a, row.a), (b, row.b)):
            lines += [f"**{markdown(side.name)}**: {markdown(_word(finding))}: {markdown(_why(finding))}", ""]
            for shown in side.evidence(finding):
                lines += [f"- {markdown_code(summary.place(shown))} ({markdown(shown.role)})"]
                lines += ["", markdown_fence(shown.quote, "python"), ""]
        lines += [f"- {markdown(told)}" for told in _settings(row)]
        for change in row.changes:
            where = f"{markdown_code(change.function)} ({markdown_code(change.path)})"
            lines += ["", f"What changed in {where}:", "", markdown_fence(change.diff, "diff")]
    return "\n".join(lines) + "\n"


# -- terminal --------------------------------------------------------------------------


def for_terminal(comparison: Comparison) -> "RenderableType":
    """The table, then the differences."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    a, b = comparison.a, comparison.b
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for heading in ("contract", visible(_heading(a)), visible(_heading(b))):
        table.add_column(heading, no_wrap=True)
    for row in (row for row in comparison.rows if not _is_missing(row)):
        cells = [
            Text(visible(_word(f)), STYLES[f.verdict] if f is not None else "dim") for f in (row.a, row.b)
        ]
        table.add_row(Text(visible(_title(row)), "bold" if row.differs else ""), *cells)
    told = [Text(visible(line)) for line in _missing_runners(comparison)]
    seen: set[str] = set()
    for row in (*comparison.differences, *_in_kind(comparison)):
        if _is_missing(row):
            continue
        same = ", in two ways" if row.differs_in_kind else ""
        told += [Text(), Text(visible(f"{_title(row)}{same}"), "bold")]
        for side, finding in ((a, row.a), (b, row.b)):
            told.append(Text(visible(f"  {side.name}: {_word(finding)}: {_why(finding)}")))
            shown = side.evidence(finding) if row.in_use else ()
            told += [Text(visible(f"    {line}"), "dim") for line in _quotes(shown)]
        told += [Text(visible(f"  {line}"), "green") for line in _settings(row)]
        for change in row.changes[:MOST_FUNCTIONS] if row.in_use else ():
            again = ", as above" if change.diff in seen else ":"
            told.append(Text(visible(f"  changed in {change.function} ({change.path}){again}"), "dim"))
            if change.diff not in seen:
                told += [Text(visible(f"    {line}"), _color(line)) for line in _first_lines(change.diff)]
            seen.add(change.diff)
        if row.in_use and len(row.changes) > MOST_FUNCTIONS:
            also = ", ".join(change.function for change in row.changes[MOST_FUNCTIONS:])
            told.append(Text(visible(f"  changed as well: {also}"), "dim"))
    title = Text(visible(f"{_drafter(comparison)}: {conclusion(comparison)}"), "bold")
    return Group(title, table, *told)


def _drafter(comparison: Comparison) -> str:
    """The drafter, and what the deployment sets."""
    given = summary.setting_words(comparison.deployment)
    return f"{comparison.draft}{summary.own_method(comparison.method)}{given}"


def _quotes(evidence: Sequence[Evidence]) -> Iterator[str]:
    """The first lines of evidence, the first pieces of it."""
    for shown in evidence[:MOST_QUOTES]:
        first = shown.quote.strip().partition("\n")[0]
        yield f"{summary.place(shown)}  {shortened(first, WIDEST_QUOTE)}"


def _first_lines(diff: str) -> list[str]:
    """A difference without its heading, as long as a terminal shows it."""
    lines = diff.splitlines()[2:]
    left = len(lines) - MOST_CHANGED
    return lines if left <= 0 else [*lines[:MOST_CHANGED], "... more with --format markdown"]


def _is_missing(row: Row) -> bool:
    """Whether the row is of a runner that the case does not use, and that one side does not have."""
    return not row.in_use and any(f and f.verdict is Verdict.UNSUPPORTED for f in (row.a, row.b))


def _missing_runners(comparison: Comparison) -> Iterator[str]:
    """Which side has no such runner for this drafter, in a line for each."""
    for side, findings in (
        (comparison.a, [row.a for row in comparison.rows if _is_missing(row)]),
        (comparison.b, [row.b for row in comparison.rows if _is_missing(row)]),
    ):
        found = [f for f in findings if f is not None and f.verdict is Verdict.UNSUPPORTED]
        for why in dict.fromkeys(finding.why for finding in found):
            yield f"{side.name}: {why}"


def _color(line: str) -> str:
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")


# -- words -----------------------------------------------------------------------------


def conclusion(comparison: Comparison) -> str:
    """The comparison in one sentence."""
    found = [row for row in comparison.differences if row.in_use]
    if not found:
        same = f"{comparison.a.name} and {comparison.b.name} keep the same promises"
        same += ", as far as they could be asked" if comparison.undecided else ""
        return "; ".join([same, *_awake(comparison)])
    for_a = [row.contract for row in found if _better(row.a, row.b)]
    for_b = [row.contract for row in found if _better(row.b, row.a)]
    parts = [
        f"{side.name} keeps {', '.join(names)}"
        for side, names in ((comparison.a, for_a), (comparison.b, for_b))
        if names
    ]
    others = [row.contract for row in found if row.contract not in (*for_a, *for_b)]
    parts += [f"they differ in {', '.join(others)}"] if others else []
    return "; ".join([*parts, *_awake(comparison)])


def _awake(comparison: Comparison) -> Iterator[str]:
    """Faults of both that default settings run into on one side alone."""
    for row in _in_kind(comparison):
        live = [f is not None and f.live for f in (row.a, row.b)]
        if row.in_use and live in ([True, False], [False, True]):
            side = comparison.a if live[0] else comparison.b
            yield f"{row.contract} is broken in both, and by default met only in {side.name}"


def _better(one: Finding | None, two: Finding | None) -> bool:
    return one is not None and two is not None and one.verdict is Verdict.HONOURED


def _heading(side: Side) -> str:
    return f"{side.name} ({summary.runner_name(side.runner)})" if side.runner else side.name


def _title(row: Row) -> str:
    finding = row.a or row.b
    if row.in_use or finding is None or finding.runner is None:
        return row.contract
    return f"{row.contract} on {summary.runner_name(finding.runner)}, not the default"


def _word(finding: Finding | None) -> str:
    return f"{summary.SIGNS[finding.verdict]} {finding.verdict.value}" if finding is not None else NOT_ASKED


def _why(finding: Finding | None) -> str:
    return finding.why if finding is not None else ""


def _settings(row: Row) -> Iterator[str]:
    for remedy in dict.fromkeys(row.settings):
        yield f"to make them equal: {remedy.ref}: {remedy.effect}"


def _in_kind(comparison: Comparison) -> list[Row]:
    """Promises that both keep, or break, each in its own way."""
    return [row for row in comparison.rows if row.differs_in_kind]
