"""How much context K/V of a draft layer is kept while its request runs.

A layer's attention says how its K/V is cached (``get_kv_cache_spec``); the spec chooses a
manager; before new slots are allocated the manager frees what lies below the window of the
tokens that it is told are computed. What is told, and what is freed, are followed for a
request with no step in flight, and for one with a step in flight whose drafts may still be
rejected (as under async scheduling).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import Place
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
from investigator.engines.interface import Step, Told
from investigator.engines.vllm import draft_layers, roles
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.model import Known, NotKnown, Outcome, Refused, Runner

MANAGER = "vllm/v1/core/kv_cache_manager.py"
COORDINATOR = "vllm/v1/core/kv_cache_coordinator.py"
BY_TYPE = "vllm/v1/core/single_type_kv_cache_manager.py"
SPEC = "get_kv_cache_spec"
CHOOSE = "get_manager_for_kv_cache_spec"
FREE = "remove_skipped_blocks"
BOUNDARY = "get_num_skipped_tokens"
SPECS = ("FullAttentionSpec", "SlidingWindowSpec")
IN_FLIGHT = ("num_in_flight_tokens", "num_output_placeholders")
"""A request's tokens that were scheduled and not yet settled, by the releases' names."""


@dataclass(frozen=True)
class _Kept:
    outcome: Outcome
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None


def kept(world: World, runner: Runner) -> Told:
    """``Known({"settled": [k0, ...], "in flight": [...]})``: tokens of context behind the next one
    that each draft layer keeps, None where it keeps everything."""
    stopped = draft_layers.turned_away(world, runner)
    if stopped is not None:
        return stopped
    found = deepen(lambda follow: _kept(world, runner, follow), lambda found: found.missing)
    return Told(outcome=found.outcome, steps=found.steps, assumptions=ASSUMPTIONS)


def _kept(world: World, runner: Runner, follow: frozenset[str]) -> _Kept:
    draft = draft_layers.build(world, runner, follow | {*SPECS})
    if draft.refused is not None:
        step = Step(draft.refused.stack[-1], "stops with an error")
        return _Kept(Refused(str(draft.refused)), (step,))
    if draft.unknown is not None or len(draft.built) != world.checkpoint.num_draft_layers:
        return _Kept(NotKnown(draft.unknown or "the draft model's layers were not all seen"))
    interp = draft.session.interp
    interp.made_on_demand = lambda cls: isinstance(
        classes.class_attribute(interp, cls, BOUNDARY), FunctionValue
    )
    steps: list[Step] = []
    layers: dict[str, list[Value]] = {"settled": [], "in flight": []}
    by_window: dict[Value, Mapping[str, Value]] = {}
    try:
        for built in draft.built:
            if isinstance(built.window, Unknown) or built.window not in by_window:
                by_window[built.window] = _of_layer(draft.session, built, steps)
            for when, count in by_window[built.window].items():
                layers[when].append(count)
    except Raised as raised:
        place = (Step(raised.stack[-1], "raises"),)
        return _Kept(NotKnown(f"following the layer's cache ended in {raised}"), place)
    except BudgetSpent as spent:
        return _Kept(NotKnown(str(spent)))
    found = tuple({(step.place, step.role): step for step in steps}.values())
    if (missing := find_unknown(layers)) is not None:
        return _Kept(NotKnown(f"what a draft layer keeps: {missing}"), found, missing)
    return _Kept(Known(layers), found)


def _of_layer(session: Session, built: draft_layers.Built, steps: list[Step]) -> Mapping[str, Value]:
    """What one layer keeps, with nothing and with one step in flight."""
    interp = session.interp
    attention = built.attention
    assert attention.cls is not None
    method = classes.class_attribute(interp, attention.cls, SPEC)
    if not isinstance(method, FunctionValue):
        return _both(Unknown(f"{attention.cls.name} has no {SPEC}"))
    spec = interp.enter(method, (attention, session.vllm_config), {})
    if not isinstance(spec, Instance) or spec.cls is None:
        return _both(find_unknown(spec) or Unknown(f"{SPEC} gives {spec!r}"))
    returned = interp.trace.last(Happening.RETURN, lambda e: e.name.endswith(f".{SPEC}"))
    if returned is not None:
        steps.append(Step(returned.place, f"the layer's K/V is cached as {spec.cls.name}"))
    manager = _manager(session, spec)
    if not isinstance(manager, Instance):
        return _both(find_unknown(manager) or Unknown(f"the manager for {spec.cls.name}"))
    window = built.window if isinstance(built.window, int) else 0
    block = session.world.num_speculative_tokens + 1
    # Far enough from the start that a window is full, and the ends of blocks do not matter.
    computed = 16 * (1000 + window)
    return {
        "settled": _behind(session, manager, computed, 0, steps),
        "in flight": _behind(session, manager, computed, block, steps),
    }


def _both(value: Value) -> Mapping[str, Value]:
    return {"settled": value, "in flight": value}


def _manager(session: Session, spec: Instance) -> Value:
    """The manager that the engine makes for a spec."""
    interp = session.interp
    spec.label = "kv cache spec"
    for module in interp.program.mentioning([f"def {CHOOSE}("], [BY_TYPE]):
        function = interp.global_name(module, CHOOSE)
        if not isinstance(function, FunctionValue):
            continue
        local = interp.local_bindings(function)
        arguments = {
            name: spec if i == 0 else Unknown(f"argument {name} of {CHOOSE}")
            for i, name in enumerate(local.parameters)
            if name != "kwargs" and name not in local.defaults
        }
        made = _entered(interp, function, arguments, spec)
        if isinstance(made, Instance):
            made.label = "kv cache manager of one type"
        return made
    return Unknown(f"no function {CHOOSE} was found")


def _entered(
    interp: Interpreter, function: FunctionValue, arguments: dict[str, Value], spec: Instance
) -> Value:
    """Call a function; where it raises and something that was handed the spec's class was left
    alone (a registration), once more with that followed."""
    while True:
        try:
            return interp.enter(function, (), arguments)
        except Raised:
            registering = {
                event.name
                for event in interp.trace.of(Happening.SKIP)
                if any(value is spec.cls for value in (*event.value[0], *event.value[1].values()))
            }
            if registering <= interp.follow:
                raise
            interp.follow |= registering


def _behind(session: Session, manager: Instance, computed: int, in_flight: int, steps: list[Step]) -> Value:
    """Tokens kept behind the next one to be processed, when slots are allocated for a request
    that has computed so many, some of them in flight; None where nothing was freed."""
    interp = session.interp
    found = _freeing(session)
    if found is None:
        return Unknown(f"nothing that calls {FREE} for a running request was found")
    manager_class, acting, call = found
    function = acting.function
    coordinator_class = session.class_named("KVCacheCoordinator", COORDINATOR)
    coordinator = Instance(
        coordinator_class, {"single_type_managers": (manager,)}, complete=False, label="kv cache coordinator"
    )
    receiver = Instance(
        manager_class,
        {"coordinator": coordinator, "max_model_len": 2 * computed},
        complete=False,
        label="kv cache manager",
    )
    request = Instance(
        None,
        {"num_computed_tokens": computed, **dict.fromkeys(IN_FLIGHT, in_flight), "request_id": "request"},
        complete=False,
        label="request",
    )
    supply = lazy.with_defaults(
        interp, function, lambda name, kind: request if name == "request" else NotImplemented
    )
    before = len(interp.trace.events)
    stopped: Raised | None = None
    try:
        lazy.value_at(interp, function, call, receiver, supply, names={acting.name: receiver})
    except Raised as raised:
        stopped = raised  # what is done with the boundary, on tables that are not there, matters not
    events = [
        event
        for event in interp.trace.events[before:]
        if event.kind is Happening.RETURN and event.name.endswith(f".{BOUNDARY}")
    ]
    if not events and stopped is not None:
        raise stopped
    if not events:
        skipped = [e for e in interp.trace.events[before:] if e.kind is Happening.SKIP]
        if skipped:
            name = skipped[-1].name
            return Unknown(f"{name} was not followed", skipped[-1].place, not_followed=name)
        return Unknown(f"{FREE} asks for no boundary", function.module.place(call))
    place, freed = events[-1].place, events[-1].value
    if not isinstance(freed, int):
        return find_unknown(freed) or Unknown(f"the boundary is {freed!r}", place)
    steps.extend(_freed(function.module.place(call), place, freed))
    return None if freed <= 0 else computed - in_flight - freed


def _freed(call: Place, boundary: Place, freed: int) -> list[Step]:
    if freed <= 0:
        return [Step(boundary, "nothing of a running request is freed")]
    return [
        Step(call, "what the window has left behind is freed before slots are allocated"),
        Step(boundary, "the boundary below which blocks are freed"),
    ]


def _freeing(session: Session) -> tuple[ClassValue, lazy.Acting, Node] | None:
    """Where blocks are freed for a request that slots are allocated for."""
    interp = session.interp
    manager = session.class_named("KVCacheManager", MANAGER)
    if manager is None:
        return None
    for acting in (a for far in (False, True) for a in roles.at_work(interp, manager, far=far)):
        if "request" not in interp.local_bindings(acting.function).parameters:
            continue
        for call in roles.calls(acting.function, FREE):
            return manager, acting, call
    return None
