"""The two commands of the README, and what they do about an environment that is not whole."""

import importlib.util
import re
import signal
import subprocess
import sys
import time
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

    def quiet(arguments, failure, lock):
        step = arguments[arguments.index("-m") + 1] if "-m" in arguments else "probe"
        assert not lock.closed
        module.steps.append(step)
        if step in module.failing:
            module.fail(failure)
        if step == "venv":
            module.BIN.mkdir(parents=True)
            (module.BIN / "python").touch()
        if step == "pip":
            (module.BIN / "investigate").touch()

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


MADE = ["venv", "pip", "probe"]


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


@pytest.mark.parametrize("step", MADE)
def test_what_an_interrupted_run_left_is_made_anew(bootstrap, monkeypatch, step):
    bootstrap.failing = (step,)
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


@pytest.mark.parametrize("gone", ["python", "investigate"])
def test_what_went_away_since_is_put_back(bootstrap, monkeypatch, gone):
    run(bootstrap, monkeypatch, "investigate", "x")
    (bootstrap.BIN / gone).unlink()

    assert run(bootstrap, monkeypatch, "investigate", "x") == [*(MADE if gone == "python" else MADE[1:]), "x"]


@pytest.mark.parametrize("left", ["a file", "a link to nowhere", "a stamp of bytes"])
def test_whatever_stands_in_the_way_is_cleared(bootstrap, monkeypatch, left):
    if left == "a file":
        bootstrap.VENV.touch()
    elif left == "a link to nowhere":
        bootstrap.VENV.symlink_to(bootstrap.ROOT / "nowhere")
    else:
        bootstrap.VENV.mkdir()
        bootstrap.stamp("test").write_bytes(b"\xff\xfe")

    assert run(bootstrap, monkeypatch, "investigate", "x") == [*MADE, "x"]


def test_an_environment_of_the_users_own_is_left_alone(bootstrap, monkeypatch, capsys):
    bootstrap.VENV.mkdir()
    (bootstrap.VENV / "pyvenv.cfg").write_text("mine")

    with pytest.raises(SystemExit) as stopped:
        run(bootstrap, monkeypatch, "investigate", "x")

    assert stopped.value.code == 2
    assert capsys.readouterr().err == (
        "bootstrap: .venv was not made by this script; move it away or delete it, then run this again\n"
    )
    assert (bootstrap.VENV / "pyvenv.cfg").read_text() == "mine"


def test_a_folder_that_cannot_be_written_to_is_said(bootstrap, monkeypatch, capsys):
    (bootstrap.ROOT / ".venv.lock").mkdir()

    with pytest.raises(SystemExit) as stopped:
        run(bootstrap, monkeypatch, "investigate", "x")

    assert stopped.value.code == 2
    assert re.fullmatch(r"bootstrap: cannot prepare .venv: .*\.lock.*\?\)\n", capsys.readouterr().err)


@pytest.fixture
def step(tmp_path):
    """Starts a process that holds the lock and runs one step of shell words."""
    program = f"""
import importlib.util, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("bootstrap", {str(ROOT / "bootstrap.py")!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.ROOT, module.VENV = Path({str(tmp_path)!r}), Path({str(tmp_path / ".venv")!r})
with module.one_at_a_time() as lock:
    module.quiet(["sh", "-c", sys.argv[1]], "", lock)
"""

    def start(words):
        return subprocess.Popen([sys.executable, "-c", program, words], stderr=subprocess.PIPE, text=True)

    return start


def wait_for(file):
    deadline = time.monotonic() + 20
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert file.exists()


def test_a_step_keeps_the_lock_when_the_script_is_killed(tmp_path, step):
    """What is left of it goes on writing into .venv; the next run waits until that has ended."""
    first = step("echo began > began; sleep 1; echo ended > ended")
    wait_for(tmp_path / "began")
    first.kill()

    second = step("cat ended > seen")

    assert second.communicate()[1] == "bootstrap: another run prepares .venv; waiting for it\n"
    assert (tmp_path / "seen").read_text() == "ended\n"


def test_an_interrupt_ends_a_step_and_all_that_it_started(tmp_path, step):
    """Whatever is left of it would hold the lock, which it inherits, for a minute."""
    first = step("(echo began > began; sleep 60) & wait")
    wait_for(tmp_path / "began")
    time.sleep(0.5)  # until the script waits for its step
    first.send_signal(signal.SIGINT)
    first.communicate()

    begun = time.monotonic()
    assert step("true").wait() == 0
    assert time.monotonic() - begun < 30


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
