"""The triage of a symptom, as Markdown and as plain lines."""

import io
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from investigator.model import Finding, Verdict
from investigator.reports.triage_section import markdown_section, plain_lines
from investigator.triage import Triage, judge, load_figures, read_symptom
from investigator.triage.confounders import Confounder
from investigator.triage.symptom import Setting, UsedLine

SEED = Path(__file__).parents[1] / "triage" / "inputs" / "seed.log"
HOSTILE = [
    "<script>alert(1)</script>",
    "![p](https://evil.example/p.png)",
    "@octocat please look, see #12",
    "| a | b |",
    "``` \n# heading\n- item",
    "\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x1b[2J",
    "\u202egnp.exe\u2066",
    "[bold red]x[/]",
    "https://evil.example/x?y=<z>",
]


@pytest.fixture
def seed() -> Triage:
    with SEED.open("rb") as stream:
        return judge(read_symptom(stream), load_figures())


def elements(text: str) -> list[str]:
    found: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            found.append(tag)

    parser = Tags()
    parser.feed(MarkdownIt("commonmark", {"html": True}).enable(["table"]).render(text))
    return [tag for tag in found if tag != "code"]


def test_the_answer_stands_first(seed: Triage) -> None:
    lines = markdown_section(seed).split("\n")
    assert lines[0] == "## Is it the drafter or the engine?"
    assert lines[2].startswith("**The engine, or how it was configured.** AL 1.18")


def test_the_section_shows_its_sum_its_sources_and_its_lines(seed: Triage) -> None:
    text = markdown_section(seed)
    assert "1 + 198 accepted ÷ 1100 drafts = 1.18" in text
    assert "[`Luce-Org/lucebox#129`](https://github.com/Luce-Org/lucebox/issues/129)" in text
    assert "2026-05-08" in text
    assert "| draft | `z-lab/Qwen3.6-27B-DFlash` | 5 |" in text
    assert "\n7: (APIServer pid=1) INFO" in text


def test_tables_parse_as_tables(seed: Triage) -> None:
    tags = elements(markdown_section(seed))
    assert tags.count("table") == 6
    assert tags.count("h2") == 1


def test_findings_stand_beside_the_suspects(seed: Triage) -> None:
    found = [Finding(contract="layer-types", runner=None, verdict=Verdict.BROKEN, why="", agents=("a", "b"))]
    text = markdown_section(seed, found)
    assert "The engine was found to break layer-types" in text
    row = next(line for line in text.split("\n") if line.startswith("| layer-types | strong"))
    assert row.endswith("| broken |")
    assert any("layer-types (strong); found: broken" in line for line in plain_lines(seed, found))


def test_plain_lines_are_few_and_begin_with_the_answer(seed: Triage) -> None:
    lines = plain_lines(seed)
    assert lines[0] == "Is it the drafter or the engine? The engine, or how it was configured."
    assert len(lines) < 25


def test_an_input_without_figures_still_gives_a_section() -> None:
    triage = judge(read_symptom(io.BytesIO(b"hello")), load_figures())
    assert "Not enough to judge" in markdown_section(triage)
    assert plain_lines(triage)[0].endswith("Not enough to judge.")


def planted(seed: Triage, text: str) -> Triage:
    best = seed.symptom.measurements[0]
    symptom = replace(
        seed.symptom,
        settings=(Setting(name="draft", value=text, line=1), Setting(name=text, value="x", line=2)),
        lines=tuple(
            UsedLine(number=n, kind=line.kind, text=text) for n, line in enumerate(seed.symptom.lines)
        ),
        notes=(text,),
        measurements=(replace(best, notes=(text,), length=replace(best.length, given_as=text)),),
    )
    one = Confounder(name="language", seen=text, effect=text, line=1, kept=0.5, source=text)
    return replace(
        seed, symptom=symptom, confounders=(one,), for_drafter=(text,), next_steps=(text,), headline=text
    )


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_comes_out_inert(seed: Triage, payload: str) -> None:
    text = markdown_section(planted(seed, payload))
    assert elements(text) == elements(markdown_section(planted(seed, "harmless")))
    for line in [*text.split("\n"), *plain_lines(planted(seed, payload))]:
        assert line.isprintable() or "\u200b" in line
        assert "\x1b" not in line
        assert "\u202e" not in line


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
def test_so_does_what_is_read_from_a_log(payload: str) -> None:
    one_line = payload.replace("\n", " ").replace("'", "")
    log = (
        f"vllm serve '{one_line}' --spec-model '{one_line}' --dataset-name 'random{one_line}'\n"
        f"accept len: 2.00 {one_line}"
    )
    triage = judge(read_symptom(io.BytesIO(log.encode())), load_figures())
    assert triage.symptom.setting("draft")
    text = markdown_section(triage)
    assert not {"script", "img", "a", "h1"} & set(elements(text))
    assert all("\x1b" not in line for line in plain_lines(triage))
