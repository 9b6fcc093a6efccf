"""On another machine through the system's ssh: its config, keys and jump hosts apply.

The folder goes there as one stream, runs, and its results come back; a connection that breaks is
made again, and the conductor there goes on from what is finished. At the end the folder there is
removed, also after an interrupt.
"""

import hashlib
import shlex
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from investigator.errors import IncompleteError
from investigator.validation.launchers.archive import pack, unpack_results
from investigator.validation.launchers.interface import Say
from investigator.validation.launchers.local import follow

CONNECTION_LOST = 255
"""What ssh returns for itself; any other code is the remote command's."""


@dataclass(frozen=True, kw_only=True)
class SshLauncher:
    """``host`` is what ssh is given. ``python`` is the engine's interpreter there.

    ``options`` go to ssh before the host; ``pauses`` are the seconds before each new connection.
    """

    host: str
    port: int | None = None
    python: str = "python3"
    options: tuple[str, ...] = ()
    pauses: tuple[float, ...] = (2, 10, 30)

    def run(self, folder: Path, names: Sequence[str], say: Say) -> None:
        """Send, run, fetch, remove."""
        there = f"/tmp/investigate-{fingerprint(folder)}"  # noqa: S108 - on the other machine, mode 0700
        quoted = shlex.quote(there)
        try:
            self._send(folder, quoted, say)
            self._conduct(quoted, names, say)
        finally:
            # The conductor is asked to stop first: after an interrupt here it may still be at work.
            stop = f"if [ -f {quoted}/run.pid ]; then kill $(cat {quoted}/run.pid) 2>/dev/null; fi"
            try:
                fetched = self._ssh(f"{stop}; cd {quoted} && tar cf - results", capture=True)
                if fetched.returncode == 0:
                    unpack_results(fetched.stdout, folder)
            finally:  # results that cannot be taken are no reason to leave the folder there
                removed = self._ssh(f"rm -rf {quoted}")
                if removed.returncode != 0:
                    say(f"{self.host}:{there} could not be removed; the next run goes on from it")

    def _send(self, folder: Path, there: str, say: Say) -> None:
        with tempfile.TemporaryFile() as stream:
            pack(folder, stream)
            say(f"sending {stream.tell() / 2**20:.1f} MiB to {self.host}")
            for pause in (*self.pauses, None):
                stream.seek(0)
                sent = self._ssh(f"umask 077 && mkdir -p {there} && tar xzf - -C {there}", stdin=stream)
                if sent.returncode == 0:
                    return
                if sent.returncode != CONNECTION_LOST or pause is None:
                    break
                time.sleep(pause)
        why = sent.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
        raise IncompleteError(
            f"{self.host} does not take the experiment: {why[0]}", f"try 'ssh {self.host} true' by hand"
        )

    def _conduct(self, there: str, names: Sequence[str], say: Say) -> None:
        words = [self.python, "run.py", "--only", *names]
        command = f"cd {there} && echo $$ > run.pid && exec {shlex.join(words)} 2>&1"
        for pause in (*self.pauses, None):
            process = subprocess.Popen(
                [*self._base(), command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
            last = follow(process, say)
            if process.returncode in (0, 1):
                return
            if process.returncode != CONNECTION_LOST and process.returncode < 128:
                raise IncompleteError(
                    f"the experiment on {self.host} ended with code {process.returncode}: {last}",
                    "name the engine's interpreter there: --on 'ssh://user@host?python=/path/to/python'",
                )
            if pause is None:
                break
            say(f"the run on {self.host} broke off (code {process.returncode}); going on in {pause:.0f} s")
            time.sleep(pause)
        raise IncompleteError(
            f"the run on {self.host} broke off {len(self.pauses) + 1} times", "run it again"
        )

    def _base(self) -> list[str]:
        port = ["-p", str(self.port)] if self.port else []
        return ["ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", *self.options, *port, self.host]

    def _ssh(
        self, command: str, *, stdin: "IO[bytes] | None" = None, capture: bool = False
    ) -> "subprocess.CompletedProcess[bytes]":
        try:
            return subprocess.run(
                [*self._base(), command],
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=subprocess.PIPE if capture else subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=False,
            )
        except FileNotFoundError as error:
            raise IncompleteError("there is no ssh on this machine", "install an OpenSSH client") from error


def fingerprint(folder: Path) -> str:
    """Names the experiment there: the same experiment meets what an earlier run left."""
    return hashlib.sha256((folder / "experiment.json").read_bytes()).hexdigest()[:16]
