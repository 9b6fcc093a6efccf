"""Text in blocks that every format draws its own way: paragraphs, bullets, tables, verbatim lines.

The words may be foreign; whoever draws a block escapes them for its format.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from investigator.reports.escape import markdown, markdown_code, markdown_fence, markdown_link, visible

_REFERENCE = re.compile(r"(?P<repo>[\w-]{1,40}/[\w.-]{1,100})#(?P<number>[0-9]{1,8})")


@dataclass(frozen=True)
class Heading:
    """A heading of the section."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """One paragraph; ``strong`` is a sentence in front that stands out."""

    text: str
    strong: str = ""


@dataclass(frozen=True)
class Bullets:
    """A list under its introducing words."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """A table. ``code``: the column that holds code; all others hold prose."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    code: int | None = None


@dataclass(frozen=True)
class Verbatim:
    """Lines as they were found, under their introducing words."""

    title: str
    text: str


@dataclass(frozen=True)
class Bars:
    """Shares in [0, 1], one after the other: drawn where a page can draw, numbers elsewhere."""

    title: str
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Spans:
    """Ranges of one quantity with the observed value among them: drawn only, for a table says the same.

    Each row: its name, the class it is coloured by, and the range.
    """

    title: str
    rows: tuple[tuple[str, str, tuple[float, float]], ...]
    observed: float


Block = Heading | Paragraph | Bullets | Rows | Verbatim | Bars | Spans


def as_markdown(blocks: Iterable[Block], *, heading: str = "##") -> str:
    """The blocks as GitHub-flavoured Markdown, ending in a line end."""
    return "\n\n".join(part for block in blocks for part in _markdown(block, heading)) + "\n"


def _markdown(block: Block, heading: str) -> list[str]:
    match block:
        case Heading():
            return [f"{heading} {markdown(block.text)}"]
        case Paragraph():
            strong = f"**{markdown(block.strong)}** " if block.strong else ""
            return [strong + markdown(block.text)]
        case Bullets():
            return [markdown(block.title), "\n".join(f"- {markdown(item)}" for item in block.items)]
        case Rows():
            return [_table(block)]
        case Bars():
            return [f"{markdown(block.title)}: {percentages(block.shares)}."]
        case Spans():
            return []
        case Verbatim():
            return [markdown(block.title), markdown_fence(visible(block.text, lines=True), "text")]


def _table(block: Rows) -> str:
    lines = [f"| {' | '.join(block.headings)} |", f"|{'---|' * len(block.headings)}"]
    for row in block.rows:
        cells = [markdown_code(cell) if n == block.code else _prose(cell) for n, cell in enumerate(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def reference_url(text: str) -> str | None:
    """The address of a text that is a GitHub reference and nothing else (``owner/name#12``)."""
    if match := _REFERENCE.fullmatch(text):
        return f"https://github.com/{match['repo']}/issues/{match['number']}"
    return None


def _prose(text: str) -> str:
    url = reference_url(text)
    return markdown_link(text, url) if url else markdown(text)


SHOWN_SHARES = 32


def percentages(shares: Sequence[float]) -> str:
    """``16.0 2.0 0.0 %``: at most 32 of them."""
    shown = " ".join(f"{100 * share:.1f}" for share in shares[:SHOWN_SHARES])
    return f"{shown} %" + (" …" if len(shares) > SHOWN_SHARES else "")


def bullets(title: str, items: Sequence[str]) -> list[Block]:
    """A list, or nothing without items."""
    return [Bullets(title, tuple(items))] if items else []
