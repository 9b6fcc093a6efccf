"""A whole case on loopback: an engine on an index, a drafter on a Hub, a pull request on GitHub.

Everything is this project's own writing; the command runs on it as on the real thing, in a process
of its own, and comes to findings and patches.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_httpserver import HTTPServer

from tests.support import mini_reference, mini_vllm, miniature_vllm
from tests.support.fault_proxy import FaultProxy, fault_proxy
from tests.support.github_server import REPO as ENGINE
from tests.support.github_server import MiniGitHub
from tests.support.hub_server import REPO as DRAFTER
from tests.support.hub_server import MiniHub
from tests.support.mini_index import MiniIndex
from tests.support.wheels import build_wheel

ROOT = Path(__file__).parents[2]


@dataclass
class WholeCase:
    """The servers, each behind a proxy that can spoil answers, and how to ask."""

    folder: Path
    index: MiniIndex
    hub: MiniHub
    github: MiniGitHub
    proxies: dict[str, FaultProxy]

    def command(self, out: Path, *arguments: str) -> list[str]:
        """The command line of a run on everything."""
        command = [sys.executable, "-m", "investigator", "run", "--out", str(out)]
        command += [
            "--engine",
            "vllm==0.20.0",
            "--draft",
            DRAFTER,
            "--target",
            f"path:{self.folder / 'target'}",
        ]
        command += ["--reference", f"path:{self.folder / 'reference'}", "--pull-request", f"{ENGINE}#7"]
        return [*command, *arguments]

    def environment(self, cache: Path, **more: str) -> dict[str, str]:
        """Nothing of this machine's own settings; the servers through their proxies."""
        ports = {name: f"http://127.0.0.1:{proxy.port}" for name, proxy in self.proxies.items()}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "PYTHONPATH": str(ROOT),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": f"{ports['index']}/simple/",
            "HF_ENDPOINT": ports["hub"],
            "GITHUB_API_URL": f"{ports['github']}/api/v3",
            "INVESTIGATE_CACHE_DIR": str(cache),
            **more,
        }

    def run(self, out: Path, cache: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return subprocess.run(
            self.command(out, *arguments),
            env=self.environment(cache, **more),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )


@contextmanager
def whole_case(folder: Path, stall: float = 40.0) -> Iterator[WholeCase]:
    """The case, its servers running; files that it needs are written to ``folder``."""
    config = json.dumps(dict(miniature_vllm.DRAFT)).encode()
    for name in ("target", "reference/drafter", "home"):
        (folder / name).mkdir(parents=True)
    (folder / "target/config.json").write_text(json.dumps(dict(miniature_vllm.TARGET)))
    for path, text in mini_reference.FILES.items():
        (folder / "reference" / path).write_text(text)
    with ExitStack() as stack:
        servers = {name: stack.enter_context(HTTPServer(port=0)) for name in ("index", "hub", "github")}
        index = MiniIndex(servers["index"])
        files = {path: text.encode() for path, text in mini_vllm.texts(shift="none", drop="eagle").items()}
        index.add(version="0.20.0", data=build_wheel("vllm", "0.20.0", files))
        hub = MiniHub(servers["hub"], {"config.json": config})
        github = MiniGitHub(servers["github"])
        proxies = {
            name: stack.enter_context(fault_proxy(server.port, stall)) for name, server in servers.items()
        }
        yield WholeCase(folder, index, hub, github, proxies)


def essence(out: Path) -> dict[str, Any]:
    """What a run found, without times: the findings and the patches, of a folder that is whole."""
    document = json.loads((out / "investigation.json").read_text())
    patches = out / "patches"
    lines = {
        path.name: [line for line in path.read_text().splitlines() if not line.startswith(("Date:", "From "))]
        for path in (patches.iterdir() if patches.exists() else ())
    }
    findings = sorted((f["contract"], str(f["runner"]), f["verdict"], f["why"]) for f in document["findings"])
    return {"findings": findings, "patches": lines}
