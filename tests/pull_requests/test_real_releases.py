"""Pull requests by effect on real releases, GitHub played by a loopback server.

What changed between two releases' files is served as pull request 7, and the whole way is
gone: PyGithub, the diff, the engine off the package index, the contracts' questions.
"""

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from investigator.case import Case, EngineSpec, RepoSpec
from investigator.conduct import conduct
from investigator.model import PullRequest
from investigator.sources.open import Workspace, open_release
from investigator.team import assembly
from tests.support.github_server import MERGE_BASE, REPO, MiniGitHub

pytestmark = [pytest.mark.network, pytest.mark.slow]

OFFSET = (
    "vllm/v1/worker/gpu_model_runner.py",
    "vllm/transformers_utils/configs/speculators/algos.py",
)
DROP = (
    "vllm/config/speculative.py",
    "vllm/v1/core/sched/scheduler.py",
    "vllm/v1/core/kv_cache_manager.py",
    "vllm/v1/core/kv_cache_coordinator.py",
)


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all cases here, so that a release's files are fetched once."""
    return tmp_path_factory.mktemp("releases")


def files_of(cache_dir: Path, version: str, paths: tuple[str, ...]) -> Mapping[str, bytes]:
    workspace = Workspace.open(cache_dir=cache_dir)
    with workspace.transport:
        tree = open_release("vllm", version, workspace)
        tree.prefetch(paths)
        return {path: tree.read(path) for path in paths}


def serve(
    github: MiniGitHub, cache_dir: Path, before: str, after: str, paths: tuple[str, ...], folder: Path
) -> None:
    """Let pull request 7 turn ``paths`` of one release into those of another, as git diffs them."""
    for side, version in (("old", before), ("new", after)):
        for path, content in files_of(cache_dir, version, paths).items():
            place = folder / side / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            if side == "old":
                github.versions[(path, MERGE_BASE)] = content
    done = subprocess.run(
        ["git", "diff", "--no-index", "--src-prefix=", "--dst-prefix=", "--full-index", "old", "new"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    diff = done.stdout
    for name in (b"old/", b"new/"):
        side = b"a/" if name == b"old/" else b"b/"
        diff = diff.replace(b" " + name, b" " + side)
    github.diff = Response(diff, mimetype="application/vnd.github.diff")
    head = hashlib.sha1(diff, usedforsecurity=False).hexdigest()  # another change is another commit
    github.etag = f'W/"{head}"'
    github.pull |= {"changed_files": len(paths), "title": "Polish the documentation", "head": {"sha": head}}


def studied(github: MiniGitHub, cache_dir: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> PullRequest:
    monkeypatch.setenv("GITHUB_API_URL", github.url)
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    monkeypatch.delenv("GH_TOKEN", raising=False)
    case = Case(
        engine=EngineSpec.parse(f"vllm=={engine}"),
        draft=RepoSpec.parse("z-lab/Qwen3.6-27B-DFlash@snapshot-2026-10"),
        target=RepoSpec.parse("Qwen/Qwen3.6-27B@snapshot-2026-10"),
        references=("dflash==0.1.0",),
        pull_requests=(f"{REPO}#7",),
    )
    workspace = Workspace.open(cache_dir=cache_dir)
    with workspace.transport:
        team = assembly(case, workspace, lambda event: None)
        (request,) = conduct(case, team).investigation.pull_requests
    return request


@pytest.fixture
def github(httpserver: HTTPServer) -> MiniGitHub:
    return MiniGitHub(httpserver)


def test_the_offsets_files_change_the_offset_and_nothing_else(
    github: MiniGitHub, cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(github, cache_dir, "0.20.2", "0.22.0", OFFSET, tmp_path)

    on_its_base = studied(github, cache_dir, "0.20.2", monkeypatch)
    much_later = studied(github, cache_dir, "0.33.0", monkeypatch)
    between = studied(github, cache_dir, "0.26.0", monkeypatch)

    assert on_its_base.effect == "on this engine: target-layer-offset/v1: broken → honoured"
    assert (on_its_base.contained, on_its_base.repairs) == (False, ("target-layer-offset",))
    assert on_its_base.relations == ("enough by itself to repair target-layer-offset/v1",)
    assert much_later.contained is True
    assert "target-layer-offset/v1 is honoured here by a line that it adds" in much_later.contained_why
    assert "as text it conflicts at vllm/v1/worker/gpu_model_runner.py:" in between.contained_why


def test_cache_drops_files_change_cache_drop_and_nothing_else(
    github: MiniGitHub, cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(github, cache_dir, "0.32.0", "0.33.0", DROP, tmp_path)

    on_its_base = studied(github, cache_dir, "0.32.0", monkeypatch)
    there = studied(github, cache_dir, "0.33.0", monkeypatch)
    long_before = studied(github, cache_dir, "0.26.0", monkeypatch)

    assert on_its_base.effect == "on this engine: cache-drop: broken → honoured"
    assert (there.contained, there.contained_why) == (True, "every change of it is in the engine as it is")
    assert long_before.contained is not True
    assert "it conflicts at vllm/" in long_before.contained_why
