"""``investigate validate``: acceptance length before and after, per repair and together."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from investigator.commands.options import assignment, consoles, settings_options
from investigator.commands.output import require_folder, writing
from investigator.commands.parameters import Seconds, UserPath
from investigator.errors import ExitCode, UsageError
from investigator.model import Json
from investigator.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from investigator.validation.assess import Assessment
    from investigator.validation.launchers.interface import Destination
    from investigator.validation.plan import Plan
    from investigator.validation.service import Request

EXAMPLES = """\
\b
Examples:
  investigate validate --on cpu
      what the offset and an ignored window cost, on the micro pair, in a minute
  investigate validate runs/2026-11-30-vllm --plan
  investigate validate runs/2026-11-30-vllm --pair tiny --python /opt/vllm/bin/python
  investigate validate runs/2026-11-30-vllm --pair Qwen/Qwen3-8B,z-lab/Qwen3-8B-DFlash-b16 \\
      --on 'ssh://me@gpu?python=/opt/vllm/bin/python' --budget 30m
  investigate validate runs/2026-11-30-vllm --pair tiny --emit experiment/
  investigate validate --collect experiment/
"""


@click.command("validate", epilog=EXAMPLES, short_help="Measure what each repair brings back.")
@click.argument("run", required=False, type=UserPath(exists=True, file_okay=False))
@click.option(
    "--on",
    "place",
    default="local",
    show_default=True,
    metavar="WHERE",
    help="local, cpu (reference semantics with each fault), cpu-engine, ssh://user@host[?python=PATH], "
    "slurm[://PARTITION], ray://host:port.",
)
@click.option(
    "--pair",
    metavar="PAIR",
    help="micro, micro-full, tiny (trained on a GPU in minutes, once), or TARGET,DRAFT: folders or Hub ids."
    "  [default: micro on a CPU, else tiny]",
)
@click.option("--plan", "plan_only", is_flag=True, help="Print the variants with time and memory, and stop.")
@click.option("--budget", metavar="TIME", help="Leave out what does not fit: 90s, 10m, 1h30m.")
@click.option("--emit", "emit_to", type=UserPath(), metavar="DIR", help="Write it, run nothing.")
@click.option(
    "--collect",
    type=UserPath(exists=True, file_okay=False),
    metavar="DIR",
    help="Read the results of an emitted experiment.",
)
@click.option(
    "--repair", "repairs", multiple=True, metavar="CONTRACT", help="Only these repairs, several times."
)
@click.option("--prompts", metavar="N|FILE", help="How many prompts, or a JSON list of texts or token ids.")
@click.option("--prompt-tokens", type=click.IntRange(1), help="Tokens per prompt.")
@click.option("--new-tokens", type=click.IntRange(2), help="Tokens to generate per prompt.")
@click.option(
    "--python", metavar="PATH", help="The interpreter that imports the engine.  [default: this one]"
)
@click.option("--parallel", type=click.IntRange(1, 64), help="Variants at once.  [default: what fits]")
@click.option("--time-limit", type=Seconds(1), default=600.0, show_default=True, help="Seconds, per variant.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=JSON",
    help="An engine option, several times: gpu_memory_utilization=0.8, enforce_eager=false (CUDA graphs; "
    "engines run eager else), attention_backend=TRITON_ATTN.",
)
@click.option(
    "--env",
    "environment",
    multiple=True,
    metavar="NAME=VALUE",
    help="An engine environment variable, besides those that RUN was given.",
)
@click.option("--out", type=UserPath(), metavar="DIR", help="Where the figures go.  [default: RUN]")
@settings_options
def command(
    run: Path | None,
    settings: Settings,
    place: str,
    pair: str | None,
    plan_only: bool,
    budget: str | None,
    emit_to: Path | None,
    collect: Path | None,
    repairs: tuple[str, ...],
    prompts: str | None,
    prompt_tokens: int | None,
    new_tokens: int | None,
    python: str | None,
    parallel: int | None,
    time_limit: float,
    options: tuple[str, ...],
    environment: tuple[str, ...],
    out: Path | None,
) -> int:
    """Measure what each repair brings back.

    As released, each repair alone, each left out, all together, speculation off, and the
    reference semantics, on the same prompts; with intervals, and held against the findings of
    RUN, a folder that 'investigate run' wrote. Nothing that is installed is changed.
    """
    from investigator.validation import service
    from investigator.validation.from_run import read_run
    from investigator.validation.launchers.interface import Destination
    from investigator.validation.pair import resolve_pair, train_in_process
    from investigator.validation.plan import parse_budget

    data, _ = consoles(settings)
    if collect is not None:
        require_folder(out or run or collect)
        return _conclude(data, collect, out or run or collect)
    into = out or run or Path("validation")
    if not plan_only:
        require_folder(emit_to or into)
    on = Destination.parse(place)
    count, file = _prompts(prompts)
    request = service.Request(
        pair=resolve_pair(
            pair or _pair_for(on), _cache(settings) / "pairs", train=None if plan_only else train_in_process
        ),
        on=on,
        run=read_run(run) if run else None,
        prompts=count,
        prompt_file=file,
        prompt_tokens=prompt_tokens,
        new_tokens=new_tokens,
        budget=parse_budget(budget) if budget else None,
        python=python,
        parallel=parallel,
        time_limit=time_limit,
        repairs=repairs,
        options={key: _json(value) for key, value in (assignment(text, "--option") for text in options)},
        environment=dict(map(assignment, environment)),
    )
    if plan_only:
        _print_plan(data, service.plan_of(request), request)
        return ExitCode.CLEAN
    return validate(request, settings, into, emit_to)


def validate(request: "Request", settings: Settings, out: Path, emit_to: Path | None) -> int:
    """Plan, prepare, execute, judge; or only prepare, with ``emit_to``."""
    from investigator.validation import service

    data, talk = consoles(settings)
    _print_plan(talk, service.plan_of(request), request)
    experiment = service.experiment_of(request)
    tree = None
    if experiment.repairs and request.run is not None:
        from investigator.case import EngineSpec
        from investigator.sources.open import Workspace, open_engine

        workspace = Workspace.open(cache_dir=settings.cache_dir, offline=settings.offline)
        tree = open_engine(EngineSpec.parse(request.run.engine), workspace)
    if emit_to is not None:
        from investigator.validation.emit import emit

        with writing(emit_to):
            emit(experiment, emit_to, tree)
        talk.print(f"written to {emit_to}; run 'python run.py' there, then --collect {emit_to}")
        return ExitCode.CLEAN
    with writing(out):
        folder = service.prepare(experiment, out / service.FOLDER, tree)
    launcher = service.launcher_of(request, _cache(settings), talk.print)
    service.execute(launcher, folder, talk.print)
    return _conclude(data, folder, out)


def _pair_for(on: "Destination") -> str:
    """What runs there without being asked: vLLM's CPU build refuses mixed drafters."""
    return {"cpu": "micro", "cpu-engine": "micro-full"}.get(on.where, "tiny")


