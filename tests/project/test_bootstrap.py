"""The two commands of the README, and what they do about an environment that is not whole."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    """The script as a module, in an empty project, with its steps recorded and not run."""
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "bootstrap.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "setup.py"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "BIN", tmp_path / ".venv" / "bin")
    module.steps = []

    def quiet(arguments, what):
        module.steps.append(what.split(" (")[0])
        if "making" in what:
            module.BIN.mkdir(parents=True)
        if what in module.failing:
            module.fail(what)

    module.failing = ()
    monkeypatch.setattr(module, "quiet", quiet)
    monkeypatch.setattr(module.os, "chdir", lambda path: None)
    monkeypatch.setattr(module.os, "execv", lambda program, arguments: module.steps.append(arguments[-1]))
    return module


def run(bootstrap, monkeypatch, *arguments):
    bootstrap.steps.clear()
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", *arguments])
    bootstrap.main()
    return bootstrap.steps


MADE = ["making .venv", "installing from the package index", "importing what was installed"]


def test_the_readme_names_the_two_commands_that_there_are(bootstrap):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    named = re.findall(r"^python3 bootstrap\.py (\w+)", readme, re.MULTILINE)
    assert list(dict.fromkeys(named)) == list(bootstrap.EXTRAS)


def test_the_first_run_makes_the_environment_and_the_second_only_runs(bootstrap, monkeypatch):
    assert run(bootstrap, monkeypatch, "investigate", "--help") == [*MADE, "--help"]
    assert run(bootstrap, monkeypatch, "investigate", "doctor") == ["doctor"]


def test_the_tests_add_what_they_need_and_serve_the_tool_too(bootstrap, monkeypatch):
    run(bootstrap, monkeypatch, "investigate", "x")

    assert run(bootstrap, monkeypatch, "test", "-q") == [*MADE[1:], "-q"]
    assert run(bootstrap, monkeypatch, "investigate", "x") == ["x"]


def test_the_tests_environment_is_enough_for_the_tool(bootstrap, monkeypatch):
    run(bootstrap, monkeypatch, "test", "x")

    assert run(bootstrap, monkeypatch, "investigate", "x") == ["x"]


def test_what_an_interrupted_run_left_is_made_anew(bootstrap, monkeypatch):
    bootstrap.failing = ("installing from the package index",)
    with pytest.raises(SystemExit):
        run(bootstrap, monkeypatch, "investigate", "x")
    (bootstrap.VENV / "half").write_text("done")
    bootstrap.failing = ()

    assert run(bootstrap, monkeypatch, "investigate", "x") == [*MADE, "x"]
    assert not (bootstrap.VENV / "half").exists()


def test_another_pyproject_is_another_environment(bootstrap, monkeypatch):
    run(bootstrap, monkeypatch, "investigate", "x")
    (bootstrap.ROOT / "pyproject.toml").write_text("another")

    assert run(bootstrap, monkeypatch, "investigate", "x") == [*MADE, "x"]


@pytest.mark.parametrize("arguments", [[], ["nonsense"]])
def test_anything_else_is_told_how_to_use_it(arguments):
    done = subprocess.run(
        [sys.executable, ROOT / "bootstrap.py", *arguments], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert done.stderr == "bootstrap: usage: python3 bootstrap.py {investigate|test} [ARGS]\n"


def test_the_script_needs_nothing_but_the_standard_library(bootstrap):
    text = (ROOT / "bootstrap.py").read_text(encoding="utf-8")

    imported = set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE))
    assert imported <= sys.stdlib_module_names
