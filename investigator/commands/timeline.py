"""``investigate timeline``: contract by release, from the package index, nothing installed."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from investigator.case import DEFAULT_DRAFT, DEFAULT_REFERENCES, Case, EngineKind, EngineSpec, RepoSpec
from investigator.commands.options import (
    assignment,
    consoles,
    drafter,
    format_option,
    method_option,
    server_flag,
    settings_options,
)
from investigator.commands.output import require_writable, write_whole
from investigator.commands.parameters import UserPath
from investigator.errors import ExitCode
from investigator.settings import Settings

if TYPE_CHECKING:
    from investigator.history import Timeline


@click.command("timeline", short_help="Since when, until when: contract by release.")
@click.option(
    "--engine",
    default="vllm",
    show_default=True,
    metavar="NAME",
    help="Whose releases to read: vllm, sglang.",
)
@click.option(
    "--from",
    "first",
    metavar="VERSION",
    help="First release.  [default: the first with anything to investigate; vllm 0.20.0, sglang 0.5.11]",
)
@click.option("--to", "last", metavar="VERSION", help="Last release.  [default: the newest]")
@click.option(
    "--draft",
    "drafts",
    multiple=True,
    default=(DEFAULT_DRAFT,),
    show_default=True,
    metavar="REPO",
    help="The drafter, as for run; several times for several timelines.",
)
@click.option("--target", metavar="REPO", help="The target model.  [default: the one each drafter names]")
@method_option
@click.option("--reference", "references", multiple=True, default=DEFAULT_REFERENCES, help="As for run.")
@click.option(
    "--env", "environment", multiple=True, metavar="NAME=VALUE", help="As for run, for every release."
)
@click.option("--flag", "flags", multiple=True, metavar="NAME[=VALUE]", help="As for run, for every release.")
@format_option("table", "markdown", "html", "json")
@click.option("--out", type=UserPath(dir_okay=False), help="Write there instead.")
@settings_options
def command(
    engine: str,
    first: str | None,
    last: str | None,
    drafts: tuple[str, ...],
    target: str | None,
    method: str | None,
    references: tuple[str, ...],
    environment: tuple[str, ...],
    flags: tuple[str, ...],
    format_: str,
    out: Path | None,
    settings: Settings,
) -> int:
    """Ask every release the same questions: first bad, fixed in, regressed, refused since."""
    from investigator.engines.registry import known
    from investigator.events import ignore
    from investigator.reports import timeline as shown
    from investigator.sources.open import Workspace, open_release
    from investigator.team import assembly
    from investigator.timeline import background, bounds, chosen, read

    data, talk = consoles(settings)
    first = first or known(engine).first
    bounds(first, last)
    variables, said = dict(map(assignment, environment)), dict(map(server_flag, flags))
    named = {draft: drafter(draft, target, method) for draft in drafts}
    if out is not None:
        require_writable(out)
    workspace = Workspace.open(cache_dir=settings.cache_dir, offline=settings.offline)
    timelines = []
    with workspace.transport:
        releases = chosen(workspace.index.releases(engine), first, last)
        for draft, repo in named.items():
            case = Case(
                engine=EngineSpec(EngineKind.RELEASE, releases[0].version, engine),
                draft=repo,
                target=RepoSpec.parse(target) if target else None,
                method=method,
                references=references,
                pull_requests=(),
                environment=variables,
                flags=said,
            )
            given = background(case, assembly(case, workspace, ignore).team)
            timelines.append(
                read(
                    engine,
                    releases,
                    lambda version: open_release(engine, version, workspace),
                    given,
                    workspace.store,
                    draft=draft,
                    deployment=case.deployment,
                    jobs=settings.jobs,
                    progress=lambda row: talk.print(f"{row.version} read", style="dim", highlight=False),
                )
            )
    if format_ == "table" and out is None:
        for made in timelines:
            data.print(shown.for_terminal(made))
    else:
        text = rendered(timelines, format_)
        if out is None:
            click.echo(text, nl=False)
        else:
            write_whole(out, text)
    read_all = all(row.unread is None for made in timelines for row in made.rows)
    return ExitCode.CLEAN if read_all else ExitCode.INCOMPLETE


def rendered(timelines: "Sequence[Timeline]", format_: str) -> str:
    """The timelines as a text in that format."""
    from investigator.reports import timeline, timeline_html

    formats = {"json": timeline.as_json, "html": timeline_html.render}
    return formats.get(format_, timeline.as_markdown)(timelines)
