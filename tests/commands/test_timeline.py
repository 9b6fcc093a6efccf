"""``investigate timeline`` and ``compare`` as a user meets them, on miniature releases of an engine."""

import json
import re
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from investigator.cli import invoke
from investigator.errors import ExitCode
from tests.support import mini_reference, mini_vllm, miniature_vllm
from tests.support.mini_index import MiniIndex
from tests.support.wheels import build_wheel


@pytest.fixture
def index(httpserver: HTTPServer) -> MiniIndex:
    """The first release taps each layer one too early and drops a block, the second only drops it."""
    index = MiniIndex(httpserver)
    for version, shift in (("0.20.0", "none"), ("0.21.0", "inline")):
        files = {path: text.encode() for path, text in mini_vllm.texts(shift=shift, drop="eagle").items()}
        index.add(version=version, data=build_wheel("vllm", version, files))
    return index


@pytest.fixture
def asked(index: MiniIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Options that name the drafter, its target and its reference."""
    for name, config in (("draft", miniature_vllm.DRAFT), ("target", miniature_vllm.TARGET)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(dict(config)))
    (tmp_path / "reference/drafter").mkdir(parents=True)
    for path, text in mini_reference.FILES.items():
        (tmp_path / "reference" / path).write_text(text)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    monkeypatch.setenv("INVESTIGATE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "240")
    given = {name: f"path:{tmp_path / name}" for name in ("draft", "target", "reference")}
    return [word for name, value in given.items() for word in (f"--{name}", value)]


def test_a_timeline_on_a_terminal(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["timeline", *asked]) == ExitCode.CLEAN

    said = capsys.readouterr()
    assert re.search(r"^target-layer-offset V1 ✗  ✓ *$", said.out, re.MULTILINE)
    assert re.search(r"^cache-drop          –  ✗  ✗ *$", said.out, re.MULTILINE)
    assert "target-layer-offset V1: first bad 0.20.0, fixed in 0.21.0" in said.out
    assert sorted(said.err.splitlines()) == ["0.20.0 read", "0.21.0 read"]


def test_a_timeline_in_a_file(asked: list[str], tmp_path: Path) -> None:
    """One release of the two, as asked for."""
    page = tmp_path / "timeline.json"

    done = invoke(["timeline", *asked, "--from", "0.21.0", "--format", "json", "--out", str(page), "-q"])

    assert done == ExitCode.CLEAN
    (release,) = json.loads(page.read_text())["releases"].items()
    verdicts = {(cell["contract"], cell["runner"]): cell["verdict"] for cell in release[1]["cells"]}
    assert (release[0], release[1]["default_runner"]) == ("0.21.0", "v1")
    assert (verdicts["target-layer-offset", "v1"], verdicts["cache-drop", None]) == ("honoured", "broken")


def test_a_release_that_cannot_be_read_makes_a_timeline_incomplete(
    asked: list[str], index: MiniIndex, capsys: pytest.CaptureFixture[str]
) -> None:
    index.add(version="0.22.0", data=build_wheel("vllm", "0.22.0", {"vllm/a.py": b""}, record=b"\xff"))

    assert invoke(["timeline", *asked, "--from", "0.22.0", "--format", "markdown"]) == ExitCode.INCOMPLETE
    assert "its RECORD cannot be read" in capsys.readouterr().out


def test_two_engines_that_differ(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["compare", "vllm==0.20.0", "vllm==0.21.0", *asked]) == ExitCode.FINDINGS

    said = capsys.readouterr().out
    assert ": vllm==0.21.0 keeps target-layer-offset\n" in said
    assert re.search(r"^target-layer-offset  ✗ broken           ✓ honoured *$", said, re.MULTILINE)
    assert "    +            taps.append(number + 1)\n" in said


def test_what_differs_below_the_level_does_not_fail(asked: list[str], tmp_path: Path) -> None:
    """What could not be decided is still missing."""
    page = tmp_path / "comparison.json"
    arguments = ["vllm==0.20.0", "vllm==0.21.0", *asked, "--fail-on", "never", "--format", "json"]

    assert invoke(["compare", *arguments, "--out", str(page), "-q"]) == ExitCode.INCOMPLETE
    rows = json.loads(page.read_text())["contracts"]
    assert [row["contract"] for row in rows if row["differs"]] == ["target-layer-offset"]


def test_an_engine_beside_itself(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["compare", "vllm==0.20.0", "vllm==0.20.0", *asked]) == ExitCode.INCOMPLETE
    assert "first bad" not in capsys.readouterr().out
