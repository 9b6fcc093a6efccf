"""``report.html``: one file that loads nothing, for a browser, light and dark, and for paper."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup

from investigator.model import Evidence, Finding, Investigation, Verdict
from investigator.reports import blocks, charts, content, escape, rows, summary
from investigator.reports.markdown import seconds, sentence

if TYPE_CHECKING:
    from jinja2 import Template
    from pygments.lexer import Lexer

    from investigator.reports.triage_section import Opening


def render(investigation: Investigation, opening: "Opening | None" = None) -> str:
    """The page. Every foreign text is escaped by the template; scripts are ours alone.

    ``opening``: what a symptom says, in front of the verdicts.
    """
    return page(
        "report.html.j2",
        **content.of(investigation),
        opening=opening,
        timeline=charts.agent_timeline(investigation.agents),
    )


def page(name: str, **parts: object) -> str:
    """A page from a template, with the style and the script that its own policy allows."""
    style, script = _asset("report.css"), _asset("report.js")
    return _template(name).render(
        **parts,
        style=Markup(style),  # noqa: S704 - packaged with this module
        script=Markup(script),  # noqa: S704 - packaged with this module
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
    )


def fragment(name: str, **parts: object) -> str:
    """A part of a page from a template."""
    return _template(name).render(**parts)


def highlighted(evidence: Evidence) -> Markup:
    """The quoted lines, numbered, with Python's syntax marked by classes."""
    import pygments
    from pygments.formatters.html import HtmlFormatter

    name = (
        "python" if evidence.path.endswith(".py") else "json" if evidence.path.endswith(".json") else "text"
    )
    code = escape.visible(evidence.quote, lines=True)
    marked = pygments.highlight(code, _lexer(name), HtmlFormatter(nowrap=True)).rstrip("\n").split("\n")
    numbered = (
        Markup('<span class="no">{}</span> {}').format(evidence.line + offset, Markup(line))  # noqa: S704
        for offset, line in enumerate(marked)  # escaped by the formatter
    )
    return Markup("\n").join(numbered)


def lines(text: str | Sequence[str]) -> Markup:
    """Several lines, as they are."""
    whole = text if isinstance(text, str) else "\n".join(text)
    return Markup.escape(escape.visible(whole, lines=True))


def anchor(finding: Finding) -> str:
    """The id of a finding's section."""
    return finding.question.replace("/", "-")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (resources.files("investigator.reports") / "templates" / name).read_text(encoding="utf-8")


@cache
def _lexer(name: str) -> "Lexer":
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(name, stripnl=False, ensurenl=True)


@cache
def _template(name: str) -> "Template":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("investigator.reports"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=lambda value: escape.visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "highlighted": highlighted,
        "anchor": anchor,
        "place": summary.place,
        "title": summary.title,
        "runner": summary.runner_name,
        "sign": summary.SIGNS.__getitem__,
        "meaning": summary.MEANINGS.__getitem__,
        "rank": lambda verdict: list(Verdict).index(verdict),
        "day": lambda time: f"{time:%Y-%m-%d}",
        "seconds": seconds,
        "sentence": sentence,
        "by_position": charts.by_position,
        "spans": charts.spans,
        "kind": summary.kind_words,
        "origin": summary.origin_text,
        "decisive": rows.decisive,
        "in_one_line": content.in_one_line,
        "reference_url": blocks.reference_url,
        "block": lambda block: type(block).__name__,
        "lines": lines,
    }
    environment.tests["dated"] = summary.is_dated
    return environment.get_template(name)
