"""``investigate compare``: one drafter, two engines, promise by promise."""

from pathlib import Path

import click

from investigator.case import DEFAULT_DRAFT, DEFAULT_REFERENCES, Case, EngineSpec, RepoSpec
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
from investigator.outcome import FailOn, reaches
from investigator.settings import Settings


@click.command("compare", short_help="Two engines side by side.")
@click.argument("engine_a", metavar="ENGINE_A")
@click.argument("engine_b", metavar="ENGINE_B")
@click.option(
    "--draft", default=DEFAULT_DRAFT, show_default=True, metavar="REPO", help="The drafter, as for run."
)
@click.option("--target", metavar="REPO", help="The target model.  [default: the one the drafter names]")
@method_option
@click.option("--reference", "references", multiple=True, default=DEFAULT_REFERENCES, help="As for run.")
@click.option(
    "--env", "environment", multiple=True, metavar="NAME=VALUE", help="As for run, for both engines."
)
@click.option(
    "--flag", "flags", multiple=True, metavar="NAME[=VALUE]", help="As for run, for the engines that know it."
)
@format_option("table", "markdown", "json")
@click.option("--out", type=UserPath(dir_okay=False), help="Write there instead.")
@click.option(
    "--fail-on",
    type=click.Choice([level.value for level in FailOn]),
    default=FailOn.BROKEN.value,
    show_default=True,
    help="Exit 1 when the engines differ in a promise, and one of them stands to it like this, or worse.",
)
@settings_options
def command(
    engine_a: str,
    engine_b: str,
    draft: str,
    target: str | None,
    method: str | None,
    references: tuple[str, ...],
    environment: tuple[str, ...],
    flags: tuple[str, ...],
    format_: str,
    out: Path | None,
    fail_on: str,
    settings: Settings,
) -> int:
    """Which engine keeps which promise, where they differ, and what makes them equal.

    ENGINE_A and ENGINE_B are NAME==VERSION, NAME for its newest release, path:DIR, git:URL@REF,
    installed, or python:PATH.
    """
    from investigator.reports import compare as shown
    from investigator.sources.open import Workspace
    from investigator.team import compared, pinned

    data, _ = consoles(settings)
    given = dict(assignment(text) for text in environment)
    said = dict(server_flag(text) for text in flags)
    cases = [
        Case(
            engine=EngineSpec.parse(engine),
            draft=drafter(draft, target, method),
            target=RepoSpec.parse(target) if target else None,
            method=method,
            references=references,
            pull_requests=(),
            environment=given,
            flags=said,
        )
        for engine in (engine_a, engine_b)
    ]
    if out is not None:
        require_writable(out)
    one, other = (pinned(case, settings) for case in cases)
    workspace = Workspace.open(cache_dir=settings.cache_dir, offline=settings.offline)
    with workspace.transport:
        found = compared(one, other, workspace)
    if format_ == "table" and out is None:
        data.print(shown.for_terminal(found))
    else:
        text = shown.as_json(found) if format_ == "json" else shown.as_markdown(found)
        if out is None:
            click.echo(text, nl=False)
        else:
            write_whole(out, text)
    level = FailOn(fail_on)
    for row in found.differences:
        if row.in_use and any(f is not None and reaches(f.verdict, level) for f in (row.a, row.b)):
            return ExitCode.FINDINGS
    return ExitCode.INCOMPLETE if found.undecided else ExitCode.CLEAN
