"""Longer campaigns than the tests run, by hand: ``python -m tests.sources.campaign zip|kills|faults N``.

Each prints one line of counts and fails when something was found; a find becomes a test.
"""

import io
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path

from pytest_httpserver import HTTPServer

from investigator.case import EngineSpec
from investigator.errors import InvestigateError
from investigator.sources.open import Workspace, open_engine
from investigator.sources.pip_settings import PipSettings
from investigator.sources.store import Store
from investigator.sources.transport import NetworkPolicy, Transport
from tests.sources.test_faults import READ_EVERYTHING, far_apart, read_everything
from tests.sources.test_range_zip import archive, read_all
from tests.support.fault_proxy import Fault, fault_proxy
from tests.support.mini_index import MiniIndex
from tests.support.wheels import ENGINE_FILES, incompressible


def zip_campaign(count: int, chance: random.Random) -> Counter[str]:
    """Damage sound archives at random; what is still accepted must be what zipfile reads."""
    counts: Counter[str] = Counter()
    seeds = [
        archive({"pkg/a.py": b"a = 1\n" * 50, "pkg/b.py": b"", "pkg/c/": b""}),
        archive({"pkg/a.bin": incompressible(200), "é.py": b"x"}, zipfile.ZIP_STORED),
        archive({f"m{n}.py": b"x = %d\n" % n for n in range(20)}),
    ]
    for _ in range(count):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    data[at] ^= 1 << chance.randrange(8)
                case 2:
                    del data[at : at + chance.randint(1, 30)]
                case _:
                    source = chance.randrange(len(data))
                    data[at:at] = data[source : source + chance.randint(1, 60)]
            if not data:
                break
        counts[_compare(bytes(data))] += 1
    return counts


def _compare(data: bytes) -> str:
    try:
        found = read_all(data)
    except InvestigateError:
        return "refused"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as reader:
            same = found == {n: reader.read(n) for n in reader.namelist() if not n.endswith("/")}
    except Exception as error:
        return f"FIND: accepted what zipfile refuses ({type(error).__name__})"
    return "read alike" if same else "FIND: read otherwise than zipfile"


def kill_campaign(count: int, chance: random.Random) -> Counter[str]:
    """Kill a run that fills the store, at random moments; then the store must be sound."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, HTTPServer(port=0) as server:
        index = MiniIndex(server)
        index.add(data=far_apart())
        for number in range(count):
            cache = Path(folder) / str(number % 50)
            command = [sys.executable, "-c", READ_EVERYTHING, str(cache), index.url]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.1, 0.7))  # a run takes about that long
            os.kill(process.pid, signal.SIGKILL)
            counts["killed" if process.wait() < 0 else "finished first"] += 1
            complaints: list[object] = []
            workspace = Workspace(
                store=Store.open(cache, complaints.append),
                transport=Transport(NetworkPolicy()),
                pip=PipSettings(index_url=index.url),
            )
            with workspace.transport:
                tree = open_engine(EngineSpec.parse("vllm==0.20.1"), workspace)
                sound = {path: tree.read(path) for path in ENGINE_FILES} == ENGINE_FILES
            counts["FIND: store unsound"] += bool(complaints) or not sound
    return counts


def fault_campaign(count: int, chance: random.Random) -> Counter[str]:
    """Several random faults in one cold run; right bytes or a clear error, and a sound store after."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, HTTPServer(port=0) as server:
        index = MiniIndex(server)
        index.add(data=far_apart())
        with fault_proxy(server.port, stall=0.5) as proxy:
            for number in range(count):
                cache = Path(folder) / str(number)
                proxy.seen = 0
                proxy.faults = {n: chance.choice(list(Fault)) for n in chance.sample(range(8), 3)}
                try:
                    right = read_everything(proxy, cache) == ENGINE_FILES
                    counts["right" if right else "FIND: wrong bytes"] += 1
                except InvestigateError as error:
                    counts["clear error" if error.advice else "FIND: no advice"] += 1
                proxy.faults = {}
                healed = read_everything(proxy, cache) == ENGINE_FILES
                counts["FIND: not healed"] += not healed
    return counts


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    name, number = sys.argv[1], int(sys.argv[2])
    campaign = {"zip": zip_campaign, "kills": kill_campaign, "faults": fault_campaign}[name]
    counted = campaign(number, random.Random(number))
    print(name, number, dict(counted))
    sys.exit(any(key.startswith("FIND") and value for key, value in counted.items()))
