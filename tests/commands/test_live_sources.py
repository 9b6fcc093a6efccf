"""A whole run against a loopback Hub and GitHub: what the user reads, and where tokens go."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from tests.support.github_server import REPO as ENGINE
from tests.support.github_server import MiniGitHub, refusal
from tests.support.hub_server import REPO as DRAFTER
from tests.support.hub_server import MiniHub, error

HUB_CANARY, GITHUB_CANARY = "hf_canary_77aa", "ghp_canary_77bb"


@dataclass
class Run:
    """One run of the command in a process of its own, and everything that it left."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def document(self) -> dict[str, object]:
        loaded: dict[str, object] = json.loads((self.folder / "investigation.json").read_text())
        return loaded

    @property
    def everything(self) -> str:
        files = (
            path.read_bytes().decode("utf-8", "replace")
            for path in self.folder.parent.rglob("*")
            if path.is_file()
        )
        return "\n".join((self.out, self.err, *files))


@pytest.fixture
def hub(httpserver: HTTPServer) -> MiniHub:
    return MiniHub(httpserver)


@pytest.fixture
def github() -> Iterator[MiniGitHub]:
    server = HTTPServer()
    server.start()
    yield MiniGitHub(server)
    server.stop()


def run(tmp_path: Path, hub: MiniHub, github: MiniGitHub, *arguments: str) -> Run:
    """``investigate run`` on a miniature engine; the debug log of every library goes to standard error."""
    engine = tmp_path / "engine"
    (engine / "vllm").mkdir(parents=True, exist_ok=True)
    (engine / "vllm" / "__init__.py").write_text("")
    command = [
        sys.executable,
        "-c",
        "import logging; logging.basicConfig(level=1); import investigator.cli; investigator.cli.main()",
    ]
    command += ["run", "--engine", f"path:{engine}", "--reference", "github:liranringel/ddtree"]
    command += [
        "--draft",
        DRAFTER,
        "--pull-request",
        f"{ENGINE}#7",
        "--out",
        str(tmp_path / "found"),
        *arguments,
    ]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": HUB_CANARY,
        "GITHUB_API_URL": github.url,
        "GH_TOKEN": GITHUB_CANARY,
    }
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    return Run(done.returncode, done.stdout, done.stderr, tmp_path / "found")


def assert_tokens_stayed_home(found: Run, hub: MiniHub, github: MiniGitHub) -> None:
    """In no output, no file (cache and log included) and no request to the wrong server."""
    assert HUB_CANARY not in found.everything
    assert GITHUB_CANARY not in found.everything
    assert not any(GITHUB_CANARY in (token or "") for token in hub.sent_tokens())
    assert not any(HUB_CANARY in (token or "") for token in github.sent_tokens())


def test_live_sources_are_named_as_such_and_tokens_go_nowhere_else(
    tmp_path: Path, hub: MiniHub, github: MiniGitHub
) -> None:
    found = run(tmp_path, hub, github)

    origins = {source["id"]: source["origin"] for source in found.document["sources"]}  # type: ignore[attr-defined]
    assert (origins["draft"], origins["pr-7"]) == ("live", "live")
    assert set(hub.sent_tokens()) == {f"Bearer {HUB_CANARY}"}
    assert len(hub.requests) == 3
    assert github.requests == ["/pulls/7", "/pulls/7 (diff)"]
    assert_tokens_stayed_home(found, hub, github)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (error(404, "RepoNotFound"), "does not exist on the Hub, or it is private (404)"),
        (error(401, "GatedRepo"), "is gated on the Hub (401)"),
        (error(429, RateLimit='"api";r=0;t=240'), "asks to wait 240 s"),
    ],
)
def test_a_drafter_that_cannot_be_had_fails_its_agent_with_what_to_do(
    tmp_path: Path, hub: MiniHub, github: MiniGitHub, answer: Response, said: str
) -> None:
    hub.always[f"GET /api/models/{DRAFTER}"] = answer

    found = run(tmp_path, hub, github)

    agents = {agent["name"]: agent for agent in found.document["agents"]}  # type: ignore[attr-defined]
    assert found.code == 3
    assert agents["hub"]["status"] == "failed"
    assert said in agents["hub"]["error"]
    assert "HF_TOKEN" in agents["hub"]["error"]
    assert agents["pull_requests"]["status"] == "done"
    assert_tokens_stayed_home(found, hub, github)


def test_a_gated_drafter_with_a_snapshot_is_read_from_it_and_the_reason_is_told(
    tmp_path: Path, hub: MiniHub, github: MiniGitHub
) -> None:
    repo = "z-lab/Qwen3.6-27B-DFlash"
    for name in (repo, "Qwen/Qwen3.6-27B"):
        hub.always[f"GET /api/models/{name}"] = error(403, "GatedRepo")

    found = run(tmp_path, hub, github, "--draft", repo)

    report = (found.folder / "report.md").read_text()
    assert "is gated on the Hub (403)" in report
    assert "accept its terms at" in report
    origins = {source["id"]: source["origin"] for source in found.document["sources"]}  # type: ignore[attr-defined]
    assert origins["draft"] == "snapshot"
    assert_tokens_stayed_home(found, hub, github)


def test_a_pull_request_that_is_missing_is_told_and_costs_the_others_nothing(
    tmp_path: Path, hub: MiniHub, github: MiniGitHub
) -> None:
    github.before = [refusal(404, "Not Found")] * 3

    found = run(tmp_path, hub, github, "--pull-request", "vllm-project/vllm#40727")

    agents = {agent["name"]: agent for agent in found.document["agents"]}  # type: ignore[attr-defined]
    assert agents["pull_requests"]["status"] == "partial"
    assert f"{ENGINE}#7 does not exist on" in agents["pull_requests"]["error"]
    assert agents["hub"]["status"] == "partial"
    assert "give it with --target" in agents["hub"]["error"]
    assert_tokens_stayed_home(found, hub, github)


def test_a_config_that_is_no_json_is_the_users_to_mend(
    tmp_path: Path, hub: MiniHub, github: MiniGitHub
) -> None:
    hub.files["config.json"] = b"{not json"

    found = run(tmp_path, hub, github)

    assert found.code == 2
    assert "config.json of some/drafter is not JSON" in found.err
    assert_tokens_stayed_home(found, hub, github) if found.folder.exists() else None
