"""KV-cache slots that the scheduler reserves beyond the tokens it schedules.

The scheduler asks the KV-cache manager for slots (``allocate_slots``) in two places: for
running requests, and where it admits a waiting one. What each hands over as lookahead is
followed, the second for a request that was never scheduled before.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.follow import deepen
from investigator.code.syntax import Place, asked_for, descendants, enclosing, field, named, text
from investigator.code.trace import Happening
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    FunctionValue,
    Instance,
    Raised,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines.finding import mentions
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import stopped
from investigator.engines.vllm import roles
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.model import Known, NotKnown, Outcome

SCHEDULER = "vllm/v1/core/sched/scheduler.py"
MANAGER = "vllm/v1/core/kv_cache_manager.py"
ALLOCATE = "allocate_slots"
ARGUMENT = "num_lookahead_tokens"
ADMITTED_TO = "running"
"""The scheduler's list of requests that have been scheduled; who appends to it admits."""


def reserved(world: World) -> Told:
    """``Known({"running": n, "first": m})``: lookahead slots of a request that runs, and of one
    that is scheduled for the first time."""
    result = deepen(lambda follow: _reserved(world, follow), lambda found: found.missing)
    return Told(outcome=result.outcome, steps=result.steps, assumptions=ASSUMPTIONS)


@dataclass(frozen=True)
class _Reserved:
    outcome: Outcome
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None


def _reserved(world: World, follow: frozenset[str]) -> _Reserved:
    session = world.start(follow=follow)
    cls = session.class_named("Scheduler", SCHEDULER)
    if cls is None:
        return _Reserved(NotKnown("no class Scheduler was found"))
    try:
        slots, places = _slots(session, cls)
    except Raised as raised:
        outcome = stopped(session.interp.program, raised, "following the slots")
        return _Reserved(outcome, (Step(raised.stack[-1], "raises"),))
    except BudgetSpent as spent:
        return _Reserved(NotKnown(str(spent)))
    steps = (*_made(session), *places)
    if (missing := find_unknown(slots)) is not None:
        return _Reserved(NotKnown(f"how many slots are reserved: {missing}"), steps, missing)
    if absent := [phase for phase in ("running", "first") if phase not in slots]:
        return _Reserved(NotKnown(f"where slots of a {absent[0]} request are allocated was not found"), steps)
    if not all(isinstance(count, int) for count in slots.values()):
        return _Reserved(NotKnown(f"the reserved slots come out as {slots}"), steps)
    return _Reserved(Known(slots), steps)


def _slots(session: Session, cls: ClassValue) -> tuple[dict[str, Value], list[Step]]:
    interp = session.interp
    scheduler = lazy.instance(interp, cls, session.supply, label="scheduler")
    slots: dict[str, Value] = {}
    steps: list[Step] = []
    for acting, call in list(_allocations(session, cls)) or _allocations(session, cls, far=True):
        method = acting.function
        phase = "first" if _admits(acting, call) else "running"
        request, node = _arguments(session, call)
        if node is None:
            count = _default(session)
            place = method.module.place(call)
        else:
            names: dict[str, Value] = {acting.name: scheduler}
            if request:
                names[request] = _request(0 if phase == "first" else 100)
            supply = lazy.supply_through(interp, acting, scheduler, session.supply)
            count = lazy.value_at(interp, method, node, scheduler, supply, names=names)
            place = _decider(session, node) or method.module.place(node)
        when = "when a request is first scheduled" if phase == "first" else "for a running request"
        steps.append(Step(place, f"{count} slots are reserved {when}"))
        both = (slots.get(phase, count), count)
        slots[phase] = find_unknown(both) or min(both)
    return slots, steps


def _allocations(
    session: Session, cls: ClassValue, *, far: bool = False
) -> Iterator[tuple[lazy.Acting, Node]]:
    for acting in roles.at_work(session.interp, cls, far=far):
        for call in roles.calls(acting.function, ALLOCATE):
            yield acting, call


def _admits(acting: lazy.Acting, call: Node) -> bool:
    """Whether the innermost loop around the call that takes requests is the one that admits them:
    it appends to the list of running requests."""
    around = enclosing(call, "while_statement", "for_statement", "function_definition")
    if around == acting.function.node and acting.caller is not None and acting.call is not None:
        return _admits(acting.caller, acting.call)
    while around is not None and around != acting.function.node:
        for node in descendants(around, "call") if mentions(around, ADMITTED_TO) else ():
            asked = asked_for(field(node, "function"))
            if asked is None or asked[1] not in ("append", "add"):
                continue
            queue = asked_for(asked[0])
            if (queue[1] if queue is not None else text(asked[0])) == ADMITTED_TO:
                return True
        around = enclosing(around, "while_statement", "for_statement", "function_definition")
    return False


def _arguments(session: Session, call: Node) -> tuple[str | None, Node | None]:
    """The name of the request that a call allocates for, and the lookahead it passes."""
    positional = []
    request: str | None = None
    lookahead: Node | None = None
    for argument in named(field(call, "arguments")):
        if argument.type != "keyword_argument":
            positional.append(argument)
        elif text(field(argument, "name")) == ARGUMENT:
            lookahead = field(argument, "value")
        elif text(field(argument, "name")) == "request":
            request = text(field(argument, "value"))
    if positional:
        request = text(positional[0])
    if lookahead is None and len(positional) > 1:
        parameters = list(_signature(session))[1:]
        passed = dict(zip(parameters, positional, strict=False))
        lookahead = passed.get(ARGUMENT)
    return request, lookahead


def _allocate(session: Session) -> FunctionValue | None:
    manager = session.class_named("KVCacheManager", MANAGER)
    found = classes.class_attribute(session.interp, manager, ALLOCATE) if manager is not None else None
    return found if isinstance(found, FunctionValue) else None


def _signature(session: Session) -> tuple[str, ...]:
    function = _allocate(session)
    return tuple(session.interp.local_bindings(function).parameters) if function is not None else ()


def _default(session: Session) -> Value:
    """What ``allocate_slots`` takes where a call passes no lookahead."""
    function = _allocate(session)
    node = session.interp.local_bindings(function).defaults.get(ARGUMENT) if function is not None else None
    if function is None or node is None:
        return Unknown(f"what {ALLOCATE} reserves by default")
    return lazy.value_at(session.interp, function, node, None, session.supply)


def _request(computed: int) -> Instance:
    """A request of which so many tokens were computed before this step."""
    return Instance(None, {"num_computed_tokens": computed}, complete=False, label="request")


# -- evidence --------------------------------------------------------------------------


def _made(session: Session) -> Iterator[Step]:
    """Where the number comes from: a field of the scheduler, or a property of the config."""
    trace = session.interp.trace
    returned = trace.last(Happening.RETURN, lambda e: e.name.endswith(f".{ARGUMENT}"))
    if returned is not None:
        yield Step(returned.place, f"{returned.name} is {returned.value}")
        return
    bound = trace.last(Happening.BIND, lambda e: e.name.endswith(f".{ARGUMENT}"))
    if bound is not None:
        yield Step(bound.place, f"{bound.name} is {bound.value}")


def _decider(session: Session, node: Node) -> Place | None:
    """Where the local variable that is passed gets its value."""
    if node.type != "identifier":
        return None
    bound = session.interp.trace.last(Happening.BIND, lambda e: e.name == text(node))
    return bound.place if bound is not None else None
