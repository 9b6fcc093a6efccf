"""The validation as a section of a report, in Markdown and for the terminal."""

from collections.abc import Iterator

from investigator.validation.assess import Assessment, Figures
from investigator.validation.sentences import interval, sentences

TABLE = ("variant", "acceptance length", "by position", "drafts", "second pass", "prefix hits")


def markdown(assessment: Assessment, charts: bool = True) -> str:
    """A section with the sentences, the table and, beside it, the charts' files."""
    lines = ["## What each repair brings back", ""]
    lines += [f"- {_plain(sentence)}" for sentence in sentences(assessment)]
    lines += ["", _row(TABLE), _row(["---"] * len(TABLE))]
    lines += [_row(cells(figures)) for figures in assessment.figures]
    if charts:
        lines += ["", "![Acceptance length per variant](acceptance-length.svg)"]
        lines += ["", "![Accepted drafts by position](by-position.svg)"]
    lines += ["", *small_print(assessment)]
    return "\n".join(lines) + "\n"


def cells(figures: Figures) -> list[str]:
    """One variant's row of the table."""
    length = figures.acceptance_length
    if figures.status != "done":
        shown = figures.status
    elif length is None or not figures.drafts:
        shown = "nothing drafted"
    else:
        shown = interval(length)
    return [
        figures.variant.name,
        shown,
        " ".join(f"{e.value:.3f}".removeprefix("0") for e in figures.per_position),
        "" if not figures.drafts else f"{figures.drafts:,}",
        "" if figures.reuse_acceptance_length is None else f"{figures.reuse_acceptance_length.value:.3f}",
        "" if figures.hit_rate is None else f"{figures.hit_rate:.2%}",
    ]


def small_print(a: Assessment) -> Iterator[str]:
    """How the figures are to be read; one paragraph each, empty ones between them."""
    yield (
        "Acceptance length = 1 + accepted tokens ÷ drafts, the bonus token counted, pooled over prompts. "
        "By position: the share of drafts that had this token accepted. Intervals: 95 %, prompts drawn "
        "with replacement, the same draws for every variant. Second pass: acceptance length when all "
        "prompts run again, and the share of their tokens that the prefix cache then had."
    )
    if a.pair.startswith(("tiny", "micro")):
        yield ""
        yield (
            "This pair is a toy: what it says about which repair matters holds for the engine's code, how "
            "much a repair is worth depends on the drafter, and its speed says nothing."
        )


def _row(cells: "list[str] | tuple[str, ...]") -> str:
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """Foreign text (an engine's error) as text: no table, link, markup or line of its own."""
    return "".join(f"\\{c}" if c in "|`*<>[]#\\" else c if c.isprintable() else " " for c in text)
