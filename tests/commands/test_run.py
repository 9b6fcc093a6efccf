"""``investigate run`` from its command line to the files it leaves and the code it returns."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from investigator import cli
from investigator.errors import SourceError, UsageError
from investigator.model import Verdict
from tests.support import builders
from tests.support.agents import FakeAgent
from tests.support.assembly import assembly, engine_answers, install


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI", "COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Runs the command in an empty folder; gives the code and the two streams."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, made=None):
        install(monkeypatch, made or assembly())
        code = cli.invoke(list(arguments))
        return code, *capfd.readouterr()

    return run


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_run_leaves_its_folder_and_tells_what_it_found(run, tmp_path):
    code, out, err = run("--out", "found")

    assert code == 1
    assert names(tmp_path / "found") == [
        "findings.sarif", "investigation.json", "log.jsonl", "patches", "report.html", "report.md",
    ]  # fmt: skip
    assert (tmp_path / "found/patches/0001-shift.patch").read_text() == builders.patch().text
    assert "✗ broken" in out
    assert err.splitlines()[-4:] == [
        "written to found",
        "proven patches in found/patches: 0001-shift.patch",
        "to put them on an engine: investigate apply found --to python:PATH",
        "or beside it, untouched: investigate overlay found --out patched --base python:PATH",
    ]
    assert json.loads((tmp_path / "found/investigation.json").read_text())["command"] == (
        "investigate run --engine vllm==0.20.1 --draft z-lab/Qwen3.6-27B-DFlash"
    )


def test_without_out_the_folder_is_under_runs(run, tmp_path):
    run("run", "--engine", "vllm==0.22.1")

    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("-vllm==0.22.1-z-lab-Qwen3.6-27B-DFlash")


def test_one_format_alone_is_what_standard_output_gets(run, tmp_path):
    code, out, err = run("--out", "found", "--format", "json")

    assert code == 1
    assert out == (tmp_path / "found/investigation.json").read_text()
    assert "✗ broken" in err
    assert names(tmp_path / "found") == ["investigation.json", "log.jsonl", "patches"]


def test_several_formats_are_files(run, tmp_path):
    _, out, _ = run("--out", "found", "--format", "issue", "--format", "markdown")

    assert names(tmp_path / "found") == [
        "investigation.json",
        "issue.md",
        "log.jsonl",
        "patches",
        "report.md",
    ]
    assert "✗ broken" in out


def test_the_log_holds_the_run_from_its_first_to_its_last_event(run, tmp_path):
    run("--out", "found")

    lines = [json.loads(line) for line in (tmp_path / "found/log.jsonl").read_text().splitlines()]
    assert [(line["agent"], line["event"]) for line in (lines[0], lines[-1])] == [
        (None, "started"),
        (None, "finished"),
    ]
    assert {line["agent"] for line in lines} == {None, "vllm", "hub"}


@pytest.mark.parametrize(
    ("arguments", "verdict", "code"),
    [
        ((), Verdict.BROKEN, 1),
        ((), Verdict.PARTIAL, 0),
        (("--fail-on", "partial"), Verdict.PARTIAL, 1),
        (("--fail-on", "never"), Verdict.BROKEN, 0),
        (("--format", "sarif"), Verdict.BROKEN, 0),
        (("--format", "sarif", "--fail-on", "broken"), Verdict.BROKEN, 1),
        (("--format", "sarif"), Verdict.UNKNOWN, 3),
        (("--runner", "v2"), Verdict.BROKEN, 3),
        ((), Verdict.UNKNOWN, 3),
    ],
)
def test_exit_codes(run, arguments, verdict, code):
    assert run("--out", "found", *arguments, made=assembly([builders.finding(verdict=verdict)]))[0] == code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--engine", "vllm 1"), "cannot read engine 'vllm 1'"),
        (("--draft", "nothing"), "cannot read model repository 'nothing'"),
        (("--env", "X"), "cannot read --env 'X'"),
        (("--flag", "=x"), "cannot read --flag '=x'"),
        (("--flag", "api-key=x"), "--api-key would be written into the results"),
        (("-v", "-q"), "exclude each other"),
        (("--format", "pdf"), "Invalid value for '--format'"),
        (("--nonsense",), "No such option"),
        (("nonsense",), "No such command 'nonsense'"),
        (("--out", "/dev/null/x"), "cannot write /dev/null/x"),
    ],
)
def test_a_request_that_cannot_be_read_is_one_clear_error(run, tmp_path, arguments, said):
    code, out, err = run(*arguments)

    assert code == 2
    assert said in err
    assert "Traceback" not in err
    assert out == ""
    assert names(tmp_path) == []


def test_a_case_that_cannot_be_investigated_is_one_clear_error(run):
    def act(context):
        raise UsageError("there is no vllm 0.20.9\x1b[31m", "the nearest are 0.20.1 and 0.20.2")

    code, out, err = run(
        "--out", "found", made=assembly(agents=(FakeAgent("vllm", act=act), FakeAgent("hub")))
    )

    assert code == 2
    assert err.splitlines()[-2:] == [
        "investigate: error: there is no vllm 0.20.9‹U+001B›[31m",
        "  the nearest are 0.20.1 and 0.20.2",
    ]
    assert out == ""


def test_an_agent_that_failed_is_an_error_even_when_quiet(run):
    def act(context):
        raise SourceError("the Hub is away", "use --offline")

    code, _, err = run(
        "--out", "found", "-q", made=assembly([], agents=(FakeAgent("vllm"), FakeAgent("hub", act=act)))
    )

    assert code == 3
    assert err == "investigate: error: agent hub failed: the Hub is away (use --offline)\n"


def test_an_interrupt_leaves_what_was_found(run, tmp_path):
    slow = assembly(agents=(FakeAgent("vllm", act=engine_answers), FakeAgent("hub", 5.0)))
    threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()

    code, _, err = run("--out", "found", made=slow)

    assert code == 130
    assert "interrupted; this is what was found so far" in err
    assert "error" not in err
    document = json.loads((tmp_path / "found/investigation.json").read_text())
    assert [agent["status"] for agent in document["agents"]] == ["done", "failed"]
    assert len(document["findings"]) == 1


def test_quiet_leaves_only_the_data(run):
    _, out, err = run("--out", "found", "-q")

    assert err == ""
    assert "✗ broken" in out


def test_verbose_tells_each_event(run):
    _, _, err = run("--out", "found", "-v")

    assert "vllm started" in err
    assert "run finished" in err


def test_the_plan_is_printed_and_nothing_is_done(run, tmp_path):
    code, out, _ = run("--plan")

    assert code == 0
    assert out.split() == [
        "contract", "promise", "asked", "of",
        "target-layer-offset", "id", "k", "taps", "decoder", "layer", "k", "vllm,", "hub",
    ]  # fmt: skip
    assert names(tmp_path) == []


def test_in_a_workflow_findings_are_annotated_and_summed_up(run, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))

    _, out, _ = run("--out", "found")

    assert "::error title=target-layer-offset (V1)%3A broken::" in out
    assert (tmp_path / "summary.md").read_text() == (tmp_path / "found/report.md").read_text()


def test_the_command_to_repeat_names_what_is_not_the_default(run, tmp_path):
    run(
        "--engine", "path:/a b", "--draft", "a/b@c", "--target", "d/e", "--reference", "git:x@y",
        "--pull-request", "o/r#1", "--pull-request", "o/r#2", "--env", "VLLM_X=1 2", "--block-size", "8",
        "--flag", "--attention-backend=A B", "--flag", "no_x",
        "--out", "f",
    )  # fmt: skip

    assert json.loads((tmp_path / "f/investigation.json").read_text())["command"] == (
        "investigate run --engine 'path:/a b' --draft a/b@c --target d/e --reference git:x@y "
        "--pull-request 'o/r#1' --pull-request 'o/r#2' --block-size 8 --env 'VLLM_X=1 2' "
        "--flag 'attention-backend=A B' --flag no-x"
    )


def test_a_defect_is_not_taken_for_a_finding(run):
    def act(case, gathered, judgement, sink):
        raise AssertionError("never here")

    code, _, err = run("--out", "found", made=assembly(repair=act))

    assert code == 3
    assert "a defect in this program: AssertionError: never here" in err


def test_a_read_that_was_given_up_does_not_hold_the_process(tmp_path):
    script = """
