"""The HTML report in a real browser. Needs Chromium and the extra ``browser``."""

import shutil
from importlib import resources
from pathlib import Path

import pytest

from investigator.model import Runner, Verdict
from investigator.reports import html, measured, timeline_html
from investigator.reports.triage_section import opening
from investigator.triage import judge, load_figures, read_symptom
from tests.reports.test_measured import ASSESSMENT
from tests.reports.test_timeline_html import MOVED
from tests.support import builders

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="the extra 'browser' is not installed")
pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"), pytest.mark.slow]

FINDINGS = (
    builders.finding(),
    builders.finding(contract="lookahead", runner=None, verdict=Verdict.PARTIAL),
    builders.finding(contract="layer-types", runner=Runner.V2, verdict=Verdict.REFUSED),
    builders.finding(contract="mask-token", runner=None, verdict=Verdict.HONOURED, remedies=()),
)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as made:
        found = made.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


SEED = Path(__file__).parents[1] / "triage" / "inputs" / "seed.log"


def report():
    return html.render(builders.investigation(findings=FINDINGS))


def report_about_a_symptom():
    with SEED.open("rb") as stream:
        triage = judge(read_symptom(stream), load_figures())
    return html.render(builders.investigation(findings=FINDINGS), opening(triage, FINDINGS))


def releases():
    return timeline_html.render([MOVED])


def report_with_a_validation():
    return measured.into_html(report(), ASSESSMENT)


PAGES = (report, report_about_a_symptom, report_with_a_validation, releases)


@pytest.fixture
def open_report(browser, tmp_path):
    """Opens a page; gives it, and what it said and asked for."""

    def open_report(made=report, **options):
        file = tmp_path / "report.html"
        file.write_text(made(), encoding="utf-8")
        page = browser.new_context(**options).new_page()
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        return page, said, asked

    return open_report


def column(page, number):
    return page.eval_on_selector_all(
        "table.verdicts tbody tr", "(rows, n) => rows.map(row => row.cells[n].textContent.trim())", number
    )


@pytest.mark.parametrize("made", PAGES)
def test_it_loads_itself_alone_and_complains_of_nothing(open_report, made):
    _, said, asked = open_report(made)

    assert said == []
    assert len(asked) == 1


def test_a_heading_sorts_and_sorts_back(open_report):
    page, _, _ = open_report()

    page.click("table.verdicts th:nth-child(1) button")
    assert column(page, 0) == ["layer-types", "lookahead", "mask-token", "target-layer-offset"]
    page.click("table.verdicts th:nth-child(1) button")
    assert column(page, 0)[0] == "target-layer-offset"
    page.focus("table.verdicts th:nth-child(3) button")
    page.keyboard.press("Enter")
    assert column(page, 2) == ["✗ broken", "◐ partial", "⊘ refused", "✓ honoured"]


def test_a_link_into_what_is_folded_unfolds_it(open_report):
    page, _, _ = open_report()

    page.click("text=layer-types")

    assert page.is_visible("#layer-types-v2")


def test_evidence_folds_and_paper_has_all_of_it(open_report):
    page, _, _ = open_report()

    assert not page.eval_on_selector("details", "folded => folded.open")
    page.click("details summary")
    assert page.eval_on_selector("details", "folded => folded.open")
    page.click("details summary")
    page.pdf()
    assert page.eval_on_selector("details", "folded => folded.open")


def test_paper_is_white_and_nothing_is_cut_off(open_report):
    page, _, _ = open_report(color_scheme="dark", viewport={"width": 720, "height": 1000})

    page.emulate_media(media="print", color_scheme="dark")

    style = "getComputedStyle(document.body)"
    assert page.evaluate(f"[{style}.backgroundColor, {style}.color]") == [
        "rgb(255, 255, 255)",
        "rgb(27, 31, 36)",
    ]
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 380])
@pytest.mark.parametrize("made", PAGES)
def test_it_is_accessible_and_fits(open_report, made, scheme, width):
    package = pytest.importorskip("axe_playwright_python", reason="the extra 'browser' is not installed")
    page, _, _ = open_report(
        made, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True
    )
    page.evaluate(resources.files(package).joinpath("axe.min.js").read_text(encoding="utf-8"))

    found = page.evaluate(
        "async () => (await axe.run()).violations.map(v => [v.id, v.nodes.map(n => n.html)])"
    )

    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
