"""What the tests of the sources share: a store, a loopback index, a workspace over both."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from investigator.events import Event
from investigator.sources.open import Workspace
from investigator.sources.pip_settings import PipSettings
from investigator.sources.store import Store
from investigator.sources.transport import NetworkPolicy, Transport
from tests.support.mini_index import MiniIndex


@pytest.fixture
def index(httpserver: HTTPServer) -> MiniIndex:
    """An empty package index on loopback."""
    return MiniIndex(httpserver)


@pytest.fixture
def events() -> list[Event]:
    """What the sources reported, in order."""
    return []


@pytest.fixture
def store(tmp_path: Path, events: list[Event]) -> Store:
    """A fresh store."""
    return Store.open(tmp_path / "cache", events.append)


@pytest.fixture
def pauses() -> list[float]:
    """The seconds that a transport would have slept between tries."""
    return []


@pytest.fixture
def transport(events: list[Event], pauses: list[float]) -> Iterator[Transport]:
    """A transport that never sleeps and gives up soon."""
    policy = NetworkPolicy(connect_timeout=2, read_timeout=1)
    with Transport(policy, events=events.append, sleep=pauses.append) as opened:
        yield opened


@pytest.fixture
def workspace(index: MiniIndex, store: Store, transport: Transport, events: list[Event]) -> Workspace:
    """A workspace whose package index is the loopback one."""
    return Workspace(
        store=store, transport=transport, pip=PipSettings(index_url=index.url), events=events.append
    )


@pytest.fixture
def reopened(index: MiniIndex, tmp_path: Path, events: list[Event]) -> Callable[..., Workspace]:
    """Another run over the same store: ``reopened(offline=True)``."""

    def make(*, offline: bool = False) -> Workspace:
        return Workspace(
            store=Store.open(tmp_path / "cache", events.append),
            transport=Transport(NetworkPolicy(offline=offline, read_timeout=1), events=events.append),
            pip=PipSettings(index_url=index.url),
            events=events.append,
        )

    return make
