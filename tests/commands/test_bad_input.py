"""Every option with nonsense: one clear error that names the input and what to do, and no traceback.

What cannot be carried out is exit code 2, what cannot be had 3, what is no patch 4. Nothing is
written where the command was not told to write.
"""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from investigator import cli

Invoke = Callable[..., tuple[int, str, str]]

LONG = "x" * 5000
NOWHERE = "http://127.0.0.1:9"
"""Where nobody listens."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with things of every kind in it, and no network."""
    for name in ("dir", "engine/vllm", "bert", "broken", "void"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "engine/vllm/__init__.py").write_text("")
    (tmp_path / "bert/config.json").write_text(
        json.dumps({"architectures": ["BertModel"], "model_type": "bert", "num_hidden_layers": 12})
    )
    (tmp_path / "broken/config.json").write_text("{")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "deep.json").write_text("[" * 200_000)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone").symlink_to("nowhere")
    with zipfile.ZipFile(tmp_path / "other-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("other/__init__.py", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INVESTIGATE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", f"{NOWHERE}/simple/")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    monkeypatch.setenv("GITHUB_API_URL", NOWHERE)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "HF_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def invoke(place: Path, capfd: pytest.CaptureFixture[str]) -> Invoke:
    def invoke(*arguments: str) -> tuple[int, str, str]:
        return cli.invoke(arguments), *capfd.readouterr()

    return invoke


RUN = ("run", "--offline", "-q", "--engine", "path:engine", "--draft", "path:bert", "--out", "found")
"""A run that would stop at its drafter, had it not stopped at its options before."""

