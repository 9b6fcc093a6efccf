"""Foreign text stays text."""

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from investigator.reports import escape

RENDER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – × ✓ text", "plain – × ✓ text"),
        ("a\nb\tc\r", "a b c "),
        ("\x1b[31mred", "‹U+001B›[31mred"),
        ("\x9b31m", "‹U+009B›31m"),
        ("abc\u202edcba", "abc‹U+202E›dcba"),
        ("zero\u200bwidth\ufeff", "zero‹U+200B›width‹U+FEFF›"),
        ("\ud800 alone", "‹U+D800› alone"),
        ("\u2028", "‹U+2028›"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_its_number(text, shown):
    assert escape.visible(text) == shown


def test_lines_and_tabs_may_be_kept():
    assert escape.visible("a\n\tb\x00", lines=True) == "a\n\tb‹U+0000›"


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://evil.example/p.png)",
        "[click](javascript:alert(1))",
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "*bold* _it_ ~~gone~~ `code`",
        "a | b | c",
        "back\\slash\\| pipe",
        "&lt;b&gt; &#x3c;",
        "`unclosed",
        "]]>](",
        "- item",
        "1. item",
        "# heading",
    ],
)
def test_markdown_prose_renders_as_the_very_text(text):
    html = RENDER(f"| head |\n| --- |\n| {escape.markdown(text)} |\n")

    cell = html.partition("<td>")[2].partition("</td>")[0]
    assert unescape(cell) == text
    assert "<" not in cell


MARKS = st.text(st.sampled_from("\\\\`*_[]()<>|~&$#@!{}:;.-+=^ ax1\n\"'/"), max_size=40)


@given(MARKS)
@settings(max_examples=300, deadline=None)
def test_any_mix_of_marks_renders_as_itself_in_a_cell_and_in_a_list(text):
    shown = escape.visible(text).strip()
    for before, tag in (("| head |\n| --- |\n| ", "td"), ("- ", "li")):
        html = RENDER(before + escape.markdown(text) + (" |\n" if tag == "td" else "\n"))

        inner = html.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        assert "<" not in inner
        assert unescape(inner).replace("\u200b", "").strip() == shown


def test_nobody_is_mentioned_and_nothing_is_linked():
    assert "@octocat" not in escape.markdown("thanks @octocat")
    assert "#12" not in escape.markdown("fixes vllm#12")
    assert "https://" not in escape.markdown("see https://evil.example")
    assert "www.evil" not in escape.markdown("see www.evil.example")


@pytest.mark.parametrize("text", ["plain", "a`b", "``", "` x `", "a|b`c", "\\", "a\\|b", "<b>", " "])
def test_a_code_span_survives_backticks_and_pipes_in_a_table(text):
    html = RENDER(f"| head |\n| --- |\n| {escape.markdown_code(text)} |\n")

    (cell,) = re.findall("<td>(.*)</td>", html)
    assert unescape(re.sub("</?code>", "", cell)).strip() == text.strip()


def test_a_fence_is_longer_than_any_inside():
    text = "x\n````\n# not a heading\n````"

    html = RENDER(escape.markdown_fence(text, "python"))

    assert html.count("<pre>") == 1
    assert "<h1>" not in html


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://code.example/a b(c)#L1", "https://code.example/a%20b%28c%29#L1"),
        ("https://code.example/%7Bx%7D", "https://code.example/%7Bx%7D"),
        ("javascript:alert(1)", None),
        ("https://[broken", None),
        ("//no-scheme.example", None),
        (None, None),
    ],
)
def test_only_web_addresses_are_linked(url, safe):
    assert escape.safe_url(url) == safe


def test_a_workflow_command_is_not_ended_by_its_text():
    assert escape.workflow_data("50%\n::error::x") == "50%25%0A::error::x"
    assert escape.workflow_property("a:b,c\nd") == "a%3Ab%2Cc d"


def test_shortening_says_that_it_did():
    assert escape.shortened("abcdef", 6) == "abcdef"
    assert escape.shortened("abcdefg", 6) == "abcde…"
