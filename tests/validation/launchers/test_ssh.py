"""Against a real sshd on loopback, where one is installed."""

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from investigator.errors import IncompleteError
from investigator.validation.launchers.ssh import SshLauncher, fingerprint
from tests.validation.conftest import rewrite

NAMES = ["as-released", "all-repairs"]


def find_sshd() -> str | None:
    return os.environ.get("INVESTIGATE_TEST_SSHD") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")


@dataclass(frozen=True)
class Server:
    port: int
    options: tuple[str, ...]

    def launcher(self, python: Path) -> SshLauncher:
        return SshLauncher(
            host=f"{getpass.getuser()}@127.0.0.1",
            port=self.port,
            python=str(python),
            options=self.options,
            pauses=(0.1, 0.1),
        )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    sshd = find_sshd()
    if sshd is None:
        pytest.skip("no sshd is installed (or named by INVESTIGATE_TEST_SSHD)")
    home = tmp_path / "sshd"
    home.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / name)], check=True)
    shutil.copy(home / "user.pub", home / "authorized")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = home / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {home / 'host'}\nPidFile none\n"
        f"AuthorizedKeysFile {home / 'authorized'}\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
        "PasswordAuthentication no\n"
    )
    process = subprocess.Popen([sshd, "-D", "-e", "-f", str(config)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None:
                pytest.skip("the sshd that is installed does not start for this user")
            time.sleep(0.05)
        yield Server(
            port,
            ("-F", "none", "-i", str(home / "user"), "-o", "StrictHostKeyChecking=no",
             "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"),
        )  # fmt: skip
    finally:
        process.terminate()
        process.wait()


def interpreter(tmp_path: Path, site: Path, before: str = "") -> Path:
    """A Python that imports the miniature engine, as an engine's own environment would."""
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\n{before}\nPYTHONPATH={site} exec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return script


def statuses(folder: Path) -> dict[str, str]:
    return {f.stem: json.loads(f.read_text())["status"] for f in (folder / "results").glob("*.json")}


def test_the_folder_runs_there_and_nothing_is_left_behind(
    server: Server, folder: Path, site: Path, tmp_path: Path
) -> None:
    said: list[str] = []
    server.launcher(interpreter(tmp_path, site)).run(folder, NAMES, said.append)
    assert statuses(folder) == dict.fromkeys(NAMES, "done")
    assert any(line.startswith("all-repairs: done in") for line in said)
    assert not Path(f"/tmp/investigate-{fingerprint(folder)}").exists()


def test_a_node_that_dies_in_the_middle_is_gone_on_from(
    server: Server, folder: Path, site: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "died"
    # The first time, one variant runs and then the connection is torn down under the client.
    once = (
        f"if [ ! -e {mark} ]; then touch {mark}; "
        f"PYTHONPATH={site} {sys.executable} run.py --only as-released; kill -9 $PPID; sleep 5; fi"
    )
    said: list[str] = []
    server.launcher(interpreter(tmp_path, site, once)).run(folder, NAMES, said.append)
    assert statuses(folder) == dict.fromkeys(NAMES, "done")
    assert any("broke off" in line for line in said)
    assert "1 of 2 variants to run, 1 at once" in said
    assert not Path(f"/tmp/investigate-{fingerprint(folder)}").exists()


def test_an_interrupt_stops_the_run_there_and_keeps_what_is_finished(
    server: Server, folder: Path, site: Path, tmp_path: Path
) -> None:
    (folder / "prompts.json").write_text(json.dumps([[1, 1]]))
    document = json.loads((folder / "experiment.json").read_text())
    rewrite(folder, variants=document["variants"][:2])

    def interrupt(line: str) -> None:
        if line.startswith("as-released: done"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        server.launcher(interpreter(tmp_path, site)).run(folder, NAMES, interrupt)
    assert statuses(folder)["as-released"] == "done"
    assert not Path(f"/tmp/investigate-{fingerprint(folder)}").exists()


def test_an_interpreter_that_is_not_there_is_named(server: Server, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(IncompleteError, match="ended with code 127") as caught:
        server.launcher(tmp_path / "no-python").run(folder, NAMES, lambda line: None)
    assert "?python=" in caught.value.advice


def test_a_host_that_does_not_answer_is_an_error_with_ssh_own_reason(folder: Path) -> None:
    launcher = SshLauncher(host="127.0.0.1", port=1, options=("-F", "none"), pauses=())
    with pytest.raises(IncompleteError, match=r"does not take the experiment: .*(refused|closed)"):
        launcher.run(folder, NAMES, lambda line: None)