BAD_OPTIONS: tuple[tuple[tuple[str, ...], int, str], ...] = (
    # run: what is investigated
    ((*RUN, "--engine", ""), 2, "cannot read engine ''"),
    ((*RUN, "--engine", "engine"), 2, "no engine named engine is known"),
    ((*RUN, "--engine", "vllm=0.20.1"), 2, "cannot read engine 'vllm=0.20.1'"),
    ((*RUN, "--engine", "vllm"), 3, "127.0.0.1"),
    ((*RUN, "--engine", "nosuch==1.0"), 2, "nosuch"),
    ((*RUN, "--engine", "vllm==latest-and-greatest"), 2, "latest-and-greatest"),
    ((*RUN, "--engine", "path:missing"), 2, "missing"),
    ((*RUN, "--engine", "path:empty"), 2, "empty"),
    ((*RUN, "--engine", "path:loop"), 2, "loop"),
    ((*RUN, "--engine", "path:dir"), 2, "vllm"),
    ((*RUN, "--engine", "path:other-1.0-py3-none-any.whl"), 2, "other-1.0-py3-none-any.whl"),
    ((*RUN, "--engine", f"path:{LONG}"), 2, "File name too long"),
    ((*RUN, "--engine", "git:"), 2, "git:"),
    (
        (*RUN, "--engine", "git:https://u:secret@host.invalid/x@main"),
        2,
        "a user name or a password in it is not taken",
    ),
    ((*RUN, "--draft", ""), 2, "cannot read model repository ''"),
    ((*RUN, "--draft", "one-word"), 2, "cannot read model repository 'one-word'"),
    ((*RUN, "--draft", "Ω😀/\u202e"), 2, "cannot read model repository"),
    ((*RUN, "--draft", "path:missing"), 2, "missing"),
    ((*RUN, "--draft", "path:void"), 2, "config.json"),
    ((*RUN, "--draft", "path:broken"), 2, "config.json is not JSON"),
    ((*RUN, "--draft", "path:bert"), 2, "not a drafter's config"),
    ((*RUN, "--draft", "path:list.json"), 2, "holds a list where an object was expected"),
    ((*RUN, "--draft", "path:deep.json"), 3, "nested deeper than 64 levels"),
    ((*RUN, "--draft", "path:binary"), 2, "not UTF-8"),
    ((*RUN, "--target", "x"), 2, "cannot read model repository 'x'"),
    ((*RUN, "--draft", "path:bert", "--reference", "dir"), 2, ""),
    ((*RUN, "--pull-request", "40727"), 2, "cannot read pull request '40727'"),
    ((*RUN, "--pull-request", "a/b#99999999999999999999999"), 2, "cannot read pull request"),
    ((*RUN, "--env", "A"), 2, "cannot read --env 'A'"),
    ((*RUN, "--env", "HF_TOKEN=x"), 2, "HF_TOKEN would be written into the results"),
    ((*RUN, "--env", "vllm_api_key=x"), 2, "vllm_api_key would be written into the results"),
    ((*RUN, "--block-size", "0"), 2, "--block-size"),
    ((*RUN, "--block-size", "sixteen"), 2, "'sixteen' is not a valid integer"),
    ((*RUN, "--symptom", "missing"), 2, "the symptom 'missing' cannot be opened"),
    ((*RUN, "--symptom", "dir"), 2, "the symptom 'dir' cannot be opened"),
    ((*RUN, "--symptom", "other-1.0-py3-none-any.whl"), 2, "packed with zip"),
    # run: how
    ((*RUN, "--runner", "v3"), 2, "'v3' is not one of"),
    ((*RUN, "--format", "pdf"), 2, "'pdf' is not one of"),
    ((*RUN, "--fail-on", "rain"), 2, "'rain' is not one of"),
    ((*RUN, "--deadline", "-1"), 2, "--deadline"),
    ((*RUN, "--deadline", "nan"), 2, "'nan' is not a number of seconds"),
    ((*RUN, "--jobs", "0"), 2, "--jobs"),
    ((*RUN, "--jobs", "1e9"), 2, "--jobs"),
    ((*RUN, "--baseline", "missing"), 2, "cannot read missing"),
    ((*RUN, "--baseline", "dir"), 2, "'dir' is a directory"),
    ((*RUN, "--baseline", "empty"), 2, "empty is no baseline"),
    ((*RUN, "--baseline", "binary"), 2, "binary is no baseline"),
    ((*RUN, "--baseline", "deep.json"), 2, "deep.json is no baseline"),
    ((*RUN, "--baseline", "list.json"), 2, "list.json is no baseline"),
    ((*RUN, "--baseline", "/dev/zero"), 2, "/dev/zero is no baseline: it is not a regular file"),
    ((*RUN, "--baseline", ""), 2, "'' is no path"),
    ((*RUN, "--out", ""), 2, "'' is no path"),
    ((*RUN, "--out", "empty"), 2, "cannot write empty"),
    ((*RUN, "--out", "loop"), 2, "cannot write loop"),
    ((*RUN, "--out", "gone"), 2, "cannot write gone"),
    ((*RUN, "--out", f"dir/{LONG}"), 2, "File name too long"),
    ((*RUN, "--out", "/proc/nothing"), 2, "cannot write /proc/nothing"),
    ((*RUN, "--cache-dir", ""), 2, "'' is no path"),
    ((*RUN, "--cache-dir", "empty"), 2, "'empty' is a file"),
    ((*RUN, "--cache-dir", "loop"), 2, "cannot keep anything in loop"),
    ((*RUN, "--cache-dir", "/proc/nothing"), 2, "cannot keep anything in /proc/nothing"),
    ((*RUN, "--nonsense"), 2, "No such option"),
    (("nonsense",), 2, "No such command 'nonsense'"),
    ((LONG,), 2, "No such command"),
    # the others
    (("timeline", "--offline", "--from", "0.33.0", "--to", "0.20.0"), 2, "0.33.0 comes after 0.20.0"),
    (("timeline", "--offline", "--from", "x"), 2, "'x' is not a version"),
    (("timeline", "--offline", "--engine", "nosuch"), 2, "nosuch"),
    (("timeline", "--offline", "--draft", "x"), 2, "cannot read model repository 'x'"),
    (("timeline", "--offline", "--env", "x"), 2, "cannot read --env 'x'"),
    (("timeline", "--offline", "--flag", "=x"), 2, "cannot read --flag '=x'"),
    (("timeline", "--offline"), 3, "127.0.0.1"),
    (("timeline", "--offline", "--out", ""), 2, "'' is no path"),
    (("timeline", "--offline", "--out", "dir/missing/x"), 2, "cannot write dir/missing/x"),
    (("compare", "path:engine", "path:engine", "--out", "empty/x"), 2, "cannot write empty/x"),
    (("timeline", "--offline", "--out", "dir"), 2, "'dir' is a directory"),
    (("timeline", "--offline", "--format", "pdf"), 2, "'pdf' is not one of"),
    (("compare", "vllm==0.20.1", "--offline"), 2, "ENGINE_B"),
    (("compare", "x", "y", "--offline"), 2, "no engine named x is known"),
    (("triage", "missing"), 2, "'missing' cannot be opened"),
    (("triage", "dir"), 2, "'dir' cannot be opened"),
    (("triage", "loop"), 2, "'loop' cannot be opened"),
    (("apply", "missing", "--to", "dir"), 2, "missing"),
    (("apply", "dir", "--to", "dir"), 2, "dir is no run folder"),
    (("apply", "", "--to", "dir"), 2, "'' is no path"),
    (("apply", "empty", "--to", "dir"), 4, "empty: the patch names no file"),
    (("apply", "binary", "--to", "dir"), 4, "binary: "),
    (("apply", "/dev/zero", "--to", "dir"), 2, "/dev/zero"),
    (("revert", "--from", "missing"), 2, "missing"),
    (("overlay", "empty", "--base", "dir", "--out", "o"), 4, "empty: the patch names no file"),
    (("overlay", "dir", "--base", "dir", "--out", ""), 2, "'' is no path"),
    (("explain", "nosuch"), 2, "nosuch"),
    (("explain", LONG), 2, "xxx"),
    (("validate", "missing"), 2, "'missing' does not exist"),
    (("validate", "dir", "--plan"), 2, "dir is no run folder"),
    (("validate", "--collect", "dir"), 2, "dir is no experiment"),
    (("validate", "--collect", "dir", "--out", "/proc/nothing"), 2, "cannot write /proc/nothing"),
    (("validate", "--on", "cpu", "--emit", "/proc/nothing"), 2, "cannot write /proc/nothing"),
    (("validate", "--on", "cpu", "--out", "empty/x"), 2, "cannot write empty/x"),
    (("snapshot", "--model", "path:dir"), 2, "path:dir is a local folder"),
    (("validate", "--on", "moon"), 2, "cannot read --on 'moon'"),
    (("validate", "--on", "cpu", "--prompts", "deep.json"), 2, "cannot read prompts from deep.json"),
    (("validate", "--on", "cpu", "--prompts", "/dev/zero"), 2, "/dev/zero is not a regular file"),
    (("validate", "--on", "cpu", "--time-limit", "nan"), 2, "'nan' is not a number of seconds"),
    (("snapshot", "--model", "x", "--out", "s"), 2, "cannot read model repository 'x'"),
    (("snapshot", "--model", "some/model", "--out", "empty", "--offline"), 2, "'empty' is a file"),
    (("doctor", "--jobs", "many"), 2, "'many' is not a valid integer"),
)


