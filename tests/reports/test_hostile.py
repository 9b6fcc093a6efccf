"""Foreign text comes out inert in every format, wherever it was planted."""

import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from investigator.model import Known, NotChecked, Verdict
from investigator.reports.formats import FORMATS
from investigator.reports.terminal import print_verdicts
from investigator.reports.triage_section import opening
from investigator.triage import judge, load_figures, read_symptom
from tests.support import builders

PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><svg onload=alert(1)>",
    "![p](https://evil.example/p.png)",
    "[click](javascript:alert(1))",
    "@octocat please look",
    "| a | b |\n| - | - |",
    "``` \n# heading\n- item",
    "`` ` ```` `",
    "\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x1b[2J",
    "\x9b31m\x08\x7f",
    "\u202egnp.exe\u2066\u200b\ufeff",
    "[bold red]x[/bold red][/]",
    "{{ 7 * 7 }}{% raw %}${7*7}",
    "::error file=x::owned\r\n::set-output name=x::y",
    "%0A::error::x",
    "--><!-- <b>",
    "&lt;script&gt; &amp; \\| \\",
    "\ud800 alone",
    "a" * 20_000,
    "https://evil.example/x?y=<z>",
    "-  \n===\n1. x",
    "</details></summary><details open>",
    "<!-- measured -->\n<!-- /measured -->",
    "<![CDATA[x]]> <?php ?> <!DOCTYPE x>",
    "[x]: https://evil.example\n[x]",
    "- [x] done\n~~~\n```suggestion\n",
    "www.evil.example me@evil.example ftp://evil.example",
    "$`\\href{javascript:alert(1)}{x}`$ $$x$$",
    "[^1]\n\n[^1]: note",
    "#1 GH-1 octo/cat#1 @org/team",
    "[link=https://evil.example]x[/link] :warning:",
    "\x1b]52;c;ZXZpbA==\x07\x1bPq\x1b\\\x9d0;title\x9c",
    "a\x00b\u2028c\u2029d\x85e",
    "${{ secrets.X }} $(id) `id`",
    "::add-mask::x\n::stop-commands::x\n##[error]x",
    "javascript:alert(1)//%0aalert(1)",
    "\u0430\u0440\u0440\U000e0041\U000e007f\ufe0f",
]


def planted(payload):
    """The payload in every text that can come from a source."""
    clean = builders.investigation()
    evidence = builders.evidence(path=f"vllm/{payload}.py", quote=payload, end_line=3, role=payload)
    texts = dict.fromkeys(("why", "promised", "happens", "consequence"), payload)
    remedy = replace(builders.finding().remedies[0], ref=payload, effect=payload)
    source = builders.source(
        name=payload, revision=payload, note=payload, permalink="https://c.example/{path}"
    )
    return replace(
        clean,
        case=replace(clean.case, engine=f"path:{payload}", draft=f"path:{payload}", target=payload),
        default_runner_why=payload,
        sources=(source, *clean.sources[1:]),
        agents=(builders.agent_report("vllm", error=payload),),
        answers=(builders.answer(outcome=Known({payload: payload}), note=payload),),
        findings=tuple(
            builders.finding(
                contract=f"rope-{verdict}", verdict=verdict, evidence=(evidence,), remedies=(remedy,), **texts
            )
            for verdict in Verdict
        ),
        pull_requests=(
            replace(clean.pull_requests[0], title=payload, effect=payload, contained_why=payload),
        ),
        patches=(builders.patch(subject=payload, files=(payload,)),),
        not_checked=(NotChecked(what=payload, why=payload),),
        command=payload,
    )


def structure(html):
    """The elements of a page, without its text."""

    class Elements(HTMLParser):
        def __init__(self):
            super().__init__()
            self.seen = []

        def handle_starttag(self, tag, attrs):
            self.seen.append((tag, tuple(sorted(name for name, _ in attrs))))

        def handle_comment(self, data):
            self.seen.append(("comment", ()))

    parser = Elements()
    parser.feed(html)
    return parser.seen


def steering(text):
    return sorted(
        {
            hex(ord(c))
            for c in text
            if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f" or c in "\u202e\u2066\ufeff"
        }
    )


def test_every_format_is_looked_at():
    """A new one: its place in :class:`TestInert`, then here."""
    assert set(FORMATS) == {"html", "markdown", "issue", "json", "sarif", "github"}


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
class TestInert:
    def test_html(self, payload):
        page = FORMATS["html"].render(planted(payload))

        harmless = FORMATS["html"].render(planted("harmless"))

        # What highlights a quote follows its text; everything else has the same elements.
        def skeleton(html):
            return [element for element in structure(html) if element != ("span", ("class",))]

        assert skeleton(page) == skeleton(harmless)
        assert steering(page) == []

    @pytest.mark.parametrize("name", ["markdown", "issue"])
    def test_markdown(self, payload, name):
        text = FORMATS[name].render(planted(payload))
        harmless = FORMATS[name].render(planted("harmless"))

        def skeleton(markdown):
            html = (
                MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown)
            )
            # A text with a pipe in it is prose where another is a code span, and spans part its fences.
            return [tag for tag, _ in structure(html) if tag != "code"]

        assert skeleton(text) == skeleton(harmless)
        assert [c for c in steering(text) if c != "0x9"] == []

    def test_json(self, payload):
        document = json.loads(FORMATS["json"].render(planted(payload)))

        assert document["findings"][0]["why"] == payload
        assert FORMATS["json"].render(planted(payload)).isascii()

    def test_sarif(self, payload):
        text = FORMATS["sarif"].render(planted(payload))

        assert len(json.loads(text)["runs"][0]["results"]) == 3
        assert text.isascii()

    def test_workflow_commands(self, payload):
        lines = FORMATS["github"].render(planted(payload)).splitlines()

        assert [line[: line.index(" ")] for line in lines] == [
            "::error",
            "::warning",
            "::warning",
            "::notice",
        ]
        assert steering("".join(lines)) == []

    def test_terminal(self, payload):
        stream = StringIO()
        print_verdicts(Console(file=stream, width=100), planted(payload))

        assert steering(stream.getvalue()) == []
        assert stream.getvalue().count("broken: runs, and does something else") == 1


LOG = (
    'vllm serve {0} --speculative-config \'{{"method": "dflash", "model": "{0}", '
    '"num_speculative_tokens": 2}}\'\n'
    "{0} SpecDecoding metrics: Mean acceptance length: 1.18, Accepted: 180 tokens, Drafted: 2000 tokens, "
    "Per-position acceptance rate: 0.160, 0.020 {0}\n"
)


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
@pytest.mark.parametrize("name", ["markdown", "html", "issue"])
def test_a_log_brings_nothing_with_it_but_text(payload, name):
    log = io.BytesIO(LOG.format(payload).encode("utf-8", "surrogatepass"))
    shown = opening(judge(read_symptom(log), load_figures()))

    text = FORMATS[name].render(builders.investigation(), shown)

    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text) if name != "html" else text
    seen = structure(page)
    assert sum(tag == "script" for tag, _ in seen) == (name == "html")
    assert not {tag for tag, _ in seen} & {"img", "iframe", "object", "embed", "base", "form", "input"}
    assert not [attribute for _, names in seen for attribute in names if attribute.startswith("on")]
    assert 'href="https://evil' not in page
    assert [c for c in steering(text) if c != "0x9"] == []
