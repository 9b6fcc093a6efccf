"""A validation in the reports of its run."""

from markdown_it import MarkdownIt

from investigator.reports import html, markdown, measured
from investigator.validation.assess import Assessment, Figures
from investigator.validation.plan import Kind, Variant
from investigator.validation.statistics import Estimate
from tests.support import builders


def figures(name, kind, length, *by_position):
    return Figures(
        variant=Variant(name=name, kind=kind),
        status="done",
        acceptance_length=Estimate(value=length, low=length - 0.1, high=length + 0.1),
        per_position=tuple(Estimate(value=share) for share in by_position),
        drafts=1000,
    )


ASSESSMENT = Assessment(
    place="cpu",
    engine="vllm==0.20.1",
    pair="micro",
    prompts=8,
    figures=(
        figures("as-released", Kind.ENGINE, 1.18, 0.16, 0.02),
        figures("reference", Kind.REFERENCE, 2.4, 0.9, 0.5),
    ),
    effects=(),
    contradictions=("layer-types was found honoured <b>",),
)


def test_the_markdown_report_gets_the_sentences_the_table_and_the_charts():
    report = markdown.render(builders.investigation())

    made = measured.into_markdown(report, ASSESSMENT)

    assert "## What each repair brings back" in made
    assert (
        made.index("## Patches") < made.index("## What each repair brings back") < made.index("## Appendix")
    )
    page = MarkdownIt("commonmark").enable("table").render(made)
    assert "<td>as-released</td>\n<td>1.18 [1.08, 1.28]</td>" in page
    assert '<img src="acceptance-length.svg"' in page


def test_the_page_gets_the_charts_themselves():
    made = measured.into_html(html.render(builders.investigation()), ASSESSMENT)

    assert made.count("<svg") == 3
    assert "Accepted drafts by position" in made
    assert "acceptance length 1.18 [1.08, 1.28] as released, 2.40 [2.30, 2.50] in the reference" in made
    assert "Contradiction: layer-types was found honoured &lt;b&gt;." in made


def test_a_second_validation_takes_the_place_of_the_first():
    report = html.render(builders.investigation())

    once = measured.into_html(report, ASSESSMENT)

    assert measured.into_html(once, ASSESSMENT) == once
    assert measured.into_html("<p>another page</p>", ASSESSMENT) == "<p>another page</p>"


def test_a_quote_of_the_place_is_no_place():
    finding = builders.finding(
        evidence=(builders.evidence(quote="<!-- measured -->\n<!-- /measured -->", end_line=3),),
        why="<!-- measured -->\n<!-- /measured -->",
    )
    report = markdown.render(builders.investigation(findings=(finding,)))

    made = measured.into_markdown(report, ASSESSMENT)

    assert made.count("## What each repair brings back") == 1
    assert made.index("## Patches") < made.index("## What each repair brings back")
