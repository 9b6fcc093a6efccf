"""``investigate snapshot``: record what the Hub and GitHub say now, for runs that reach neither."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from investigator.commands.options import settings_options
from investigator.commands.parameters import UserPath
from investigator.errors import ExitCode, InvestigateError, OfflineError, UsageError
from investigator.reports.escape import visible
from investigator.settings import Settings

if TYPE_CHECKING:
    from investigator.sources.open import Workspace
    from investigator.sources.snapshots import Snapshots


@click.command("snapshot", short_help="Record what the Hub and GitHub say now.")
@click.option("--model", "models", multiple=True, metavar="REPO", help="A Hub repository, several times.")
@click.option(
    "--pull-request",
    "pull_requests",
    multiple=True,
    metavar="OWNER/REPO#N",
    help="A pull request, several times.",
)
@click.option(
    "--out",
    type=UserPath(file_okay=False),
    default=Path("fixtures"),
    show_default=True,
    help="The folder that gets hub/ and github/.",
)
@settings_options
def command(settings: Settings, models: tuple[str, ...], pull_requests: tuple[str, ...], out: Path) -> int:
    """Record what the Hub and GitHub say now: configs and metadata, no code of others.

    Without names, everything that has a snapshot already is refreshed. What cannot be had
    stays as it was recorded before.
    """
    from investigator.sources.open import Workspace
    from investigator.sources.snapshots import Snapshots

    if settings.offline:
        raise OfflineError(
            "snapshots are made of live sources, and this run is offline", "leave --offline out"
        )
    snapshots = Snapshots()
    with ExitStack() as stack:
        workspace = Workspace.open(cache_dir=settings.cache_dir)
        stack.enter_context(workspace.transport)
        jobs = _jobs(workspace, snapshots, models, pull_requests, out)
        failed = [what for what, job in jobs if not _done(what, job)]
    return ExitCode.INCOMPLETE if failed else ExitCode.CLEAN


Job = tuple[str, Callable[[], Path]]
"""What is recorded, and what records it."""


def _jobs(
    workspace: "Workspace",
    snapshots: "Snapshots",
    models: tuple[str, ...],
    pull_requests: tuple[str, ...],
    out: Path,
) -> Sequence[Job]:
    from investigator.case import RepoSpec
    from investigator.sources.github import PullRequestRef
    from investigator.sources.github_client import pull_request_source
    from investigator.sources.hub_client import hub_source
    from investigator.sources.snapshot_writing import hub_record, pull_request_record, write_record

    hub = hub_source(workspace.transport, os.environ)
    github = pull_request_source(workspace.transport, workspace.store, os.environ)
    today = datetime.now(UTC).date()
    if not models and not pull_requests:
        models, pull_requests = snapshots.hub_repos(), snapshots.pull_requests()

    def model(text: str) -> Path:
        spec = RepoSpec.parse(text)
        if spec.path is not None:
            raise UsageError(f"{text} is a local folder", "name a repository on the Hub")
        fetched = hub.fetch(spec, "model", shapes=True)
        return write_record(hub_record(fetched, snapshots.hub(spec.id), today), out)

    def request(text: str) -> Path:
        ref = PullRequestRef.parse(text)
        before = snapshots.pull_request(ref.repo, ref.number)
        return write_record(pull_request_record(github.fetch(ref, "request"), before, today), out)

    return [(name, partial(model, name)) for name in models] + [
        (name, partial(request, name)) for name in pull_requests
    ]


def _done(what: str, job: Callable[[], Path]) -> bool:
    try:
        click.echo(f"{visible(what)}: {visible(str(job()))}")
    except UsageError:
        raise
    except InvestigateError as error:
        click.echo(f"{visible(what)}: not recorded: {visible(str(error))}", err=True)
        return False
    return True
