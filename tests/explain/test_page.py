"""docs/contracts.md is what ``investigate explain`` says, as it is now."""

import os
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt

from investigator.explain import EXPLANATIONS
from investigator.explain.keys import KEYS
from investigator.explain.text import markdown

PAGE = Path(__file__).parents[2] / "docs" / "contracts.md"


def test_the_page_is_what_the_program_says() -> None:
    generated = markdown(EXPLANATIONS, KEYS)
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(generated, encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == generated, "UPDATE_DOCS=1 writes it anew"


def test_the_page_has_a_heading_and_a_drawing_for_each_contract() -> None:
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.append(tag)

    Tags().feed(MarkdownIt().render(PAGE.read_text(encoding="utf-8")))
    assert tags.count("h2") == len(EXPLANATIONS) + len(KEYS)
    assert tags.count("pre") == len(EXPLANATIONS)
