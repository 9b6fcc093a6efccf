"""report.html: one file that loads nothing and runs nothing but its own script."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from investigator.model import AgentStatus
from investigator.reports import charts, html
from investigator.reports.blocks import Spans
from tests.support import builders


class Page(HTMLParser):
    """Every element with its attributes, and the text by element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.text = ""
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "rect"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        self.text += data
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(html.render(builders.investigation()))


def test_nothing_is_loaded(page):
    loading = {"src", "srcset", "action", "data", "poster", "background", "style"}
    assert not [tag for tag, attributes in page.elements if loading & attributes.keys()]
    assert not [
        tag for tag, _ in page.elements if tag in ("link", "img", "iframe", "object", "embed", "base", "form")
    ]
    assert "url(" not in "".join(page.texts["style"])
    assert all(a["href"].startswith(("#", "https://", "patches/")) for a in page.all("a"))


def test_the_policy_names_the_hashes_of_its_own_style_and_script(page):
    (policy,) = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]

    for tag in ("style", "script"):
        digest = hashlib.sha256("".join(page.texts[tag]).encode()).digest()
        assert f"{tag}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert policy.startswith("default-src 'none';")


def test_links_within_the_page_lead_somewhere(page):
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}

    inner = [a["href"][1:] for a in page.all("a") if a["href"].startswith("#")]
    assert {"verdicts", "target-layer-offset-v1", "patches", "sound", "not-checked", "sources"} == set(inner)
    assert set(inner) <= ids


def test_the_verdict_sorts_by_how_bad_it_is(page):
    ranks = [cell["data-sort"] for cell in page.all("td") if "data-sort" in cell]

    assert ranks == ["0", "4", "6"]


def test_headings_do_not_skip_a_level(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]

    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_a_quote_is_numbered_and_marked_and_whole():
    quote = '    x = "<b>" if a else None\n\n    # done & gone'

    marked = str(html.highlighted(builders.evidence(line=9, end_line=11, quote=quote)))

    read = Page(f"<pre>{marked}</pre>")
    assert "<b>" not in marked
    assert [span["class"] for span in read.all("span")].count("no") == 3
    assert re.sub(r"(?m)^\d+ ", "", read.text) == quote


def test_the_timeline_draws_each_agent_from_its_start():
    agents = (builders.agent_report("hub"), builders.agent_report("vllm", status=AgentStatus.FAILED))

    drawn = str(charts.agent_timeline(agents))

    bars = [attributes for tag, attributes in Page(drawn).elements if tag == "rect"]
    assert [bar["class"] for bar in bars] == ["bar done", "bar failed"]
    assert {bar["x"] for bar in bars} == {"130.0"}
    assert "hub 1.5 s, vllm 1.5 s" in drawn
    assert charts.agent_timeline(()) == ""


def test_an_empty_run_is_a_page_too():
    empty = builders.investigation(
        findings=(), sources=(), answers=(), patches=(), pull_requests=(), not_checked=(), agents=()
    )

    assert "Nothing could be decided." in Page(html.render(empty)).text


def test_a_page_draws_the_positions_of_a_symptom():
    drawn = Page(str(charts.by_position((0.16, 0.02, 0.0))))

    assert [bar["height"] for bar in drawn.all("rect")] == ["19.2", "2.4", "1.0"]
    assert drawn.all("svg")[0]["aria-label"] == "Accepted by position: 16.0 2.0 0.0 %"
    assert len(Page(str(charts.by_position((0.5,) * 500))).all("rect")) == 64


def test_a_page_draws_what_each_cause_would_give():
    block = Spans("title", (("a cause", "engine", (2.0, 4.0)), ("all right", "published", (3.0, 3.0))), 1.18)

    drawn = Page(str(charts.spans(block)))

    first, second = drawn.all("rect")
    assert (first["class"], second["class"]) == ("span engine", "span published")
    assert float(first["x"]) < float(second["x"])
    assert second["width"] == "2.0"
    assert "observed 1.18" in drawn.text
