from xml.etree import ElementTree

from investigator.validation.assess import assess
from investigator.validation.charts import acceptance_length_chart, per_position_chart
from investigator.validation.plan import engine_variants
from investigator.validation.report_section import markdown
from investigator.validation.results import VariantResult
from tests.validation.test_assess import TABLE, judged, result


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter() if element.text]


def test_bars_name_every_variant_with_its_interval() -> None:
    svg = acceptance_length_chart(judged(TABLE, (), ("target-layer-offset", "layer-types")))
    shown = texts(svg)
    assert "as-released" in shown
    assert any(text.startswith(("1.09 [", "1.10 [")) for text in shown)


def test_lines_that_would_hide_each_other_are_drawn_once() -> None:
    table = {"as-released": 0, "only-target-layer-offset": 0, "all-repairs": 9}
    shown = texts(per_position_chart(judged(table, (), ("target-layer-offset", "layer-types"))))
    assert "as-released" in shown
    assert "only-target-layer-offset" not in shown


def test_an_engines_error_stays_text_in_a_report() -> None:
    variants = engine_variants(["a"], reference=False)[:2]
    harm = "| x | `y` <img src=http://z>\n# head [a](b)"
    results = {
        "as-released": result("as-released", 1),
        "all-repairs": VariantResult(variant="all-repairs", status="failed", error=harm),
    }
    text = markdown(assess(variants, results, place="local", engine="vllm==0", pair="p"))
    assert "\\| x \\| \\`y\\` \\<img src=http://z\\> \\# head \\[a\\](b)" in text
