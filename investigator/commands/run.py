"""``investigate run``: the four agents, the report, the patches."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from investigator.case import DEFAULT_PULL_REQUESTS, DEFAULT_REFERENCES, Case, EngineKind
from investigator.commands.options import case_options, consoles, given_options, settings_options
from investigator.commands.parameters import Seconds, UserPath
from investigator.errors import ExitCode
from investigator.model import AgentStatus, Investigation, Runner
from investigator.outcome import FailOn, exit_code
from investigator.reports.escape import visible
from investigator.reports.formats import BY_DEFAULT, FORMATS
from investigator.settings import Settings, Verbosity

if TYPE_CHECKING:
    from investigator.commands.symptom import Seen
    from investigator.reports.triage_section import Opening
    from investigator.run_folder import RunFolder


@click.command("run", short_help="The four agents, the report, proven patches.")
@case_options
@click.option(
    "--symptom",
    metavar="FILE|-",
    help="What the deployment printed: a log, /metrics, benchmark output, its command line. What is not "
    "given by an option is taken from it, and the report opens with: is it the drafter or the engine?",
)
@click.option(
    "--runner",
    type=click.Choice(["auto", *(runner.value for runner in Runner)]),
    default="auto",
    show_default=True,
    help="Whose findings decide the exit code; auto: the runner this case uses by default.",
)
@click.option("--plan", is_flag=True, help="Print which question goes to which agent, and stop.")
@click.option(
    "--out",
    type=UserPath(),
    metavar="DIR",
    help="The run folder.  [default: runs/<time>-<case>]",
)
@click.option(
    "--upstream",
    is_flag=True,
    help="Write the patches as for a pull request: each with a regression test, where that needs no GPU.",
)
@click.option(
    "--format",
    "formats",
    type=click.Choice(list(FORMATS)),
    multiple=True,
    help="Reports to write, several times; one alone goes to standard output too."
    f"  [default: {', '.join(BY_DEFAULT)}]",
)
@click.option(
    "--fail-on",
    type=click.Choice([level.value for level in FailOn]),
    help="From which verdict on findings fail the command.  [default: broken; never with --format sarif]",
)
@click.option(
    "--baseline",
    type=UserPath(dir_okay=False),
    metavar="FILE",
    help="An earlier investigation.json whose findings are known and do not fail the command.",
)
@click.option(
    "--deadline", type=Seconds(min=0.1), default=600.0, show_default=True, help="Seconds, per agent."
)
@settings_options
def command(
    case: Case,
    settings: Settings,
    symptom: str | None,
    runner: str,
    plan: bool,
    out: Path | None,
    upstream: bool,
    formats: tuple[str, ...],
    fail_on: str | None,
    baseline: Path | None,
    deadline: float,
) -> int:
    """Send the four agents out, report what they found, write proven patches."""
    from investigator.team import assemble, pinned, questions

    if plan:
        return _print_plan(case, settings)

    from investigator.baseline import read_baseline, with_accepted
    from investigator.conduct import conduct
    from investigator.log import EventLog
    from investigator.reports.live import show_progress
    from investigator.run_folder import open_run_folder

    known = read_baseline(baseline) if baseline else None
    _, talk = consoles(settings)
    seen: Seen | None = None
    if symptom:
        from investigator.commands.symptom import read

        seen = read(symptom, case, given_options())
        case = seen.case
        for note in seen.notes:
            talk.print(visible(f"symptom: {note}"), soft_wrap=True)
    case = pinned(case, settings)
    verbose = settings.verbosity is Verbosity.VERBOSE
    with open_run_folder(out, f"{case.engine} {case.draft}") as folder, folder.log() as stream:
        log = EventLog(stream)
        with assemble(case, settings, log, upstream=upstream) as assembly:
            names = [agent.name for agent in assembly.team.agents]
            engine = (assembly.team.engine.name,)
            plan_of = {contract: question.asked for contract, question in questions(engine).items()}
            with show_progress(talk, names, plan_of, verbose=verbose) as show:
                log.follow(show)
                done = conduct(
                    case,
                    assembly,
                    sink=log,
                    deadline=deadline,
                    jobs=settings.jobs,
                    command=repeated(case, symptom, upstream=upstream),
                )
        found = with_accepted(done.investigation, known) if known else done.investigation
        if seen is not None:
            found = seen.told(found)
        opening = seen.opening(found) if seen else None
        _write(folder, found, opening, formats or BY_DEFAULT)
    _tell(folder, found, seen, formats, settings, interrupted=done.interrupted)
    if done.interrupted:
        return ExitCode.INTERRUPTED
    level = FailOn(fail_on) if fail_on else FailOn.NEVER if "sarif" in formats else FailOn.BROKEN
    return exit_code(found, level, runner=None if runner == "auto" else Runner(runner))


def repeated(case: Case, symptom: str | None = None, *, upstream: bool = False) -> str:
    """The command line that investigates the same case again."""
    words = ["investigate", "run", "--engine", str(case.engine), "--draft", str(case.draft)]
    words += ["--target", str(case.target)] if case.target else []
    words += ["--method", case.method] if case.method else []
    for option, values, default in (
        ("--reference", case.references, DEFAULT_REFERENCES),
        ("--pull-request", case.pull_requests, DEFAULT_PULL_REQUESTS),
    ):
        words += [word for value in values for word in (option, value)] if values != default else []
    words += ["--block-size", str(case.block_size)] if case.block_size else []
    for name, value in case.environment.items():
        words += ["--env", f"{name}={value}"]
    for name, value in case.flags.items():
        words += ["--flag", f"{name.removeprefix('--')}={value}" if value else name.removeprefix("--")]
    words += ["--symptom", symptom] if symptom not in (None, "-") else []
    words += ["--upstream"] if upstream else []
    return shlex.join(words)


def _write(
    folder: "RunFolder", investigation: Investigation, opening: "Opening | None", formats: Sequence[str]
) -> None:
    from investigator.patches.combination import patch_bytes

    folder.write_patches({patch.name: patch_bytes(patch) for patch in investigation.patches})
    for name in dict.fromkeys(("json", *formats)):
        folder.write(FORMATS[name].file, FORMATS[name].render(investigation, opening))


def _tell(
    folder: "RunFolder",
    investigation: Investigation,
    seen: "Seen | None",
    formats: Sequence[str],
    settings: Settings,
    *,
    interrupted: bool,
) -> None:
    """One format alone goes to standard output, and then the verdicts to standard error."""
    from investigator.reports.github import append_step_summary
    from investigator.reports.terminal import print_verdicts

    data, talk = consoles(settings)
    alone = len(formats) == 1
    if alone:
        click.echo((folder.path / FORMATS[formats[0]].file).read_text(encoding="utf-8"), nl=False)
    if seen is not None:
        for line in (*seen.brief(investigation), ""):
            (talk if alone else data).print(line, soft_wrap=True)
    print_verdicts(talk if alone else data, investigation)
    on_github = os.environ.get("GITHUB_ACTIONS") == "true"
    if on_github:
        append_step_summary(investigation, seen.opening(investigation) if seen else None)
    if on_github and not alone:
        click.echo(FORMATS["github"].render(investigation), nl=False)
    if interrupted:
        click.echo("investigate: interrupted; this is what was found so far", err=True)
    for agent in () if interrupted else investigation.agents:
        if agent.status is AgentStatus.FAILED:
            click.echo(visible(f"investigate: error: agent {agent.name} failed: {agent.error}"), err=True)
    talk.print(f"\nwritten to {visible(str(folder.path))}", soft_wrap=True)
    if investigation.patches:
        names = ", ".join(patch.name for patch in investigation.patches)
        talk.print(visible(f"proven patches in {folder.path / 'patches'}: {names}"), soft_wrap=True)
        run = shlex.quote(str(folder.path))
        on, beside = f"apply {run} --to", f"overlay {run} --out patched --base"
        talk.print(visible(f"to put them on an engine: investigate {on} python:PATH"), soft_wrap=True)
        talk.print(visible(f"or beside it, untouched: investigate {beside} python:PATH"), soft_wrap=True)


def _print_plan(case: Case, settings: Settings) -> int:
    from rich.table import Table

    from investigator.engines.registry import names
    from investigator.team import questions

    data, _ = consoles(settings)
    engines = (case.engine.name,) if case.engine.kind in (EngineKind.RELEASE, EngineKind.NEWEST) else names()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("contract", "promise", "asked of"):
        table.add_column(heading)
    for contract, question in questions(engines).items():
        table.add_row(contract, question.promise, ", ".join(question.asked))
    data.print(table)
    return ExitCode.CLEAN
