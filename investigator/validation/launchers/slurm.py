"""On a Slurm cluster through submitit: one job a variant; the folder is on a shared file system."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from investigator.errors import IncompleteError
from investigator.validation.extras import require
from investigator.validation.launchers.interface import Say


@dataclass(frozen=True, kw_only=True)
class SlurmLauncher:
    """``cluster`` is submitit's name for where jobs go: ``slurm``, or ``local`` for this machine.

    ``parameters`` are submitit's (``slurm_partition``, ``gpus_per_node``, ...). A job that dies is
    sent once more.
    """

    python: str = "python3"
    cluster: str = "slurm"
    minutes: int = 30
    parameters: tuple[tuple[str, str], ...] = ()

    def run(self, folder: Path, names: Sequence[str], say: Say) -> None:
        """Submit every variant, wait for all, and send the dead ones again."""
        submit = self._executor(folder)
        left = list(names)
        for attempt in range(2):
            jobs = [(name, submit(self._command(folder, name))) for name in left]
            say(f"{len(jobs)} jobs on {self.cluster}")
            left = [name for name, job in jobs if not self._ended(name, job, folder, say)]
            if not left:
                return
            if attempt == 0:
                say(f"again: {', '.join(left)}")

    def _command(self, folder: Path, name: str) -> list[str]:
        return [self.python, str(folder.resolve() / "run.py"), "--only", name, "--parallel", "1"]

    def _executor(self, folder: Path) -> Any:
        require("slurm", "submitit", what="a Slurm cluster")
        import submitit

        if self.cluster == "slurm" and shutil.which("sbatch") is None:
            raise IncompleteError("there is no sbatch on this machine", "run it on the cluster's login node")
        executor = submitit.AutoExecutor(folder=folder / "results" / "jobs", cluster=self.cluster)
        executor.update_parameters(timeout_min=self.minutes, name="investigate", **dict(self.parameters))
        return lambda command: executor.submit(submitit.helpers.CommandFunction(command))

    def _ended(self, name: str, job: Any, folder: Path, say: Say) -> bool:
        """Whether the job left a result; a variant that failed inside the conductor did."""
        try:
            job.result()
        except Exception as error:  # submitit raises its own kinds and whatever the job raised
            reason = str(error).strip().splitlines()[:1]
            say(f"{name}: {reason[0] if reason else type(error).__name__}")
        return (folder / "results" / f"{name}.json").is_file()