@pytest.mark.parametrize(
    ("arguments", "code", "said"), BAD_OPTIONS, ids=[" ".join(row[0][-2:])[:40] for row in BAD_OPTIONS]
)
def test_nonsense_is_one_clear_error(
    invoke: Invoke, place: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    before = sorted(place.iterdir())

    got, out, err = invoke(*arguments)

    assert "Traceback" not in err
    assert "defect" not in err
    assert said in err
    assert "secret" not in err
    assert got == code
    left = {path.name for path in place.iterdir()} - {path.name for path in before}
    assert left <= {"found", "cache"}
    assert out == "" or "found" in left


def command(place: Path, *arguments: str, **environment: str | None) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own; None takes a variable away."""
    given = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment}
    return subprocess.run(
        [sys.executable, "-m", "investigator", *arguments],
        cwd=place,
        env={name: value for name, value in given.items() if value is not None},
        capture_output=True,
        check=False,
        timeout=120,
    )


def test_without_a_home_a_run_says_only_what_it_would_have_said(place: Path) -> None:
    done = command(place, *RUN, HOME=None, XDG_CACHE_HOME=None, INVESTIGATE_CACHE_DIR=None)

    assert b"not a drafter's config" in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.returncode == 2


def test_in_a_folder_that_was_deleted_the_error_names_what_cannot_be_written(place: Path) -> None:
    gone = place / "gone-now"
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m investigator run --offline -q"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", script],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        check=False,
        timeout=120,
    )

    assert b"Traceback" not in done.stderr
    assert b"cannot write runs/" in done.stderr
    assert done.returncode == 2


def test_without_git_what_needs_it_says_so(place: Path) -> None:
    done = command(place, *RUN, "--engine", f"git:{place}/dir@main", PATH="/nonexistent")

    assert b"Traceback" not in done.stderr
    assert b"git" in done.stderr
    assert done.returncode in (2, 3)


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_in_a_locale_without_utf_8_foreign_text_is_still_shown(place: Path, locale: str) -> None:
    done = command(
        place,
        "apply",
        "Ω😀",
        "--to",
        "dir",
        LC_ALL=locale,
        LANG=locale,
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
    )

    assert b"Traceback" not in done.stderr
    assert b"investigate: error:" in done.stderr
    assert done.returncode == 2


def test_a_name_that_is_no_text_is_one_clear_error(place: Path) -> None:
    done = command(place, *RUN, "--engine", os.fsdecode(b"path:\xff\xfe"))

    assert b"Traceback" not in done.stderr
    assert done.returncode == 2
    done.stderr.decode("utf-8")


def test_with_nobody_reading_standard_output_the_answer_is_not_an_error_of_ours(place: Path) -> None:
    script = f"{sys.executable} -m investigator explain --help | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert "Traceback" not in done.stderr
    assert done.stdout.splitlines()[-1] in ("0", "130")
