"""The command line itself: help, names, start-up."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from click.shell_completion import ShellComplete

import investigator
from investigator import cli
from investigator.errors import EXIT_CODE_MEANINGS

HEAVY = (
    "httpx",
    "github",
    "huggingface_hub",
    "git",
    "torch",
    "rich",
    "jinja2",
    "tree_sitter",
    "anyio",
    "pygments",
)


@pytest.mark.parametrize("command", ["", "run"])
def test_help_imports_nothing_heavy(command):
    code = f"""
import sys
from investigator import cli
assert cli.invoke({[*command.split(), "--help"]!r}) == 0
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"
    assert "Usage: investigate" in done.stdout


def test_help_has_examples_and_every_exit_code(capsys):
    assert cli.invoke(["--help"]) == 0

    shown = capsys.readouterr().out
    assert "investigate explain cache-drop" in shown
    for code, meaning in EXIT_CODE_MEANINGS.items():
        assert f"{code.value:>3}  {meaning}" in shown


def test_the_version_is_printed(capsys):
    assert cli.invoke(["--version"]) == 0
    assert capsys.readouterr().out.startswith(f"investigate, version {investigator.__version__}")


def test_every_command_that_is_listed_is_there():
    group = cli.investigate
    assert isinstance(group, cli.Commands)
    listed = group.list_commands(None)

    assert "run" in listed
    assert [group.get_command(None, name).name for name in listed] == listed


def test_a_closed_pipe_is_no_error_of_ours():
    code = "from investigator import cli; cli.main(['run', '--help'])"
    done = subprocess.run(
        f'{sys.executable} -c "{code}" | true', shell=True, capture_output=True, text=True, check=True
    )

    assert "Traceback" not in done.stderr


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The handlers of this process, as they were; a thread that an earlier test left does not end it."""
    monkeypatch.setattr(os, "_exit", sys.exit)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_termination_is_an_interrupt(monkeypatch, capsys, handlers):
    def terminated(**_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr(cli.investigate, "main", terminated)

    with pytest.raises(SystemExit) as caught:
        cli.main([])

    assert caught.value.code == 130
    assert capsys.readouterr().err == "investigate: error: interrupted\n"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ti"], {"timeline"}),
        ([""], {"run", "triage", "explain"}),
        (["explain", "cache"], {"cache-drop"}),
        (["--eng"], {"--engine"}),
        (["--engine", "x", "--fo"], {"--format"}),
        (["run", "--format", "sa"], {"sarif"}),
    ],
    ids=["a command", "nothing yet", "a contract", "an option of run", "run unnamed", "a choice"],
)
def test_a_shell_completes(words, offered):
    completion = ShellComplete(cli.investigate, {}, "investigate", "_INVESTIGATE_COMPLETE")

    found = {item.value for item in completion.get_completions(words[:-1], words[-1])}

    assert offered <= found


def test_a_second_interrupt_while_the_first_is_told_of_is_one_too(monkeypatch, handlers):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.investigate, "main", interrupted)
    monkeypatch.setattr(cli, "_complain", interrupted)

    with pytest.raises(SystemExit) as caught:
        cli.main([])

    assert caught.value.code == 130
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # nothing is left that one could interrupt


def test_an_interrupt_that_fell_into_text_being_executed_ends_with_its_code_too(tmp_path):
    """Such text is made for every dataclass while a module is imported."""
    (tmp_path / "interrupted.py").write_text(
        "from investigator import cli\n"
        "cli.investigate.main = lambda **_: exec('raise KeyboardInterrupt')\n"
        "cli.main([])\n"
    )

    done = subprocess.run(
        [sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (130, "investigate: error: interrupted\n")
