"""``report.md``: one page for people, as GitHub renders it."""

from functools import cache
from typing import TYPE_CHECKING

from investigator.model import AgentReport, Evidence, Investigation
from investigator.reports import blocks, content, escape, rows, summary

if TYPE_CHECKING:
    from jinja2 import Template

    from investigator.reports.triage_section import Opening


SHORT = 160
"""Characters of a quoted line that stands behind its place, not in a block of its own."""


def render(investigation: Investigation, opening: "Opening | None" = None) -> str:
    """The report as GitHub-flavoured Markdown, ending in a line end.

    ``opening``: what a symptom says, in front of the verdicts.
    """
    text = template("report.md.j2").render(
        **content.of(investigation),
        opening=blocks.as_markdown(opening.answer) if opening else "",
        symptom=blocks.as_markdown(opening.details) if opening else "",
    )
    return text.strip() + "\n"


def is_short(evidence: Evidence) -> bool:
    """Whether its quote fits into the line that names its place."""
    return bool(evidence.recorded_from) or (
        "\n" not in evidence.quote and "|" not in evidence.quote and len(evidence.quote.strip()) <= SHORT
    )


def quoted(evidence: Evidence) -> str:
    """The quoted lines with their numbers, as a fenced block.

    The numbers are ours; the fence is longer than any in the quote.
    """
    lines = evidence.quote.split("\n")
    width = len(str(evidence.line + len(lines) - 1))
    numbered = [f"{evidence.line + n:>{width}}  {line}" for n, line in enumerate(lines)]
    return escape.markdown_fence("\n".join(numbered), "python" if evidence.path.endswith(".py") else "text")


def sentence(text: str) -> str:
    """A text as a sentence: a full stop behind, a capital in front of a word that is no name of code."""
    word = text.partition(" ")[0]
    start = text[:1].upper() if word.isalpha() and word.islower() else text[:1]
    return start + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".")


def seconds(agent: AgentReport) -> str:
    """How long an agent took, in seconds."""
    return f"{(agent.finished - agent.started).total_seconds():.1f}"


@cache
def template(name: str) -> "Template":
    """A Markdown template: every foreign text passes one of the filters, by hand."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("investigator.reports"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - HTML's rules are not Markdown's; see the filters
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "text": escape.markdown,
        "code": escape.markdown_code,
        "link": escape.markdown_link,
        "file": escape.markdown_file,
        "summary": escape.html_in_markdown,
        "comment": escape.html_comment,
        "fence": escape.markdown_fence,
        "quoted": quoted,
        "place": summary.place,
        "title": summary.title,
        "runner": summary.runner_name,
        "sign": summary.SIGNS.__getitem__,
        "meaning": summary.MEANINGS.__getitem__,
        "day": lambda time: f"{time:%Y-%m-%d}",
        "seconds": seconds,
        "sentence": sentence,
        "kind": summary.kind_words,
        "origin": summary.origin_text,
        "decisive": rows.decisive,
        "in_one_line": content.in_one_line,
        "blocks": lambda parts: blocks.as_markdown(parts).strip(),
    }
    environment.tests["dated"] = summary.is_dated
    environment.tests["short"] = is_short
    return environment.get_template(name)