import pytest
from investigator import cli
from tests.support.agents import FakeAgent
from tests.support.assembly import assembly, engine_answers, install

slow = assembly(agents=(FakeAgent("vllm", act=engine_answers), FakeAgent("hub", 30.0)))
install(pytest.MonkeyPatch(), slow)
cli.main(["--out", "found", "--deadline", "0.3"])
"""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )

    assert time.monotonic() - begun < 20
    assert done.returncode == 1
    assert "agent hub failed: not finished after 0.3 s" in done.stderr


def test_known_findings_do_not_fail_the_command(run):
    assert run("--out", "before")[0] == 1

    code, out, _ = run("--out", "now", "--baseline", "before/investigation.json")

    assert code == 0
    assert "broken (accepted)" in out


def test_patches_for_upstream_are_asked_of_the_team(run, tmp_path):
    run("--out", "found", "--upstream")

    assert sys.modules["investigator.team"].given == {"upstream": True}
    command = json.loads((tmp_path / "found/investigation.json").read_text())["command"]
    assert command.endswith(" --upstream")


def test_a_patch_keeps_bytes_that_are_no_text(run, tmp_path):
    odd = builders.patch(text="+caf\udce9\r\n")

    run("--out", "found", made=assembly(patches=(odd,)))

    assert (tmp_path / "found/patches/0001-shift.patch").read_bytes() == b"+caf\xe9\r\n"
