"""Triage of a symptom as a section of the Markdown report, and as plain lines for a terminal.

Every text may hold foreign words (model names, data sets, log lines), so all of it passes the
escapes of its format.
"""

import re
from collections.abc import Iterator, Sequence

from investigator.model import Finding
from investigator.reports.escape import markdown, markdown_code, markdown_fence, markdown_link, visible
from investigator.triage.conclusion import conclusion, confirm
from investigator.triage.figures import Range
from investigator.triage.symptom import Measurement
from investigator.triage.verdict import Triage

QUESTION = "Is it the drafter or the engine?"
_REFERENCE = re.compile(r"(?P<repo>[\w-]{1,40}/[\w.-]{1,100})#(?P<number>[0-9]{1,8})")
SHOWN_SUSPECTS = 6
SHOWN_POSITIONS = 32


def markdown_section(triage: Triage, findings: Sequence[Finding] = (), *, heading: str = "##") -> str:
    """The section, from its heading on, ending in a line end."""
    blocks = [
        f"{heading} {QUESTION}",
        f"**{markdown(_capital(triage.answer.value))}.** {markdown(triage.headline)}",
    ]
    if joined := conclusion(triage, findings):
        blocks.append(markdown(joined))
    blocks += list(_reasons(triage))
    if (best := triage.symptom.best) is not None:
        blocks += list(_measured(triage, best))
    blocks += list(_tables(triage, findings))
    blocks += list(_input(triage))
    return "\n\n".join(blocks) + "\n"


def plain_lines(triage: Triage, findings: Sequence[Finding] = ()) -> list[str]:
    """The same in short: answer, length, shapes, suspects, what to do. One line each, no markup."""
    lines = [f"{QUESTION} {_capital(triage.answer.value)}.", f"  {triage.headline}"]
    if joined := conclusion(triage, findings):
        lines.append(f"  {joined}")
    if (best := triage.symptom.best) is not None:
        lines.append(f"  acceptance length  {best.length.arithmetic}  ({best.kind.value})")
    if rates := triage.symptom.per_position:
        lines.append(f"  by position        {_rates(rates)}")
    lines += [f"  shape              {reading.shape.value}: {reading.why}" for reading in triage.shapes]
    for row in confirm(triage, findings)[:SHOWN_SUSPECTS]:
        found = f"; found: {', '.join(row.verdicts)}" if row.verdicts else ""
        lines.append(f"  would look so      {row.suspect.contract} ({row.suspect.strength.value}){found}")
    lines += [f"  also shows         {one.name}: {one.seen}" for one in triage.confounders]
    lines += [f"  next               {step}" for step in triage.next_steps]
    return [visible(line) for line in lines]


def _reasons(triage: Triage) -> Iterator[str]:
    for title, reasons in (("For the engine", triage.for_engine), ("For the drafter", triage.for_drafter)):
        if reasons:
            yield f"{title}:"
            yield _bullets(reasons)
    if triage.next_steps:
        yield "To know more:"
        yield _bullets(triage.next_steps)


def _measured(triage: Triage, best: Measurement) -> Iterator[str]:
    low, high = triage.interval or (best.length.low, best.length.high)
    yield (
        f"Acceptance length (AL = 1 + accepted tokens ÷ drafts): {markdown(best.length.arithmetic)}, 95 % "
        f"interval {low:.2f} to {high:.2f}. Read from the {markdown(best.kind.value)}, lines "
        f"{best.first_line} to {best.last_line}: {markdown(best.length.given_as)}."
    )
    rows = [(other.name, f"{other.value:.2f} {other.unit}", other.formula) for other in best.others]
    yield _table(("the same under another name", "value", "formula"), rows)
    if rates := triage.symptom.per_position:
        yield f"Accepted by position: {markdown(_rates(rates))}."
    for other in triage.symptom.measurements[1:]:
        yield (
            f"The {markdown(other.kind.value)} in the same input gives {markdown(other.length.arithmetic)} "
            f"(lines {other.first_line} to {other.last_line})."
        )
    remarks = [note for measurement in triage.symptom.measurements for note in measurement.notes]
    if remarks:
        yield _bullets(remarks)


def _tables(triage: Triage, findings: Sequence[Finding]) -> Iterator[str]:
    yield _table(("shape", "because"), [(reading.shape.value, reading.why) for reading in triage.shapes])
    if triage.confounders:
        rows = [(one.name, one.seen, one.effect, _kept(one.kept)) for one in triage.confounders]
        yield _table(("what else shows", "seen", "what it does", "accepted tokens left elsewhere"), rows)
    if triage.suspects:
        verdicts = [
            (
                row.suspect.contract,
                row.suspect.strength.value,
                row.suspect.basis,
                ", ".join(row.verdicts) or "–",
            )
            for row in confirm(triage, findings)
        ]
        yield _table(("contract that would look so", "how clearly", "known from", "found here"), verdicts)
    if triage.distances:
        distances = [
            (one.side, one.name, _range(one.length), f"{one.gap:+.2f}" if one.gap else "inside", one.basis)
            for one in triage.distances
        ]
        yield _table(("side", "cause", "AL it would give here", "observed is off by", "from"), distances)
    if triage.comparisons:
        compared = [
            (
                one.figure.setting,
                _range(one.length),
                _percent(one.kept),
                one.figure.harness,
                one.figure.source,
                one.figure.date or "undated",
            )
            for one in triage.comparisons
        ]
        yield _table(("published for this pair", "AL", "kept here", "harness", "source", "date"), compared)


def _input(triage: Triage) -> Iterator[str]:
    symptom = triage.symptom
    if cache := symptom.prefix_cache:
        counted = (
            f"{cache.hits:,} of {cache.queries:,} tokens" if cache.queries is not None else "only a rate"
        )
        rate = f"{100 * cache.rate:.1f} %" if cache.rate is not None else "not known"
        yield f"Prefix cache: hit rate {rate} ({counted}; {markdown(cache.given_as)}, line {cache.line})."
    if symptom.settings:
        last = {setting.name: setting for setting in symptom.settings}
        rows = [(one.name, one.value, str(one.line)) for one in last.values()]
        yield _table(("setting seen", "value", "line"), rows, code=1)
    if symptom.lines:
        yield f"Lines used: {symptom.lines_used} of {symptom.lines_read}; the first of each kind:"
        yield markdown_fence(
            "\n".join(f"{line.number}: {visible(line.text)}" for line in symptom.lines), "text"
        )
    if symptom.notes:
        yield "Not read:"
        yield _bullets(symptom.notes)


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"- {markdown(text)}" for text in texts)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, code: int | None = None) -> str:
    """A table; column ``code`` holds code spans, all others prose."""
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    for row in rows:
        cells = [markdown_code(cell) if index == code else _prose(cell) for index, cell in enumerate(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _prose(text: str) -> str:
    """A cell; one that is a GitHub reference and nothing else becomes a link."""
    if match := _REFERENCE.fullmatch(text):
        return markdown_link(text, f"https://github.com/{match['repo']}/issues/{match['number']}")
    return markdown(text)


def _rates(rates: Sequence[float]) -> str:
    shown = " ".join(f"{100 * rate:.1f}" for rate in rates[:SHOWN_POSITIONS])
    return f"{shown} %" + (" …" if len(rates) > SHOWN_POSITIONS else "")


def _range(values: Range) -> str:
    low, high = (f"{value:.2f}" for value in values)
    return low if low == high else f"{low} to {high}"


def _percent(values: Range) -> str:
    low, high = (f"{100 * value:.0f} %" for value in values)
    return low if low == high else f"{low} to {high}"


def _kept(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
