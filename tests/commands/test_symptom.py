"""``--symptom`` on a run, and ``investigate triage`` by itself."""

import io
import json
import sys
from pathlib import Path

import pytest

from investigator import cli
from investigator.model import Verdict
from tests.support import builders
from tests.support.assembly import assembly, install

SEED = Path(__file__).parents[1] / "triage" / "inputs" / "seed.log"


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Runs a command in an empty folder; gives the code and the two streams."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    broken = builders.finding(contract="layer-types", verdict=Verdict.BROKEN)
    install(monkeypatch, assembly(findings=(broken,), patches=()))

    def run(*arguments):
        code = cli.invoke(list(arguments))
        return code, *capfd.readouterr()

    return run


def test_a_run_opens_with_the_question_and_takes_the_case_from_the_symptom(run, tmp_path):
    code, out, err = run("--symptom", str(SEED), "--engine", "vllm==0.22.1", "--out", "found")

    assert code == 1
    assert out.startswith(
        "Is it the drafter or the engine? The engine, or how it was configured.\n  AL 1.18 "
    )
    assert "symptom: it says engine vllm==0.20.1, but --engine vllm==0.22.1 was given and is used\n" in err
    report = (tmp_path / "found/report.md").read_text()
    assert report.index("## Is it the drafter or the engine?") < report.index("## Verdicts")
    assert "The engine was found to break layer-types, which is known to look exactly like this." in report
    page = (tmp_path / "found/report.html").read_text()
    assert page.index("Is it the drafter or the engine?") < page.index('id="verdicts"')
    document = json.loads((tmp_path / "found/investigation.json").read_text())
    assert document["case"]["engine"] == "vllm==0.22.1"
    assert document["case"]["target"] == "Qwen/Qwen3.6-27B"
    triage = document["extra"]["triage"]
    assert triage["answer"] == "the engine, or how it was configured"
    assert triage["symptom"]["measurements"][0]["length"]["value"] == pytest.approx(1.18)
    assert triage["confirmed"][0] == {"contract": "layer-types", "found": ["v1 broken"], "at_fault": True}
    assert document["command"].endswith(f"--symptom {SEED}")


def test_the_bug_report_has_the_measurement_and_not_the_suspicion(run):
    _, out, _ = run("--symptom", str(SEED), "--format", "issue")

    assert "### What was measured\n\nAcceptance length (AL = 1 + accepted tokens ÷ drafts): 1 + 198" in out
    assert "would look so" not in out


def test_a_symptom_that_cannot_be_opened_ends_before_any_work(run, tmp_path):
    code, _, err = run("--symptom", "nowhere.log", "--out", "found")

    assert code == 2
    assert "the symptom 'nowhere.log' cannot be opened" in err
    assert not (tmp_path / "found").exists()


def test_triage_alone_answers_and_says_how_to_go_on(run):
    code, out, err = run("triage", str(SEED))

    assert code == 0
    assert out.startswith("Is it the drafter or the engine? The engine, or how it was configured.\n")
    assert (
        "investigate run --engine vllm==0.20.1 --draft z-lab/Qwen3.6-27B-DFlash --target Qwen/Qwen3.6-27B "
        f"--block-size 16 --symptom {SEED}" in err
    )


def test_triage_of_nothing_that_it_knows_is_incomplete(run, monkeypatch):
    class Piped:
        buffer = io.BytesIO(b"hello\n")

    monkeypatch.setattr(sys, "stdin", Piped)

    code, out, err = run("triage", "--format", "json")

    assert code == 3
    assert json.loads(out)["answer"] == "not enough to judge"
    assert "investigate run" not in err