def _conclude(data: "Console", folder: Path, out: Path) -> int:
    from investigator.validation import conclusion

    assessment, document = conclusion.collect(folder)
    with writing(out):
        conclusion.write(assessment, document, out)
    _into_reports(assessment, out)
    _print(data, assessment)
    data.print(f"\nwritten to {out}: validation.json, validation.md, acceptance-length.svg, by-position.svg")
    conclusion.conclude(assessment)
    return ExitCode.CLEAN


def _into_reports(assessment: "Assessment", out: Path) -> None:
    """Complete the reports of the run in ``out``, where there are any."""
    from investigator.reports import measured
    from investigator.run_folder import RunFolder

    for name, put in (("report.md", measured.into_markdown), ("report.html", measured.into_html)):
        if (out / name).is_file():
            RunFolder(out).write(name, put((out / name).read_text(encoding="utf-8"), assessment))


def _print(data: "Console", assessment: "Assessment") -> None:
    from rich.table import Table

    from investigator.reports.escape import visible
    from investigator.validation.report_section import TABLE, cells
    from investigator.validation.sentences import sentences

    table = Table(box=None, pad_edge=False)
    for name in TABLE:
        table.add_column(name, overflow="fold")
    for figures in assessment.figures:
        table.add_row(*(visible(cell) for cell in cells(figures)))
    data.print(table)
    data.print()
    for sentence in sentences(assessment):
        data.print(visible(sentence))


def _print_plan(console: "Console", plan: "Plan", request: "Request") -> None:
    from rich.table import Table

    from investigator.validation.service import unmodelled

    table = Table(box=None, pad_edge=False)
    for name in ("variant", "runs on", "repaired", "faults on", "about", "memory"):
        table.add_column(name)
    for variant in plan.variants:
        cost = plan.estimates[variant.name]
        table.add_row(
            variant.name,
            variant.kind,
            ", ".join(variant.repaired),
            ", ".join(variant.faults),
            f"{cost.seconds:.0f} s",
            f"{cost.memory_bytes / 2**30:.1f} GiB",
        )
    console.print(table)
    at_once = f", {plan.parallel} at once" if plan.parallel > 1 else ""
    console.print(f"{request.pair.name} on {request.on.where}: about {plan.seconds:.0f} s{at_once}")
    if plan.cut:
        console.print(f"left out to fit the budget: {', '.join(plan.cut)}")
    silent = unmodelled(request) if request.on.where == "cpu" else {}
    for contract, why in silent.items():
        console.print(f"no prediction for {contract}: {why}")


def _prompts(text: str | None) -> tuple[int | None, Path | None]:
    if text is None:
        return None, None
    if text.isdigit():
        if not 1 <= int(text) <= 10_000:
            raise UsageError(f"{text} prompts", "give 1 to 10,000")
        return int(text), None
    return None, Path(text)


def _json(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _cache(settings: Settings) -> Path:
    from investigator.sources.store import default_root

    return settings.cache_dir or default_root()
