"""The timeline as a page: a chart, what became of each contract, and each change with its place."""

from html.parser import HTMLParser

import pytest

from investigator.history import Cell, ReleaseRow, Timeline
from investigator.model import Runner, Verdict
from investigator.reports import timeline_html
from tests.reports.test_hostile import PAYLOADS, structure
from tests.support import builders


def cell(verdict, runner=Runner.V1, why="because", line=1):
    return Cell(
        contract="layer-types",
        runner=runner,
        verdict=verdict,
        why=why,
        evidence=(builders.evidence(line=line, end_line=line),),
    )


def timeline(*rows, draft="z-lab/Qwen3.6-27B-DFlash"):
    return Timeline(engine="vllm", draft=draft, rows=rows)


MOVED = timeline(
    ReleaseRow(version="0.24.0", runner=Runner.V1, cells=(cell(Verdict.BROKEN, line=112),)),
    ReleaseRow(version="0.25.0", runner=Runner.V1, cells=(cell(Verdict.BROKEN, line=118),)),
    ReleaseRow(
        version="0.26.0",
        runner=Runner.V2,
        cells=(cell(Verdict.REFUSED, line=9), cell(Verdict.HONOURED, Runner.V2)),
    ),
    ReleaseRow(version="0.27.0", unread="no wheel", yanked="wrong kernels"),
)


class Cells(HTMLParser):
    """Each cell of the chart: its classes and what it says."""

    def __init__(self, text):
        super().__init__()
        self.classes, self.said = [], []
        self._in_title = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "g":
            self.classes.append(dict(attrs)["class"])
        self._in_title = tag == "title"

    def handle_data(self, data):
        if self._in_title and self.classes:
            self.said.append(data)
            self._in_title = False


def test_the_chart_has_a_cell_for_each_answer_and_pales_the_runner_not_in_use():
    drawn = Cells(str(timeline_html.chart(MOVED)))

    assert drawn.classes == ["cell broken", "cell broken", "cell refused pale", "cell honoured"]
    assert drawn.said[2] == "0.26.0, layer-types V1: refused, because"


def test_a_change_names_release_and_place_and_what_stays_is_not_repeated():
    page = timeline_html.render([MOVED])

    assert "<strong>0.24.0</strong>" in page
    assert "<code>vllm==0.24.0</code> <code>vllm/runner.py:112</code>" in page
    assert "<strong>0.25.0</strong>" not in page
    assert "first bad 0.24.0, refused since 0.26.0" in page
    assert "0.27.0 was withdrawn: wrong kernels" in page
    assert "0.27.0 could not be read: no wheel" in page


def test_each_row_can_be_linked_to_in_the_timelines_of_several_drafters():
    page = timeline_html.render([MOVED, MOVED])

    for anchor in ("layer-types-v1", "layer-types-v2", "d2-layer-types-v1"):
        assert f'id="{anchor}"' in page
        assert f'href="#{anchor}"' in page


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_foreign_text_comes_out_inert(payload):
    def page(text):
        row = ReleaseRow(version=text, runner=Runner.V1, cells=(cell(Verdict.BROKEN, why=text),), yanked=text)
        return timeline_html.render([timeline(row, draft=text)])

    assert structure(page(payload)) == structure(page("harmless"))
    assert "\x1b" not in page(payload)
