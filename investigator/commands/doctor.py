"""``investigate doctor``: what this machine has, and what each lack costs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

import click

from investigator.commands.options import consoles, settings_options
from investigator.errors import ExitCode, InvestigateError
from investigator.reports.escape import visible
from investigator.settings import Settings

PROBE_RELEASE = "dflash"
"""A small project that every run with the default references asks the index for."""
SECONDS = 60.0


class State(StrEnum):
    """How one thing stands. Only what is ``needed`` and not there fails the command."""

    GOOD = "good"
    MISSING = "missing"
    NEEDED = "needed"


SIGNS = {State.GOOD: ("✓", "green"), State.MISSING: ("–", "dim"), State.NEEDED: ("✗", "red")}


@dataclass(frozen=True)
class Check:
    """One line of the answer. ``said`` tells what is there, or what its lack costs."""

    what: str
    state: State
    said: str


@click.command("doctor", short_help="What this machine has and can reach.")
@settings_options
def command(settings: Settings) -> int:
    """Tell what this machine has: index, Hub, GitHub, tokens (never shown), engine, GPU."""
    from concurrent.futures import ThreadPoolExecutor

    from rich.table import Table
    from rich.text import Text

    data, _ = consoles(settings)
    with ThreadPoolExecutor(len(CHECKS)) as pool:
        found = [each.result(SECONDS) for each in [pool.submit(check, settings) for check in CHECKS]]
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    for check in found:
        sign, style = SIGNS[check.state]
        table.add_row(Text(sign, style=style), Text(check.what), Text(visible(check.said)))
    data.print(table)
    lacking = any(check.state is State.NEEDED for check in found)
    return ExitCode.INCOMPLETE if lacking else ExitCode.CLEAN


def python(_: Settings) -> Check:
    """The interpreter that this program runs in."""
    return Check("Python", State.GOOD, f"{sys.version.split()[0]} at {sys.executable}")


def git(_: Settings) -> Check:
    """Git: without it no repository is read and no patch proven."""
    found = shutil.which("git")
    if found is None:
        return Check(
            "git", State.NEEDED, "not on PATH: no repository can be read and no patch proven; install git"
        )
    try:
        answer = subprocess.run(
            [found, "--version"], capture_output=True, text=True, timeout=10.0, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Check("git", State.NEEDED, f"{found} does not run: {error}; install git anew")
    return Check("git", State.GOOD, f"{answer.stdout.strip().removeprefix('git version ')} at {found}")


def cache(settings: Settings) -> Check:
    """Where fetched files are kept."""
    from investigator.sources.store import Store, default_root

    folder = settings.cache_dir or default_root()
    try:
        Store.open(settings.cache_dir)
    except InvestigateError as error:
        return Check("cache", State.NEEDED, f"{error}; {error.advice}")
    if not os.access(folder, os.W_OK):
        return Check("cache", State.MISSING, f"{folder} cannot be written: every run fetches everything anew")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return Check("cache", State.GOOD, f"{folder}, {size / 1e6:.1f} MB")


def package_index(settings: Settings) -> Check:
    """The package index, as pip's settings name it, asked for one small project."""
    from investigator.sources.open import Workspace

    if settings.offline:
        return Check("package index", State.MISSING, "not asked with --offline")
    try:
        workspace = Workspace.open(cache_dir=settings.cache_dir)
        with workspace.transport:
            releases = workspace.index.releases(PROBE_RELEASE)
    except InvestigateError as error:
        return Check("package index", State.NEEDED, f"{error}; {error.advice}")
    return Check("package index", State.GOOD, f"answers; newest {PROBE_RELEASE} is {releases[-1].version}")


def hub(settings: Settings) -> Check:
    """The Hugging Face Hub; without it configs come from snapshots."""
    from investigator.sources.hub_settings import HubSettings

    return _server(
        "Hub",
        settings,
        lambda: HubSettings.from_environment(os.environ).endpoint,
        "configs come from the cache and from dated snapshots",
        token="HF_TOKEN",
    )


def github(settings: Settings) -> Check:
    """GitHub; without it pull requests come from snapshots."""
    from investigator.sources.github_settings import GitHubSettings

    return _server(
        "GitHub",
        settings,
        lambda: GitHubSettings.from_environment(os.environ).api_url,
        "pull requests come from the cache and from dated snapshots",
        token="GITHUB_TOKEN" if os.environ.get("GITHUB_TOKEN") else "GH_TOKEN",
    )


def _server(what: str, settings: Settings, address: Callable[[], str], without: str, *, token: str) -> Check:
    from investigator.sources.reachable import check_reachable

    held = f"{token} is set" if os.environ.get(token) else f"{token} is not set"
    if settings.offline:
        return Check(what, State.MISSING, f"not asked with --offline: {without}; {held}")
    try:
        url = address()
        check_reachable(url, 3.0, what)
    except InvestigateError as error:
        return Check(what, State.MISSING, f"{error}: {without}; {held}")
    return Check(what, State.GOOD, f"{urlsplit(url).hostname} answers; {held}")


def engine(_: Settings) -> Check:
    """An engine in this environment, for ``--engine installed``."""
    for name in ("vllm", "sglang"):
        try:
            return Check("engine", State.GOOD, f"{name} {metadata.version(name)} is installed here")
        except metadata.PackageNotFoundError:
            continue
    return Check(
        "engine", State.MISSING, "none installed here; none is needed, releases are read from the index"
    )


def gpu(_: Settings) -> Check:
    """Accelerators, for ``validate`` only."""
    drivers = sorted(path.parent.name for path in Path("/proc/driver/nvidia/gpus").glob("*/information"))
    if drivers:
        tool = "nvidia-smi is there" if shutil.which("nvidia-smi") else "nvidia-smi is not on PATH"
        return Check("GPU", State.GOOD, f"{len(drivers)} NVIDIA; {tool}")
    return Check("GPU", State.MISSING, "none seen; only a validation on the real engine needs one")


CHECKS = (python, git, cache, package_index, hub, github, engine, gpu)
