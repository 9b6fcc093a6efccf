"""The action, the hook and their page name options that there are, and the action's script runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from investigator import cli

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
OPTIONS = {
    option for parameter in cli.investigate.get_command(None, "run").params for option in parameter.opts
}


@pytest.fixture
def step(tmp_path):
    """Runs the action's script with a bootstrap that writes down its arguments."""
    (tmp_path / "bootstrap.py").write_text("import sys; print('\\n'.join(sys.argv[1:]))")
    (script,) = [step["run"] for step in ACTION["runs"]["steps"]]

    def step(**inputs):
        values = {name: str(spec.get("default", "")) for name, spec in ACTION["inputs"].items()} | inputs
        variables = {
            name: values.get(found[1], "")
            if (found := re.search(r"inputs\.([\w-]+)", text))
            else str(tmp_path)
            for name, text in ACTION["runs"]["steps"][0]["env"].items()
        }
        done = subprocess.run(
            ["bash", "-c", script],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    return step


def test_the_action_hands_its_inputs_over_as_they_are(step):
    hostile = 'x"; touch owned; $(touch owned) `touch owned`'

    assert step(engine=hostile, draft="a/b", baseline="known.json") == [
        "investigate", "run", "--engine", hostile, "--draft", "a/b", "--fail-on", "broken",
        "--out", "investigation", "--baseline", "known.json",
    ]  # fmt: skip
    assert not Path("owned").exists()


def test_the_action_leaves_out_what_was_not_given(step):
    assert "--target" not in step(engine="e", draft="d")
    assert step(engine="e", draft="d", target="t")[-2:] == ["--target", "t"]


def test_no_input_is_pasted_into_the_script():
    assert "${{" not in ACTION["runs"]["steps"][0]["run"]


def test_every_option_that_is_named_is_one():
    texts = [
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("action.yml", ".pre-commit-hooks.yaml", "docs/ci.md")
    ]

    named = {option for text in texts for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    assert named <= OPTIONS
    assert {"--engine", "--baseline", "--fail-on"} <= named


def test_the_hook_runs_a_command_that_there_is():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

    program, command, *_ = hook["entry"].split()
    assert program == "investigate"
    assert command in cli.investigate.list_commands(None)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_made_for_each_shell(shell):
    script = "from investigator.cli import main; main([])"
    environment = {**os.environ, "_INVESTIGATE_COMPLETE": f"{shell}_source"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )

    assert "_INVESTIGATE_COMPLETE=" in done.stdout
