"""The command as a user meets it; what it measures is tested in tests/validation."""

import json
from pathlib import Path

import pytest

from investigator.cli import invoke
from investigator.errors import ExitCode


def test_a_plan_is_printed_and_nothing_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["validate", "--on", "cpu", "--plan", "--out", str(tmp_path / "out")]) == ExitCode.CLEAN
    said = capsys.readouterr().out
    assert "only-layer-types" in said
    assert "micro on cpu: about" in said
    assert not (tmp_path / "out").exists()


def test_a_budget_names_what_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["validate", "--on", "cpu", "--plan", "--budget", "12s"]) == ExitCode.CLEAN
    assert "left out to fit the budget: only-target-layer-offset, only-layer-types" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--on", "moon"], "cannot read --on 'moon'"),
        (["--on", "cpu", "--pair", "huge"], "cannot read the pair 'huge'"),
        (["--on", "cpu", "--budget", "soon"], "cannot read the budget 'soon'"),
        (["--plan"], "which engine, and which patches?"),
        (["--on", "cpu", "--env", "1=2"], "cannot read --env '1=2'"),
        (["--on", "cpu", "--option", "x"], "cannot read --option 'x'"),
        (["--on", "cpu", "--env", "HF_TOKEN=x"], "HF_TOKEN would be written into the results"),
        (["--plan", "--option", f"a={'[' * 100_000}"], "which engine, and which patches?"),
        (["--on", "cpu", "--prompts", "0"], "0 prompts"),
    ],
)
def test_what_cannot_be_read_is_a_usage_error(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["validate", *arguments]) == ExitCode.USAGE
    assert said in capsys.readouterr().err


def test_an_emitted_experiment_is_collected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = tmp_path / "prompts.json"
    prompts.write_text("[[1, 2, 3], [4, 5, 6]]")
    place = tmp_path / "experiment"
    arguments = ["--on", "cpu", "--prompts", str(prompts), "--emit", str(place)]
    assert invoke(["validate", *arguments]) == ExitCode.CLEAN
    assert (place / "README.md").read_text().startswith("# An experiment to run where the engine is")
    row = {"drafts": 10, "draft_tokens": 70, "accepted": 10, "per_position": [10]}
    for variant in json.loads((place / "experiment.json").read_text())["variants"]:
        fresh = {"seconds": 1, "prompts": [{"prompt": 0, **row}, {"prompt": 1, **row}], "outputs": [[1], [2]]}
        result = {"variant": variant["name"], "status": "done", "passes": {"fresh": fresh}}
        (place / "results" / f"{variant['name']}.json").write_text(json.dumps(result))
    assert invoke(["validate", "--collect", str(place)]) == ExitCode.CLEAN
    assert "2.00 [2.00, 2.00]" in capsys.readouterr().out
    assert (place / "validation.json").is_file()


def test_an_experiment_without_results_is_incomplete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = tmp_path / "prompts.json"
    prompts.write_text("[[1, 2, 3]]")
    place = tmp_path / "experiment"
    invoke(["validate", "--on", "cpu", "--prompts", str(prompts), "--emit", str(place)])
    assert invoke(["validate", "--collect", str(place)]) == ExitCode.INCOMPLETE
    assert "not measured: reference (missing)" in capsys.readouterr().err
