"""``investigate triage``: what a symptom says by itself, without an investigation."""

import json
from typing import TYPE_CHECKING

import click

from investigator.commands.options import consoles, format_option, settings_options
from investigator.errors import ExitCode
from investigator.settings import Settings

if TYPE_CHECKING:
    from investigator.commands.symptom import Seen


@click.command("triage", short_help="Is it the drafter or the engine?")
@click.argument("file", metavar="[FILE|-]", default="-")
@format_option("text", "markdown", "json")
@settings_options
def command(file: str, format_: str, settings: Settings) -> int:
    """Is it the drafter or the engine? Read what a deployment printed, and judge by that alone.

    FILE is a log, /metrics text, benchmark output or JSON, a command line, or several of them
    in one; - is standard input. Nothing is fetched. Exit code 3 when it is not enough to judge.

    \b
    Examples:
      investigate triage vllm.log
      curl -s localhost:8000/metrics | investigate triage
      investigate --symptom vllm.log        the same, then what the engine really does
    """
    from investigator.case import DEFAULT_DRAFT, DEFAULT_ENGINE, Case, EngineSpec, RepoSpec
    from investigator.commands.run import repeated
    from investigator.commands.symptom import read
    from investigator.reports.triage_section import as_json, markdown_section, plain_lines
    from investigator.triage import Answer

    data, talk = consoles(settings)
    seen = read(file, Case(engine=EngineSpec.parse(DEFAULT_ENGINE), draft=RepoSpec.parse(DEFAULT_DRAFT)))
    match format_:
        case "json":
            click.echo(json.dumps(as_json(seen.triage, notes=seen.notes), indent=2))
        case "markdown":
            click.echo(markdown_section(seen.triage), nl=False)
        case _:
            for line in plain_lines(seen.triage):
                data.print(line, soft_wrap=True)
    if _names_the_case(seen):
        talk.print(f"\nto see what the engine does:  {repeated(seen.case, file)}", soft_wrap=True)
    return ExitCode.INCOMPLETE if seen.triage.answer is Answer.UNKNOWN else ExitCode.CLEAN


def _names_the_case(seen: "Seen") -> bool:
    """Whether engine and drafter are named, so that nothing would be assumed."""
    return all(seen.triage.symptom.setting(name) for name in ("version", "draft"))
