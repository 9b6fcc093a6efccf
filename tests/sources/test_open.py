"""From what the user names to a tree, and what a second run needs."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from investigator.case import EngineSpec
from investigator.errors import ExitCode, OfflineError, UsageError
from investigator.events import Event
from investigator.sources.open import Workspace, open_engine, open_package
from tests.support.mini_index import MiniIndex
from tests.support.wheels import ENGINE_FILES


def test_the_usual_workspace_keeps_pips_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.invalid/simple")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "mirror.invalid")
    monkeypatch.setenv("PIP_CERT", "/etc/ca.pem")
    monkeypatch.setenv("PIP_FIND_LINKS", "")

    workspace = Workspace.open(cache_dir=tmp_path / "cache", offline=True)

    assert workspace.offline
    assert workspace.pip.index_url == "https://mirror.invalid/simple"
    assert workspace.transport.policy.ca_bundle == "/etc/ca.pem"
    assert workspace.transport.policy.insecure_hosts == ("mirror.invalid",)
    assert workspace.store.root == tmp_path / "cache"


def test_each_agent_has_its_own_view(index: MiniIndex, workspace: Workspace) -> None:
    index.add()
    mine: list[Event] = []
    view = workspace.for_agent("vllm", events=mine.append, seconds=60)

    open_engine(EngineSpec.parse("vllm==0.20.1"), view)

    assert [event.agent for event in mine] == ["vllm", "vllm"]
    assert view.transport.usage() == workspace.transport.usage()
    assert view.transport.usage().requests == 2


def test_a_second_run_opens_no_socket(
    index: MiniIndex,
    workspace: Workspace,
    reopened: Callable[..., Workspace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index.add()
    open_engine(EngineSpec.parse("vllm==0.20.1"), workspace).prefetch(ENGINE_FILES)

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)

    for offline in (True, False):
        tree = open_engine(EngineSpec.parse("vllm==0.20.1"), reopened(offline=offline))
        assert {path: tree.read(path) for path in ENGINE_FILES} == ENGINE_FILES


def test_offline_and_never_fetched(index: MiniIndex, reopened: Callable[..., Workspace]) -> None:
    with pytest.raises(OfflineError) as error:
        open_engine(EngineSpec.parse("vllm==0.20.1"), reopened(offline=True))

    assert error.value.exit_code is ExitCode.INCOMPLETE
    assert index.requests == []


@pytest.mark.parametrize("text", ["path:/tmp", "path:/a==b", "installed", "dflash", "dflash>=0.1"])
def test_what_is_no_package(workspace: Workspace, text: str) -> None:
    with pytest.raises(UsageError, match="cannot read reference") as error:
        open_package(text, workspace)
    assert "path:DIR" in error.value.advice
