"""Triage of a symptom as a section of a report, and as plain lines for a terminal.

Every text may hold foreign words (model names, data sets, log lines): the section is made of
blocks, which each format escapes its own way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from investigator.model import Finding, Json
from investigator.reports.blocks import (
    Bars,
    Block,
    Bullets,
    Heading,
    Paragraph,
    Rows,
    Spans,
    Verbatim,
    as_markdown,
    bullets,
    percentages,
)
from investigator.reports.escape import visible
from investigator.reports.json_report import plain
from investigator.triage.conclusion import conclusion, confirm
from investigator.triage.figures import Range
from investigator.triage.symptom import Measurement
from investigator.triage.verdict import Triage

QUESTION = "Is it the drafter or the engine?"
SHOWN_SUSPECTS = 6
CAUSES = (
    "Acceptance length observed, and what each cause would give here "
    "(red: an engine's fault, blue: a drafter's, grey: neither)"
)


@dataclass(frozen=True)
class Opening:
    """What a report about a symptom opens with, and what it shows of the symptom further down."""

    answer: tuple[Block, ...]
    details: tuple[Block, ...]
    measured: tuple[Block, ...] = ()
    """The part of the details that holds measurements and no judgement: for somebody else's tracker."""


def opening(triage: Triage, findings: Sequence[Finding] = (), *, notes: Sequence[str] = ()) -> Opening:
    """The answer with its reasons, and the figures it rests on.

    ``notes`` say what the case takes from the symptom, and where the two disagree.
    """
    answer: list[Block] = [Heading(QUESTION)]
    answer.append(Paragraph(triage.headline, strong=f"{_capital(triage.answer.value)}."))
    if joined := conclusion(triage, findings):
        answer.append(Paragraph(joined))
    if triage.distances and triage.symptom.best is not None:
        spans = tuple(
            (one.name, "published" if one.basis == "the published range" else one.side, one.length)
            for one in triage.distances
        )
        observed = triage.symptom.best.length.value
        answer.append(Spans(CAUSES, spans, observed))
    answer += bullets("For the engine:", triage.for_engine)
    answer += bullets("For the drafter:", triage.for_drafter)
    answer += bullets("To know more:", triage.next_steps)
    answer += bullets("Taken from the symptom:", notes)
    best = triage.symptom.best
    measured = tuple(_measured(triage, best)) if best is not None else ()
    return Opening(
        answer=tuple(answer),
        details=(*measured, *_tables(triage, findings), *_input(triage)),
        measured=measured,
    )


def markdown_section(triage: Triage, findings: Sequence[Finding] = (), *, heading: str = "##") -> str:
    """The whole section, from its heading on, ending in a line end."""
    made = opening(triage, findings)
    return as_markdown((*made.answer, *made.details), heading=heading)


def plain_lines(triage: Triage, findings: Sequence[Finding] = ()) -> list[str]:
    """The same in short: answer, length, shapes, suspects, what to do. One line each, no markup."""
    lines = [f"{QUESTION} {_capital(triage.answer.value)}.", f"  {triage.headline}"]
    if joined := conclusion(triage, findings):
        lines.append(f"  {joined}")
    if (best := triage.symptom.best) is not None:
        lines.append(f"  acceptance length  {best.length.arithmetic}  ({best.kind.value})")
    if rates := triage.symptom.per_position:
        lines.append(f"  by position        {percentages(rates)}")
    lines += [f"  mind               {note}" for note in (best.notes if best else ())]
    lines += [f"  shape              {reading.shape.value}: {reading.why}" for reading in triage.shapes]
    for row in confirm(triage, findings)[:SHOWN_SUSPECTS]:
        found = f"; found: {', '.join(row.verdicts)}" if row.verdicts else ""
        lines.append(f"  would look so      {row.suspect.contract} ({row.suspect.strength.value}){found}")
    lines += [f"  also shows         {one.name}: {one.seen}" for one in triage.confounders]
    lines += [f"  next               {step}" for step in triage.next_steps]
    return [visible(line) for line in lines]


def brief_lines(triage: Triage, findings: Sequence[Finding] = ()) -> list[str]:
    """The answer alone, for above the verdicts; one line each, no markup."""
    lines = [f"{QUESTION} {_capital(triage.answer.value)}.", f"  {triage.headline}"]
    lines += [f"  {joined}"] if (joined := conclusion(triage, findings)) else []
    return [visible(line) for line in lines]


