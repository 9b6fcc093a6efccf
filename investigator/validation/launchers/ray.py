"""On a Ray cluster through Ray Jobs, which vLLM's users already run: one job a variant.

The folder travels as the job's working directory; results come back in the job's log, since
nothing else of a node can be counted on.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from investigator.errors import IncompleteError
from investigator.validation.conductor import MARK
from investigator.validation.extras import require
from investigator.validation.launchers.interface import Say

_ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


@dataclass(frozen=True, kw_only=True)
class RayLauncher:
    """``address`` is ``host:port`` of the dashboard. ``gpus`` is what one variant is given."""

    address: str
    python: str = "python"
    gpus: float = 1
    interval: float = 1.0
    limit: float = 3600

    def run(self, folder: Path, names: Sequence[str], say: Say) -> None:
        """Submit every variant, wait, read results out of the logs; a job that died goes again once."""
        client = self._client()
        left = list(names)
        for attempt in range(2):
            jobs = {name: self._submit(client, folder, name) for name in left}
            say(f"{len(jobs)} jobs on ray://{self.address}")
            try:
                self._wait(client, jobs, say)
            except BaseException:
                for job in jobs.values():
                    client.stop_job(job)
                raise
            left = [name for name, job in jobs.items() if not self._keep(client, folder, name, job)]
            if not left:
                return
            if attempt == 0:
                say(f"again: {', '.join(left)}")

    def _client(self) -> Any:
        require("ray", "ray", what="a Ray cluster")
        from ray.job_submission import JobSubmissionClient

        try:
            return JobSubmissionClient(f"http://{self.address}")
        except (ConnectionError, RuntimeError) as error:
            raise IncompleteError(
                f"no Ray cluster answers at {self.address}: {str(error).strip().partition(chr(10))[0]}",
                "give the dashboard's host and port",
            ) from error

    def _submit(self, client: Any, folder: Path, name: str) -> str:
        return str(
            client.submit_job(
                entrypoint=f"{self.python} run.py --only {name} --parallel 1 --print-results",
                entrypoint_num_gpus=self.gpus,
                runtime_env={"working_dir": str(folder), "excludes": ["results", "overlays/.made"]},
            )
        )

    def _wait(self, client: Any, jobs: Mapping[str, str], say: Say) -> None:
        began, running = time.monotonic(), dict(jobs)
        while running:
            for name, job in tuple(running.items()):
                status = str(client.get_job_status(job)).rpartition(".")[2]
                if status in _ENDED:
                    say(f"{name}: {status.lower()}")
                    del running[name]
            if time.monotonic() - began > self.limit:
                for job in running.values():
                    client.stop_job(job)
                say(f"stopped after {self.limit:.0f} s: {', '.join(running)}")
                return
            if running:
                time.sleep(self.interval)

    def _keep(self, client: Any, folder: Path, name: str, job: str) -> bool:
        """Write the result that the job's log holds; False when it holds none."""
        for line in client.get_job_logs(job).splitlines():
            _, mark, text = line.partition(MARK)
            if mark:
                try:
                    found = json.loads(text)
                except (ValueError, RecursionError):
                    continue
                if isinstance(found, dict) and found.get("variant") == name:
                    (folder / "results" / f"{name}.json").write_text(json.dumps(found))
                    return True
        return False
