"""Which model runner a case uses when nobody sets anything."""

from dataclasses import replace

from investigator.code import lazy
from investigator.code.interpreter import Frame
from investigator.code.trace import Event, Happening
from investigator.code.values import BudgetSpent, ClassValue, Raised, find_unknown
from investigator.engines.interface import RunnerChoice, Step
from investigator.engines.vllm.world import RUNNER_VARIABLE, Session, World
from investigator.model import Runner

WORKER = "vllm/v1/worker/gpu_worker.py"
FLAG = "use_v2_model_runner"


def choice(world: World) -> RunnerChoice:
    """Which runner this case uses by default: the worker's own flag, followed to its value."""
    session = world.start()
    interp = session.interp
    worker = session.class_named("Worker", WORKER)
    if worker is None:
        return RunnerChoice(runner=None, why="no class Worker that picks a model runner was found")
    made = lazy.instance(interp, worker, session.supply)
    try:
        value = interp.attribute_or_missing(_frame(session, worker), worker.node, made, FLAG)
    except (Raised, BudgetSpent) as error:
        return RunnerChoice(runner=None, why=f"the runner's choice could not be followed: {error}")
    steps = _choice_steps(session)
    if value is NotImplemented:
        return RunnerChoice(runner=Runner.V1, why=f"{worker.name} knows one runner only", steps=steps)
    truth = interp.truth(value)
    if truth is None:
        return RunnerChoice(runner=None, why=f"not decided: {find_unknown(value)}", steps=steps)
    runner = Runner.V2 if truth else Runner.V1
    return RunnerChoice(runner=runner, why=_why(session), steps=steps)


def _frame(session: Session, cls: ClassValue) -> Frame:
    return Frame(session.interp.globals_of(cls.module))


def _choice_steps(session: Session) -> tuple[Step, ...]:
    """The last return that decided: of the flag's property, else of the variable's default."""
    trace = session.interp.trace
    returned = _flag_returned(session)
    if returned is not None:
        decisive = _decisive(session, returned)
        taken = decisive is not None and decisive.value and decisive.place.end_line == returned.place.line - 1
        place = replace(returned.place, line=decisive.place.line) if decisive and taken else returned.place
        return (Step(place, f"{returned.name} is {returned.value}"),)
    read = trace.last(Happening.RETURN, lambda e: "envs" in e.place.path)
    steps = [Step(read.place, f"{RUNNER_VARIABLE} decides")] if read is not None else []
    return tuple(steps)


def _why(session: Session) -> str:
    if RUNNER_VARIABLE in session.interp.environment:
        return f"{RUNNER_VARIABLE}={session.interp.environment[RUNNER_VARIABLE]} is set"
    returned = _flag_returned(session)
    if returned is None:
        return f"{RUNNER_VARIABLE} is not set, and this is its default"
    decisive = _decisive(session, returned)
    condition = f", since {_read_as(decisive)}" if decisive is not None else ""
    return f"VllmConfig.{FLAG} picks it{condition}; {RUNNER_VARIABLE} overrides it"


def _read_as(branch: Event) -> str:
    """What a branch was taken for: its condition, and whether it held."""
    condition = f"`{' '.join(branch.name.split())}`"
    return f"{condition} holds" if branch.value is True else f"{condition} does not hold"


def _flag_returned(session: Session) -> Event | None:
    return session.interp.trace.last(Happening.RETURN, lambda e: e.name.endswith(f".{FLAG}"))


def _decisive(session: Session, returned: Event) -> Event | None:
    """The last condition that was decided before the flag's property returned."""
    branches = [
        event
        for event in session.interp.trace.of(Happening.BRANCH)
        if event.stack[:-1] == returned.stack[:-1] and event.place.path == returned.place.path
    ]
    return branches[-1] if branches else None
