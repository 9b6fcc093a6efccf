"""Whether a model runner takes a case at all, by the checks that the engine's config runs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Interpreter
from investigator.code.program import Module
from investigator.code.syntax import Place, descendants, descendants_at, field, text
from investigator.code.trace import Happening
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    FunctionValue,
    Raised,
    Unknown,
)
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import is_deliberate
from investigator.engines.vllm import roles
from investigator.engines.vllm.world import Session, World
from investigator.model import NotKnown, Runner, Unsupported

ABOUT_RUNNERS = b"v2_model_runner"
"""What a condition that tells the runners apart names."""


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
    return deepen(lambda follow: _checked(world, runner, follow), lambda found: found[1])[0]


def _checked(world: World, runner: Runner, follow: frozenset[str]) -> tuple[Admission, Unknown | None]:
    """What the checks say; with it a function that was handed the config and left alone: it may raise."""
    session = world.start(runner, follow=follow)
    interp = session.interp
    cls = session.vllm_config.cls
    if cls is None:
        return Admission(unknown="no class VllmConfig was found"), None
    check = classes.class_attribute(interp, cls, "__post_init__")
    if not isinstance(check, FunctionValue):
        return Admission(), None
    checks = _runner_checks(interp, cls, check, far=False) or _runner_checks(interp, cls, check, far=True)
    if not checks and any(_may_check(method) for method in roles.methods(interp, cls)):
        return Admission(unknown=f"no check of the runner was found in {check.qualified_name}"), None
    for acting in checks:
        assert acting.caller is not None
        assert acting.call is not None
        runs = lazy.reached_through(interp, acting.caller, acting.call, session.vllm_config, session.supply)
        if runs is False:
            continue
        try:
            interp.enter(acting.function, (), {acting.name: session.vllm_config})
        except Raised as raised:
            if runs is None or not is_deliberate(interp.program, raised):
                missing = _last_skipped(session) if runs is None else None
                return Admission(unknown=f"whether {check.qualified_name} ends in {raised}"), missing
            reasons = tuple(_reasons(session)) or (Reason(raised.error.message, (raised.stack[-1],)),)
            return Admission(reasons, str(raised)), None
        except BudgetSpent as spent:
            return Admission(unknown=str(spent)), None
        maybe = _undecided(session)
        if (others := [reason for reason in maybe if not reason.about_windows]) or maybe:
            said = f"the check may list {', '.join(repr(reason.text) for reason in others or maybe)}"
            return Admission(unknown=said if others else None, windows_unknown=said), _left_alone(session)
    left = _left_alone(session)
    return Admission(unknown=str(left) if left is not None else None), left


def _last_skipped(session: Session) -> Unknown | None:
    """The last function that was not followed: what the runner is may rest on it."""
    event = session.interp.trace.last(Happening.SKIP, lambda event: "." not in event.name)
    if event is None:
        return None
    return Unknown(f"{event.name} was not followed", event.place, not_followed=event.name)


def _left_alone(session: Session) -> Unknown | None:
    """A function of the engine that was handed the whole config, or what the check has listed, and was not
    followed: it may raise."""
    for event in session.interp.trace.of(Happening.SKIP):
        handed = (*event.value[0], *event.value[1].values())
        outside = event.name.partition(".")[0].islower() and "." in event.name
        if not outside and any(isinstance(v, list) or v is session.vllm_config for v in handed):
            return Unknown(f"{event.name} was not followed", event.place, not_followed=event.name)
    return None


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
    for clause in descendants_at(module.file.root, place, "if_statement", "elif_clause"):
        body = field(clause, "consequence")
        if body.start_point.row < place.line <= body.end_point.row + 1:
            clauses.append(clause)
    return [module.place(field(clause, "condition")) for clause in reversed(clauses)]


def _runner_checks(
    interp: Interpreter, cls: ClassValue, check: FunctionValue, *, far: bool
) -> list[lazy.Acting]:
    """What a check, or a part of it, runs with the config in hand under a condition about the runner."""
    return [
        acting
        for acting in lazy.reachable(interp, cls, check, far=far)
        if acting.caller is not None
        and any(_is_about_runners(interp, acting.caller, each) for each in _conditions_of(acting.call))
    ]


def _may_check(method: FunctionValue) -> bool:
    """Whether a method stops with an error that may be about the runner."""
    words = (method.node.text or b"").lower()
    return ABOUT_RUNNERS in words and b"raise " in words


def _conditions_of(node: Node | None) -> Iterator[Node]:
    """The conditions around a node, those of a ``match`` too."""
    while node is not None and node.type != "function_definition":
        node = node.parent
        if node is not None and node.type in ("if_statement", "elif_clause"):
            yield field(node, "condition")
        elif node is not None and node.type == "match_statement":
            yield from node.children_by_field_name("subject")
            yield from (g for c in descendants(node, "case_clause") if (g := c.child_by_field_name("guard")))


def _is_about_runners(interp: Interpreter, acting: lazy.Acting, condition: Node) -> bool:
    """Whether a condition names the runner, or a variable that was made of it."""
    names = {text(node) for node in (condition, *descendants(condition, "identifier"))}
    assigned = interp.local_bindings(acting.function).assigned
    made_of = [node for name in names for node in assigned.get(name, ())]
    return any(ABOUT_RUNNERS in (node.text or b"").lower() for node in (condition, *made_of))
