"""A validation up to its results: what to measure, where, and having it run."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from investigator.case import refuse_secret_variables
from investigator.errors import UsageError
from investigator.model import Json
from investigator.validation import prompts as prompt_rows
from investigator.validation.conclusion import read_experiment
from investigator.validation.cpu_engine import CPU_REQUIREMENT, cpu_environment
from investigator.validation.emit import Experiment, Repair, emit, read_variants
from investigator.validation.extras import MEASURING, require
from investigator.validation.from_run import RunRecord
from investigator.validation.launchers.interface import Destination, Launcher, Say, Where
from investigator.validation.pair import Pair
from investigator.validation.plan import (
    CPU,
    CPU_ENGINE,
    GPU,
    GPU_REFERENCE,
    MODELLED,
    Kind,
    Place,
    Plan,
    Workload,
    engine_variants,
    make_plan,
    reference_variants,
)

if TYPE_CHECKING:
    from investigator.sources.interface import Tree

FOLDER = "validation"
"""The experiment's folder inside a run folder."""

DEFAULT_FAULTS = ("target-layer-offset", "layer-types")
"""What ``--on cpu`` switches on when there is no run to take findings from."""

_PLACES: Mapping[Where, Mapping[Kind, Place]] = {
    Where.CPU: {Kind.ENGINE: CPU, Kind.REFERENCE: CPU},
    Where.CPU_ENGINE: {Kind.ENGINE: CPU_ENGINE, Kind.REFERENCE: CPU},
}
_ON_GPU = {Kind.ENGINE: GPU, Kind.REFERENCE: GPU_REFERENCE}

_GPU_OPTIONS: Mapping[str, Json] = {
    # DFlash needs attention that is not causal; this backend has it in every release so far.
    "attention_backend": "FLASH_ATTN",
}
_CPU_ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for. ``prompts`` and the token counts None: what suits the pair."""

    pair: Pair
    on: Destination
    run: RunRecord | None = None
    prompts: int | None = None
    prompt_file: Path | None = None
    prompt_tokens: int | None = None
    new_tokens: int | None = None
    budget: float | None = None
    python: str | None = None
    parallel: int | None = None
    time_limit: float = 600.0
    repairs: tuple[str, ...] = ()
    """Contracts to repair; empty: every patch of the run."""
    options: Mapping[str, Json] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises UsageError for an environment variable that is named like a secret."""
        refuse_secret_variables(self.environment)


def plan_of(request: Request) -> Plan:
    """The variants with what they cost, nothing read or run. Raises UsageError."""
    pair = request.pair
    work = Workload(
        prompts=request.prompts or pair.prompts,
        prompt_tokens=request.prompt_tokens or pair.prompt_tokens,
        new_tokens=request.new_tokens or pair.new_tokens,
        weight_bytes=pair.weight_bytes,
        speculative_tokens=pair.speculative_tokens,
    )
    if request.on.where is Where.CPU:
        if not pair.local:
            raise UsageError(
                "the reference needs the pair's files here", "give --pair as two folders, or --pair micro"
            )
        broken = _to_model(request.run) if request.run else DEFAULT_FAULTS
        variants = reference_variants(broken)
    else:
        if request.run is None and request.on.where is not Where.CPU_ENGINE:
            raise UsageError(
                "which engine, and which patches?", "give the run folder that 'investigate run' wrote"
            )
        broken = _to_model(request.run) if request.run else ()
        variants = engine_variants([r.contract for r in _repairs(request)], pair.local, broken)
    plan = make_plan(variants, work, _PLACES.get(request.on.where, _ON_GPU), request.budget)
    return plan if request.parallel is None else replace(plan, parallel=request.parallel)


def experiment_of(request: Request) -> Experiment:
    """The experiment, with its prompts. Raises UsageError, IncompleteError."""
    plan, pair, run = plan_of(request), request.pair, request.run
    if request.prompt_file is not None:
        prompts = prompt_rows.read_prompts(request.prompt_file, pair)[: request.prompts]
    else:
        prompts = prompt_rows.make_prompts(
            pair, request.prompts or pair.prompts, request.prompt_tokens or pair.prompt_tokens
        )
    on_cpu = request.on.where in (Where.CPU, Where.CPU_ENGINE)
    options: dict[str, Json] = {} if on_cpu else dict(_GPU_OPTIONS)
    if not on_cpu and plan.parallel > 1 and pair.weight_bytes and pair.weight_bytes < 1 << 30:
        # Several engines share the GPU: each takes what it is given, not a share of what is free.
        options |= {"kv_cache_memory_bytes": 2 << 30, "gpu_memory_utilization": 0.06}
    engine_asked = request.on.where is not Where.CPU
    requirement = run.engine if run else None
    if request.on.where is Where.CPU_ENGINE:
        requirement = CPU_REQUIREMENT
    return Experiment(
        plan=plan,
        pair=pair,
        prompts=prompts,
        new_tokens=request.new_tokens or pair.new_tokens,
        engine=requirement if engine_asked else None,
        package=run.engine.partition("==")[0] if run and "==" in run.engine else "vllm",
        repairs=_repairs(request) if engine_asked else (),
        options={**options, **(run.options if run and engine_asked else {}), **request.options},
        environment=environment_of(request),
        broken=tuple(run.broken) if run else () if engine_asked else DEFAULT_FAULTS,
        investigated=investigated(run, pair) if run else None,
        place=str(request.on.where),
        reference_device="cpu" if on_cpu else "cuda",
        reference_dtype="float32" if on_cpu else "bfloat16",
        time_limit=request.time_limit,
    )


