"""Whether a model runner takes a case at all, by the checks that the engine's config runs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.local_bindings import parameters_of
from investigator.code.program import Module
from investigator.code.syntax import Place, descendants, enclosing, field, text
from investigator.code.trace import Happening
from investigator.code.values import (
    BudgetSpent,
    FunctionValue,
    Raised,
)
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import is_deliberate
from investigator.engines.vllm import roles
from investigator.engines.vllm.world import Session, World
from investigator.model import NotKnown, Runner, Unsupported


@dataclass(frozen=True)
class Reason:
    """One thing that a runner's config check does not support, and the places that list it: the
    condition and the line under it."""

    text: str
    places: tuple[Place, ...] = ()

    @property
    def about_windows(self) -> bool:
        """Whether only a drafter whose layers attend differently is meant."""
        return "sliding" in self.text


@dataclass(frozen=True)
class Admission:
    """Whether the config's checks let a case through on a runner.

    ``reasons``: what the check surely lists as not supported; empty when it lets the case through.
    ``unknown``: why it could not be decided; ``windows_unknown``: why it could not be decided for a
    drafter whose layers may attend differently.
    """

    reasons: tuple[Reason, ...] = ()
    error: str | None = None
    unknown: str | None = None
    windows_unknown: str | None = None

    def turning_away(self, method: str) -> Reason | None:
        """The reason for which the runner does not take this drafter at all, however its layers
        attend: the one that names its method, else the first."""
        named = (r for r in self.reasons if re.search(rf"['\"]{method}['\"]", r.text))
        others = (r for r in self.reasons if not r.about_windows)
        return next(named, None) or next(others, None)

    @property
    def windows(self) -> Reason | None:
        """The reason for which a mixed drafter is refused."""
        return next((reason for reason in self.reasons if reason.about_windows), None)


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
            reasons = tuple(_reasons(session)) or (Reason(raised.error.message, (raised.stack[-1],)),)
            return Admission(reasons, str(raised))
        except BudgetSpent as spent:
            return Admission(unknown=str(spent))
        maybe = _undecided(session)
        if (others := [reason for reason in maybe if not reason.about_windows]) or maybe:
            said = f"the check may list {', '.join(repr(reason.text) for reason in others or maybe)}"
            return Admission(unknown=said if others else None, windows_unknown=said)
    return Admission()


def unsupported(world: World, runner: Runner) -> Told | None:
    """The answer where a runner's config check does not take the method; None where it does."""
    found = admission(world, runner)
    if found.unknown is not None:
        return Told(outcome=NotKnown(f"whether runner {runner.value} takes it: {found.unknown}"))
    refused = found.turning_away(world.checkpoint.method)
    if refused is None:
        return world.program.shared(
            f"registered {world.identity}", lambda program: _unregistered(replace(world, program=program))
        )
    steps = listed(refused, runner)
    return Told(outcome=Unsupported(f"runner {runner.value} does not take it: {refused.text}"), steps=steps)


def _unregistered(world: World) -> Told | None:
    """The answer where the engine has draft models of this method and this drafter's is none of them.

    The engine's own config may put a word before an architecture's name: what ends like a
    registered one may be it.
    """
    session = world.start()
    interp = session.interp
    # As the engine's own config has them: a converter of its names a speculators file's anew.
    named = session.draft_config.attributes.get("architectures")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, (list, tuple)) else []
    known = roles.draft_registry(interp, world.checkpoint.method)
    if not names or not known or any(roles.registered(interp, name) is not None for name in names):
        return None
    if any(one.endswith(name) for one in known for name in names):
        return None
    steps = (Step(next(iter(known.values())).place, "a draft model of this method that is registered"),)
    return Told(outcome=Unsupported(f"the registry has no draft model {' or '.join(names)}"), steps=steps)


def listed(reason: Reason, runner: Runner) -> tuple[Step, ...]:
    """The evidence for one reason of a runner's config check."""
    return tuple(
        Step(place, f"the config check of runner {runner.value} lists it") for place in reason.places
    )


def _undecided(session: Session) -> list[Reason]:
    """What the check may have listed, where a raise was left out under an undecided condition."""
    trace = session.interp.trace
    if next(trace.of(Happening.ASSUME), None) is None:
        return []
    return [Reason(e.value, (e.place,)) for e in trace.of(Happening.APPEND) if isinstance(e.value, str)]


def _reasons(session: Session) -> Iterator[Reason]:
    """What the check has listed, under conditions that were all decided."""
    interp = session.interp
    open_conditions = {event.place for event in interp.trace.of(Happening.FORK)}
    for event in interp.trace.of(Happening.APPEND):
        module = interp.program.module_at(event.place.path)
        if not isinstance(event.value, str) or module is None:
            continue
        conditions = _conditions(module, event.place)
        if not open_conditions.intersection(conditions):
            yield Reason(event.value, (*conditions[:1], event.place))


def _conditions(module: Module, place: Place) -> list[Place]:
    """The conditions whose bodies hold a line, the nearest first."""
    clauses = []
    for clause in descendants(module.file.root, "if_statement", "elif_clause"):
        body = field(clause, "consequence")
        if body.start_point.row < place.line <= body.end_point.row + 1:
            clauses.append(clause)
    return [module.place(field(clause, "condition")) for clause in reversed(clauses)]


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
