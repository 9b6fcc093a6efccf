"""`investigate snapshot` against a loopback Hub and GitHub: what it writes is what runs read."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from investigator.cli import invoke
from investigator.errors import ExitCode
from investigator.sources.snapshots import FileChange, Snapshots
from tests.support.github_server import HEAD, MiniGitHub, refusal
from tests.support.github_server import REPO as ENGINE
from tests.support.hub_server import COMMIT, MiniHub, error
from tests.support.hub_server import REPO as DRAFTER

CANARY = "canary_55e1"


@pytest.fixture
def hub(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MiniHub:
    server = MiniHub(httpserver)
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", CANARY)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hf"))
    monkeypatch.setenv("INVESTIGATE_CACHE_DIR", str(tmp_path / "cache"))
    return server


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[MiniGitHub]:
    server = HTTPServer()
    server.start()
    made = MiniGitHub(server)
    monkeypatch.setenv("GITHUB_API_URL", made.url)
    monkeypatch.setenv("GITHUB_TOKEN", CANARY)
    yield made
    server.stop()


def test_what_is_recorded_is_what_a_later_run_reads(hub: MiniHub, github: MiniGitHub, tmp_path: Path) -> None:
    hub.info |= {"gated": "auto", "cardData": {"base_model": "some/target", "license": "mit"}}
    hub.files["dflash.py"] = b"secret_code = 1\n"
    out = tmp_path / "fixtures"

    code = invoke(["snapshot", "--model", DRAFTER, "--pull-request", f"{ENGINE}#7", "--out", str(out)])

    assert code == ExitCode.CLEAN
    model = Snapshots(out).hub(DRAFTER)
    assert model is not None
    assert (model.revision, model.complete, model.target, model.gated) == (
        COMMIT,
        True,
        "some/target",
        "auto",
    )
    assert model.config == json.loads(hub.files["config.json"])
    request = Snapshots(out).pull_request(ENGINE, 7)
    assert request is not None
    assert (request.title, request.state, request.head) == ("Shift the ids", "open", HEAD)
    assert request.files == (FileChange(path="vllm/worker.py", additions=1, deletions=1),)
    written = "".join(path.read_text() for path in out.rglob("*.json"))
    assert "secret_code" not in written  # facts, no code
    assert "return list(ids)" not in written
    assert CANARY not in written


def test_what_a_person_said_is_carried_over(
    hub: MiniHub, github: MiniGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "fixtures"
    place = out / "github" / ENGINE.replace("/", "__") / "7.json"
    place.parent.mkdir(parents=True)
    place.write_text(
        json.dumps(
            {
                "schema": 1,
                "retrieved": "2026-10",
                "title": "Old",
                "state": "open",
                "effect": "Adds 1",
                "repairs": ["target-layer-offset"],
                "relations": [{"kind": "base of", "ref": "a/b#1"}],
            }
        )
    )
    monkeypatch.setattr("investigator.sources.snapshots.files", lambda package: out)

    assert invoke(["snapshot", "--pull-request", f"{ENGINE}#7", "--out", str(out)]) == ExitCode.CLEAN

    request = Snapshots(out).pull_request(ENGINE, 7)
    assert request is not None
    assert (request.title, request.effect, request.repairs) == (
        "Shift the ids",
        "Adds 1",
        ("target-layer-offset",),
    )
    assert request.relations == (("base of", "a/b#1"),)


def test_what_cannot_be_had_leaves_the_old_record_and_says_so(
    hub: MiniHub, github: MiniGitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    github.before = [refusal(404, "Not Found")]
    hub.always[f"GET /api/models/{DRAFTER}"] = error(401, "GatedRepo")
    out = tmp_path / "fixtures"

    code = invoke(["snapshot", "--model", DRAFTER, "--pull-request", f"{ENGINE}#7", "--out", str(out)])

    said = capsys.readouterr().err
    assert code == ExitCode.INCOMPLETE
    assert f"{DRAFTER}: not recorded: {DRAFTER} is gated on the Hub (401)" in said
    assert f"{ENGINE}#7: not recorded: {ENGINE}#7 does not exist on" in said
    assert not out.exists()


def test_a_snapshot_is_never_recorded_as_of_today(
    hub: MiniHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shipped snapshot stands in for a Hub that refuses; it must not get a new date."""
    repo = "z-lab/Qwen3.6-27B-DFlash"
    hub.always[f"GET /api/models/{repo}"] = error(401, "GatedRepo")

    assert invoke(["snapshot", "--model", repo, "--out", str(tmp_path / "f")]) == ExitCode.INCOMPLETE
    assert "is gated on the Hub" in capsys.readouterr().err


def test_offline_is_a_contradiction(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["snapshot", "--offline"]) == ExitCode.INCOMPLETE
    assert "snapshots are made of live sources" in capsys.readouterr().err


def test_an_unwritable_folder_is_named(
    hub: MiniHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("")

    assert invoke(["snapshot", "--model", DRAFTER, "--out", str(file / "x")]) == ExitCode.USAGE
    assert "cannot write" in capsys.readouterr().err