def as_json(
    triage: Triage, findings: Sequence[Finding] = (), *, notes: Sequence[str] = ()
) -> dict[str, Json]:
    """Everything that triage concludes, as ``investigation.json`` holds it under ``extra.triage``."""
    whole = plain(triage)
    assert isinstance(whole, dict)
    suspects: list[Json] = [
        {"contract": row.suspect.contract, "found": list(row.verdicts), "at_fault": row.at_fault}
        for row in confirm(triage, findings)
    ]
    return whole | {"conclusion": conclusion(triage, findings), "confirmed": suspects, "taken": list(notes)}


def _measured(triage: Triage, best: Measurement) -> Iterator[Block]:
    low, high = triage.interval or (best.length.low, best.length.high)
    yield Paragraph(
        f"Acceptance length (AL = 1 + accepted tokens ÷ drafts): {best.length.arithmetic}, 95 % interval "
        f"{low:.2f} to {high:.2f}. Read from the {best.kind.value}, lines {best.first_line} to "
        f"{best.last_line}: {best.length.given_as}."
    )
    rows = tuple((other.name, f"{other.value:.2f} {other.unit}", other.formula) for other in best.others)
    yield Rows(("the same under another name", "value", "formula"), rows)
    if rates := triage.symptom.per_position:
        yield Bars("Accepted by position", rates)
    for other in triage.symptom.measurements[1:]:
        yield Paragraph(
            f"The {other.kind.value} in the same input gives {other.length.arithmetic} "
            f"(lines {other.first_line} to {other.last_line})."
        )
    remarks = [note for measurement in triage.symptom.measurements for note in measurement.notes]
    yield from bullets("Mind:", remarks)


def _tables(triage: Triage, findings: Sequence[Finding]) -> Iterator[Block]:
    shapes = tuple((reading.shape.value, reading.why) for reading in triage.shapes)
    yield Rows(("shape", "because"), shapes)
    if triage.confounders:
        confounders = tuple((one.name, one.seen, one.effect, _kept(one.kept)) for one in triage.confounders)
        yield Rows(("what else shows", "seen", "what it does", "accepted tokens left elsewhere"), confounders)
    if triage.suspects:
        verdicts = tuple(
            (
                row.suspect.contract,
                row.suspect.strength.value,
                row.suspect.basis,
                ", ".join(row.verdicts) or "–",
            )
            for row in confirm(triage, findings)
        )
        yield Rows(("contract that would look so", "how clearly", "known from", "found here"), verdicts)
    if triage.distances:
        distances = tuple(
            (one.side, one.name, _range(one.length), f"{one.gap:+.2f}" if one.gap else "inside", one.basis)
            for one in triage.distances
        )
        yield Rows(("side", "cause", "AL it would give here", "observed is off by", "from"), distances)
    if triage.comparisons:
        compared = tuple(
            (
                one.figure.setting,
                _range(one.length),
                _percent(one.kept),
                one.figure.harness,
                one.figure.source,
                one.figure.date or "undated",
            )
            for one in triage.comparisons
        )
        yield Rows(("published for this pair", "AL", "kept here", "harness", "source", "date"), compared)


def _input(triage: Triage) -> Iterator[Block]:
    symptom = triage.symptom
    if cache := symptom.prefix_cache:
        counted = (
            f"{cache.hits:,} of {cache.queries:,} tokens" if cache.queries is not None else "only a rate"
        )
        rate = f"{100 * cache.rate:.1f} %" if cache.rate is not None else "not known"
        yield Paragraph(f"Prefix cache: hit rate {rate} ({counted}; {cache.given_as}, line {cache.line}).")
    if symptom.settings:
        last = {setting.name: setting for setting in symptom.settings}
        rows = tuple((one.name, one.value, str(one.line or "an option")) for one in last.values())
        yield Rows(("setting seen", "value", "line"), rows, code=1)
    if symptom.lines:
        yield Verbatim(
            f"Lines used: {symptom.lines_used} of {symptom.lines_read}; the first of each kind:",
            "\n".join(f"{line.number}: {visible(line.text)}" for line in symptom.lines),
        )
    if symptom.notes:
        yield Bullets("Not read:", symptom.notes)


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
