"""Which model runner a case uses, and whether a runner takes the method at all."""

import re
from dataclasses import dataclass, replace

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.interpreter import Frame
from investigator.code.local_bindings import parameters_of
from investigator.code.syntax import Place, descendants, enclosing, field, text
from investigator.code.trace import Event, Happening
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    ExceptionValue,
    FunctionValue,
    Raised,
    find_unknown,
)
from investigator.engines.interface import RunnerChoice, Step, Told
from investigator.engines.vllm.refusal import is_deliberate
from investigator.engines.vllm.world import RUNNER_VARIABLE, Session, World
from investigator.model import NotKnown, Runner, Unsupported

WORKER = "vllm/v1/worker/gpu_worker.py"
FLAG = "use_v2_model_runner"


@dataclass(frozen=True)
class Admission:
    """Whether the config's checks let a case through on a runner.

    ``reasons``: what the check lists as not supported; empty when it lets the case through.
    ``unknown``: why it could not be decided.
    """

    reasons: tuple[str, ...] = ()
    error: str | None = None
    place: Place | None = None
    unknown: str | None = None

    def method_refused(self, method: str) -> str | None:
        """The listed reason that names the speculative method, if any."""
        return next((reason for reason in self.reasons if re.search(rf"['\"]{method}['\"]", reason)), None)


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
    returned = trace.last(Happening.RETURN, lambda e: e.name.endswith(f".{FLAG}"))
    if returned is not None:
        return (Step(returned.place, f"{returned.name} is {returned.value}"),)
    read = trace.last(Happening.RETURN, lambda e: "envs" in e.place.path)
    steps = [Step(read.place, f"{RUNNER_VARIABLE} decides")] if read is not None else []
    return tuple(steps)


def _why(session: Session) -> str:
    trace = session.interp.trace
    if RUNNER_VARIABLE in session.interp.environment:
        return f"{RUNNER_VARIABLE}={session.interp.environment[RUNNER_VARIABLE]} is set"
    returned = trace.last(Happening.RETURN, lambda e: e.name.endswith(f".{FLAG}"))
    if returned is None:
        return f"{RUNNER_VARIABLE} is not set, and this is its default"
    branches = [
        event
        for event in trace.of(Happening.BRANCH)
        if event.stack[:-1] == returned.stack[:-1] and event.place.path == returned.place.path
    ]
    decisive = branches[-1] if branches else None
    condition = f", since {_read_as(decisive)}" if decisive is not None else ""
    return f"VllmConfig.{FLAG} picks it{condition}; {RUNNER_VARIABLE} overrides it"


def _read_as(branch: Event) -> str:
    """What a branch was taken for: its condition, and whether it held."""
    condition = f"`{' '.join(branch.name.split())}`"
    return f"{condition} holds" if branch.value is True else f"{condition} does not hold"


def admission(world: World, runner: Runner) -> Admission:
    """Put the case to the checks that the config runs for this runner."""
    return world.program.shared(
        f"admission {runner.value} {world.identity}",
        lambda program: _admission(replace(world, program=program), runner),
    )


def _admission(world: World, runner: Runner) -> Admission:
    session = world.start(runner, follow=frozenset())
    interp = session.interp
    cls = session.vllm_config.cls
    if cls is None:
        return Admission(unknown="no class VllmConfig was found")
    check = classes.class_attribute(interp, cls, "__post_init__")
    if not isinstance(check, FunctionValue):
        return Admission()
    for call in _runner_checks(check):
        runs = lazy.reached(interp, check, call, session.vllm_config, session.supply)
        if runs is False:
            continue
        method = classes.class_attribute(interp, cls, text(field(field(call, "function"), "attribute")))
        if not isinstance(method, FunctionValue):
            continue
        try:
            interp.enter(method, (session.vllm_config,), {})
        except Raised as raised:
            if runs is None or not is_deliberate(interp.program, raised):
                return Admission(unknown=f"whether {check.qualified_name} ends in {raised}")
            reasons = tuple(
                event.value for event in interp.trace.of(Happening.APPEND) if isinstance(event.value, str)
            )
            place = _reason_place(session, world.checkpoint.method) or raised.stack[-1]
            return Admission(reasons or (raised.error.message,), str(raised), place)
        except BudgetSpent as spent:
            return Admission(unknown=str(spent))
        undecided = _undecided(session)
        if undecided is not None:
            return Admission(unknown=undecided)
    return Admission()


def unsupported(world: World, runner: Runner) -> Told | None:
    """The answer where a runner's config check does not take the method; None where it does."""
    found = admission(world, runner)
    if found.unknown is not None:
        return Told(outcome=NotKnown(f"whether runner {runner.value} takes it: {found.unknown}"))
    refused = found.method_refused(world.checkpoint.method)
    if refused is None or found.place is None:
        return None
    step = Step(found.place, f"the config check of runner {runner.value} lists the method")
    return Told(outcome=Unsupported(f"runner {runner.value} does not take it: {refused}"), steps=(step,))


def _undecided(session: Session) -> str | None:
    """Why the check's outcome is open: a raise was left out and a listed reason is this method's."""
    trace = session.interp.trace
    assumed = list(trace.of(Happening.ASSUME))
    named = [e for e in trace.of(Happening.APPEND) if isinstance(e.value, str)]
    if not assumed or not named:
        return None
    error = assumed[-1].value
    if not isinstance(error, ExceptionValue):
        return "its config check may raise"
    missing = next(filter(None, map(find_unknown, error.args)), None)
    return f"its config check may raise {error.name}" + (f": {missing.reason}" if missing else "")


def _reason_place(session: Session, method: str) -> Place | None:
    for event in session.interp.trace.of(Happening.APPEND):
        if isinstance(event.value, str) and method in event.value:
            return event.place
    return None


def _runner_checks(check: FunctionValue) -> list[Node]:
    """``self.NAME()`` statements that run under a condition about the runner."""
    found = []
    receiver = next(parameters_of(check.node))[0]
    for call in descendants(field(check.node, "body"), "call"):
        callee = field(call, "function")
        if callee.type != "attribute" or text(field(callee, "object")) != receiver:
            continue
        around = enclosing(call, "if_statement")
        while around is not None:
            if "v2_model_runner" in text(field(around, "condition")).lower():
                found.append(call)
                break
            around = enclosing(around, "if_statement")
    return found
