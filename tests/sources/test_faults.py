"""Every request of a cold run fails in every way: the answer is right, or a clear error; never wrong.

Afterwards the store is sound: the next run, without faults, finishes with the right bytes.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from investigator.case import EngineSpec
from investigator.errors import InvestigateError, SourceError
from investigator.sources.open import Workspace, open_engine
from investigator.sources.pip_settings import PipSettings
from investigator.sources.store import Store
from investigator.sources.transport import NetworkPolicy, Transport
from tests.support.fault_proxy import Fault, FaultProxy, fault_proxy
from tests.support.mini_index import MiniIndex
from tests.support.wheels import ENGINE_FILES, build_wheel, incompressible

RELEASE = EngineSpec.parse("vllm==0.20.1")
REQUESTS = 4
"""A cold run's: the list, the tail, and two groups of members that lie apart."""


def far_apart() -> bytes:
    files = dict(ENGINE_FILES)
    first = files.pop("vllm/__init__.py")
    ballast = {"vllm/_C.so": incompressible(100_000)}
    return build_wheel(files={"vllm/__init__.py": first, **ballast, **files}, padding=600_000)


@pytest.fixture
def proxy(index: MiniIndex, httpserver: HTTPServer) -> Iterator[FaultProxy]:
    index.add(data=far_apart())
    with fault_proxy(httpserver.port) as running:
        yield running


def read_everything(proxy: FaultProxy, cache: Path) -> dict[str, bytes]:
    workspace = Workspace(
        store=Store.open(cache),
        transport=Transport(NetworkPolicy(read_timeout=1, connect_timeout=1), sleep=lambda _: None),
        pip=PipSettings(index_url=f"http://127.0.0.1:{proxy.port}/simple/"),
    )
    with workspace.transport:
        tree = open_engine(RELEASE, workspace)
        tree.prefetch(ENGINE_FILES)
        return {path: tree.read(path) for path in ENGINE_FILES}


def test_without_a_fault(proxy: FaultProxy, tmp_path: Path) -> None:
    assert read_everything(proxy, tmp_path / "cache") == ENGINE_FILES
    assert proxy.seen == REQUESTS
    assert read_everything(proxy, tmp_path / "cache") == ENGINE_FILES
    assert proxy.seen == REQUESTS


@pytest.mark.parametrize("request_number", range(REQUESTS))
@pytest.mark.parametrize("fault", Fault)
def test_one_fault(proxy: FaultProxy, tmp_path: Path, fault: Fault, request_number: int) -> None:
    proxy.faults = {request_number: fault}
    found, error = attempt(proxy, tmp_path / "cache")

    if fault in (Fault.CORRUPT, Fault.SHORTER):  # no second try can know that it would help
        assert found == ENGINE_FILES or (error is not None and error.advice)
    else:
        assert found == ENGINE_FILES
        assert proxy.seen == REQUESTS + 1
    proxy.faults = {}
    assert read_everything(proxy, tmp_path / "cache") == ENGINE_FILES


def attempt(proxy: FaultProxy, cache: Path) -> tuple[dict[str, bytes] | None, InvestigateError | None]:
    try:
        return read_everything(proxy, cache), None
    except InvestigateError as error:
        return None, error


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.CORRUPT])
def test_a_fault_that_stays(proxy: FaultProxy, tmp_path: Path, fault: Fault) -> None:
    proxy.every = fault

    with pytest.raises(SourceError) as error:
        read_everything(proxy, tmp_path / "cache")

    assert str(error.value).startswith("the list of vllm releases")
    assert error.value.advice
    assert proxy.seen <= 3


READ_EVERYTHING = """
import sys
from pathlib import Path
from investigator.case import EngineSpec
from investigator.sources.open import Workspace, open_engine
from investigator.sources.pip_settings import PipSettings
from investigator.sources.store import Store
from investigator.sources.transport import Transport

workspace = Workspace(
    store=Store.open(Path(sys.argv[1])), transport=Transport(), pip=PipSettings(index_url=sys.argv[2])
)
tree = open_engine(EngineSpec.parse("vllm==0.20.1"), workspace)
print("opened", flush=True)
for path in tree.paths():
    if path.endswith(".py"):
        tree.read(path)
"""


def test_killed_at_random_moments_the_store_stays_sound(index: MiniIndex, tmp_path: Path) -> None:
    index.add(data=far_apart())
    cache = tmp_path / "cache"
    command = [sys.executable, "-c", READ_EVERYTHING, str(cache), index.url]
    chance = random.Random(20)
    killed = 0
    for _ in range(4):
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.01))
        os.kill(process.pid, signal.SIGKILL)
        killed += process.wait(30) == -signal.SIGKILL
        process.stdout.close()
    assert killed

    complaints: list[object] = []
    workspace = Workspace(
        store=Store.open(cache, complaints.append),
        transport=Transport(),
        pip=PipSettings(index_url=index.url),
    )
    tree = open_engine(RELEASE, workspace)
    assert {path: tree.read(path) for path in ENGINE_FILES} == ENGINE_FILES
    assert complaints == []