def environment_of(request: Request) -> dict[str, str]:
    """What is set for the engine: what the findings hold for, what the place needs, what was asked."""
    held = dict(request.run.environment) if request.run else {}
    needed = _CPU_ENVIRONMENT if request.on.where is Where.CPU_ENGINE else {}
    return {**held, **needed, **request.environment}


def investigated(run: RunRecord, pair: Pair) -> str:
    """The drafter that the findings are about: the pair's name where it is the pair's own."""
    kind, colon, folder = run.draft.partition(":")
    if pair.local and colon and kind == "path" and Path(folder).resolve() == Path(pair.draft).resolve():
        return pair.name
    return run.draft


def prepare(experiment: Experiment, folder: Path, tree: "Tree | None") -> Path:
    """Write the experiment, or keep the folder when it holds the same one, with its results."""
    fresh = folder.with_name(folder.name + ".part")
    shutil.rmtree(fresh, ignore_errors=True)
    emit(experiment, fresh, tree)
    known = folder / "experiment.json"
    if known.is_file() and known.read_bytes() == (fresh / "experiment.json").read_bytes():
        shutil.rmtree(fresh)
        return folder
    if folder.exists():
        if any(folder.iterdir()) and not known.is_file():
            raise UsageError(f"{folder} is not empty and holds no experiment", "name another folder")
        shutil.rmtree(folder)
    fresh.rename(folder)
    return folder


def launcher_of(request: Request, cache: Path, say: Say) -> Launcher:
    """Who executes the folder. ``cache`` is where an environment for the CPU engine is kept."""
    from investigator.validation.launchers.local import LocalLauncher

    on, python = request.on, request.python or request.on.python
    match on.where:
        case Where.SSH:
            from investigator.validation.launchers.ssh import SshLauncher

            return SshLauncher(host=on.host, port=on.port, python=python or "python3")
        case Where.SLURM:
            from investigator.validation.launchers.slurm import SlurmLauncher

            partition = (("slurm_partition", on.host),) if on.host else ()
            return SlurmLauncher(python=python or sys.executable, parameters=partition + on.options)
        case Where.RAY:
            from investigator.validation.launchers.ray import RayLauncher

            return RayLauncher(address=on.host, python=python or "python")
        case Where.CPU_ENGINE:
            chosen = python or str(cpu_environment(cache, say))
            return LocalLauncher(python=chosen, parallel=request.parallel or 1)
        case _:
            if on.where is Where.CPU and python is None:
                require("validate", *MEASURING, what="the reference on this machine")
            return LocalLauncher(python=python or sys.executable, parallel=request.parallel)


def execute(launcher: Launcher, folder: Path, say: Say) -> None:
    """Have every variant of the folder run."""
    names = [variant.name for variant in read_variants(read_experiment(folder))]
    launcher.run(folder, names, say)


def _repairs(request: Request) -> tuple[Repair, ...]:
    if request.run is None:
        return ()
    known = {repair.contract: repair for repair in request.run.repairs}
    unknown = [contract for contract in request.repairs if contract not in known]
    if unknown:
        raise UsageError(
            f"this run has no patch for {', '.join(unknown)}", f"it has: {', '.join(known) or 'none'}"
        )
    return tuple(r for c, r in known.items() if not request.repairs or c in request.repairs)


def unmodelled(request: Request) -> dict[str, str]:
    """Broken contracts whose fault the reference cannot be run with, and why: ``--on cpu`` says nothing of
    them."""
    found = {}
    for contract in request.run.broken if request.run else ():
        if contract not in MODELLED:
            found[contract] = "it does not change what one request drafts"
        elif request.run and contract in request.run.otherwise:
            found[contract] = "it is broken in another way than the reference can be run with"
    return found


def _to_model(run: RunRecord) -> tuple[str, ...]:
    """Broken contracts whose fault the reference may be run with."""
    return tuple(contract for contract in run.broken if contract not in run.otherwise)
