"""A timeline as Markdown, as JSON, and on a terminal."""

import json
from dataclasses import replace
from io import StringIO

from markdown_it import MarkdownIt
from rich.console import Console

from investigator.history import Cell, ReleaseRow, Timeline
from investigator.model import Runner, Verdict
from investigator.reports import timeline as shown
from investigator.reports import timeline_html
from tests.reports.test_timeline_html import MOVED
from tests.support import builders

SOUND = Timeline(
    engine="vllm",
    draft="z-lab/Qwen3-8B-DFlash-b16",
    rows=(
        ReleaseRow(
            version="0.33.0",
            runner=Runner.V2,
            cells=tuple(
                Cell(contract=name, runner=runner, verdict=Verdict.HONOURED, why="as trained")
                for name, runner in (("rope", Runner.V2), ("cache-drop", None))
            ),
        ),
    ),
)


def test_what_became_of_each_and_the_sound_in_one_line():
    assert shown.stories(MOVED) == [
        "layer-types V1: first bad 0.24.0, refused since 0.26.0",
        "never seen broken: layer-types V2",
    ]
    assert shown.stories(SOUND) == ["never seen broken: rope V2, cache-drop"]


def test_the_markdown_table_has_a_column_for_each_release():
    text = shown.as_markdown([MOVED])

    page = MarkdownIt("commonmark").enable("table").render(text)
    assert "| `layer-types` | V1 | ✗ | ✗ | ⊘ |   |" in text
    assert "| default runner | | V1 | V1 | V2 | ? |" in text
    assert page.count("<th>") == 6
    assert "0.27.0 (withdrawn)" in page


def test_json_has_one_object_for_one_drafter_and_a_list_for_several():
    one, two = json.loads(shown.as_json([MOVED])), json.loads(shown.as_json([MOVED, SOUND]))

    assert one["releases"]["0.25.0"]["cells"][0]["evidence"][0]["line"] == 118
    assert one["releases"]["0.27.0"]["unread"] == "no wheel"
    assert one["stories"][0]["refused_since"] == "0.26.0"
    assert [each["draft"] for each in two["timelines"]] == [MOVED.draft, SOUND.draft]


DEPLOYED = replace(MOVED, method="mtp", deployment={"--attention-backend": "triton", "--enforce-eager": ""})


def test_the_title_says_what_drafts_and_what_the_deployment_sets():
    title = "(its MTP layers) on vllm, --attention-backend=triton, --enforce-eager"

    assert shown.as_markdown([DEPLOYED]).splitlines()[0] == f"# `{MOVED.draft}` {title}"
    stream = StringIO()
    Console(file=stream, width=100, markup=False).print(shown.for_terminal(DEPLOYED))
    assert stream.getvalue().splitlines()[0].rstrip() == f"{MOVED.draft} {title}"
    page = timeline_html.render([DEPLOYED])
    settings = ", --attention-backend=triton, --enforce-eager"
    assert f"</code> (its MTP layers) on vllm 0.24.0 to 0.27.0{settings}</h2>" in page
    found = json.loads(shown.as_json([DEPLOYED]))
    assert (found["method"], found["deployment"]) == ("mtp", dict(DEPLOYED.deployment))


def test_a_terminal_gets_the_table_the_legend_and_the_notes():
    stream = StringIO()
    row = ReleaseRow(version="0.28.0", runner=Runner.V2, cells=(), yanked="[bold]bad\x1b[31m")
    Console(file=stream, width=100, markup=False).print(
        shown.for_terminal(Timeline(engine="vllm", draft=builders.source().name, rows=(*MOVED.rows, row)))
    )

    text = stream.getvalue()
    (first,) = [line for line in text.splitlines() if line.split()[:2] == ["layer-types", "V1"]]
    assert first.split()[2:] == ["✗", "✗", "⊘"]
    assert "⊘ refused" in text
    assert "0.28.0 was withdrawn: [bold]bad‹U+001B›[31m" in text
