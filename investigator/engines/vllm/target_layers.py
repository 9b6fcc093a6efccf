"""Which hidden states of the target the drafter gets: ids followed from config to capture.

Two hops. The runner works out numbers from the drafter's config and hands them to the
target (``set_aux_hidden_state_layers``); the target's forward pass captures the stream
where its loop's counter meets one of the numbers. Both are followed with the checkpoint's
own ids; the answer is, in the order in which the drafter gets them, how many decoder layers
each captured stream has been through: indices into Hugging Face's ``hidden_states``.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Interpreter
from investigator.code.local_bindings import parameters_of
from investigator.code.syntax import Place, descendants, field, named, text
from investigator.code.trace import Event, Happening
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
from investigator.engines import refusal
from investigator.engines.configs import NO_TARGET, architectures
from investigator.engines.finding import sole_caller, through_caller
from investigator.engines.interface import Step, Told
from investigator.engines.vllm import drafter, roles, runners
from investigator.engines.vllm.states import Layer, LayerStack, Norm, Positions, State
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.model import Known, NotKnown, Outcome, Refused, Runner

SETTER = "set_aux_hidden_state_layers"
HINTS = {
    Runner.V1: "vllm/v1/worker/gpu_model_runner.py",
    Runner.V2: "vllm/v1/worker/gpu/spec_decode/eagle/eagle3_utils.py",
}


@dataclass(frozen=True)
class Captured:
    """What following the ids came to. ``depths``: layers behind each captured stream."""

    outcome: Outcome
    numbers: tuple[int, ...] | None = None
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None


def captured(world: World, runner: Runner) -> Told:
    """Follow the checkpoint's ids on one runner's path.

    ``Known([d0, d1, ...])``: indices into ``hidden_states``, in the order of the features.
    """
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    if not world.checkpoint.target_layer_ids:
        return Told(outcome=NotKnown("the checkpoint names no target layer ids"))
    result = deepen(lambda follow: _capture(world, runner, follow), lambda found: found.missing)
    return Told(outcome=result.outcome, steps=result.steps, assumptions=ASSUMPTIONS)


def capturable(world: World, runner: Runner) -> Told:
    """``Known([d0, d1, ...])``: which of the wanted indices into ``hidden_states`` this target's
    class captures when it is asked for them, whatever the runner asks for."""
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    ids = world.checkpoint.target_layer_ids
    if not ids:
        return Told(outcome=NotKnown("the checkpoint names no target layer ids"))
    wanted = tuple(k + 1 for k in ids)
    result = deepen(lambda follow: _capture(world, runner, follow, wanted), lambda found: found.missing)
    return Told(outcome=result.outcome, steps=result.steps, assumptions=ASSUMPTIONS)


def _capture(
    world: World, runner: Runner, follow: frozenset[str], asked: tuple[int, ...] | None = None
) -> Captured:
    """Follow the ids from config to capture; with ``asked``, from these layer numbers on."""
    session = world.start(runner, follow=follow)
    steps: tuple[Step, ...] = ()
    found: Value = asked
    try:
        if asked is None:
            found, steps = numbers(session, runner)
        if (missing := find_unknown(found)) is not None:
            return Captured(NotKnown(f"which layers are asked for: {missing}"), None, steps, missing)
        if not isinstance(found, (list, tuple)) or not all(isinstance(n, int) for n in found):
            return Captured(NotKnown(f"layer numbers come out as {found!r}"), None, steps)
        depths, more = _depths(session, runner, tuple(found))
        steps = (*steps, *more)
        if isinstance(depths, Refused):
            return Captured(depths, tuple(found), steps)
        if (missing := find_unknown(depths)) is not None:
            return Captured(NotKnown(f"where the target captures: {missing}"), tuple(found), steps, missing)
        return Captured(Known(list(depths)), tuple(found), steps)
    except Raised as raised:
        step = Step(raised.stack[-1], "raises")
        return Captured(
            refusal.stopped(session.interp.program, raised, "following the layers"), None, (step,)
        )
    except BudgetSpent as spent:
        return Captured(NotKnown(str(spent)))


# -- first hop: config ids to layer numbers --------------------------------------------


def numbers(session: Session, runner: Runner) -> tuple[Value, tuple[Step, ...]]:
    """What the runner hands to the target's setter, and the lines that made it."""
    interp = session.interp
    places = list(setter_calls(session, runner))
    if not places:
        return Unknown(f"nothing on runner {runner.value}'s path calls {SETTER}"), ()
    function, call = places[0]
    argument = named(field(call, "arguments"))[0]

    def receiver(method: FunctionValue) -> Value:
        if method.owner is None:
            return None
        made = lazy.instance(interp, method.owner, session.supply)
        made.attributes["speculative_config"] = session.speculative_config
        made.attributes["vllm_config"] = session.vllm_config
        return made

    def supply(name: str, annotation: str) -> Value:
        known = session.supply(name, annotation)
        if known is NotImplemented and name == "model" and function.owner is None:
            return target_model(session) or NotImplemented  # asked for its class's own choice
        return known

    handed = through_caller(interp, function, receiver, supply)
    value = lazy.value_at(interp, function, argument, receiver(function), handed)
    steps = [*_reads(session), Step(function.module.place(call), "the numbers are handed to the target")]
    return value, tuple(steps)


def _reads(session: Session) -> Iterator[Step]:
    """The reads of a key that holds layer ids, each once, the last that found something first."""
    wanted = (
        "layer_ids",
        "target_layer_ids",
        "eagle_aux_hidden_state_layer_ids",
        "aux_hidden_state_layer_ids",
    )
    seen = set()
    reads = [
        event
        for event in session.interp.trace.of(Happening.READ)
        if event.name.rpartition(".")[2] in wanted and event.value not in (None, False, NotImplemented)
    ]
    for event in reads:
        if event.place not in seen:
            seen.add(event.place)
            yield Step(event.place, f"reads {event.name}")


def setter_calls(session: Session, runner: Runner) -> Iterator[tuple[FunctionValue, Node]]:
    """Where this runner's code hands layer numbers to the target."""
    interp = session.interp
    modules = interp.program.mentioning([f".{SETTER}("], [HINTS[runner]])
    modules = [m for m in modules if drafter.belongs(session, m, runner)] or [
        m for m in interp.program.mentioning([f".{SETTER}("], ()) if drafter.belongs(session, m, runner)
    ]
    for module in modules:
        for function in roles.functions(interp, module):
            for call in roles.calls(function, SETTER):
                if function.name != SETTER and named(field(call, "arguments")):
                    yield function, call


# -- second hop: layer numbers to captured streams -------------------------------------


def _depths(session: Session, runner: Runner, numbers: tuple[int, ...]) -> tuple[Value, tuple[Step, ...]]:
    """How deep the streams are that the target captures for these numbers; ``Refused`` where the
    runner stops at a target that has no interface for it."""
    interp = session.interp
    model = target_model(session)
    if model is None or model.cls is None:
        named_so = architectures(session.world.checkpoint.target)
        asked = f"{named_so}" if named_so else f"(not known); {NO_TARGET}"
        return Unknown(f"no model class for the target's architecture {asked}"), ()
    cls = model.cls
    layers = session.layers()
    if layers is None:
        return Unknown(f"the number of the target's layers is not known; {NO_TARGET}"), ()
    setter = classes.class_attribute(interp, cls, SETTER)
    if not isinstance(setter, FunctionValue):
        step = Step(cls.module.place(field(cls.node, "name")), f"{cls.name} has no {SETTER}")
        for function, call in setter_calls(session, runner):
            if (stop := _stops(interp, function, call)) is not None:
                said, where = f"{refusal.words(stop[1])} ({cls.name})", stop[0].module.place(stop[1])
                return Refused(said), (step, Step(where, "stops with an error"))
        return [], (step,)
    before = len(list(interp.trace.of(Happening.STORE)))
    interp.enter(setter, (model, numbers), {})
    stored = _kept(list(interp.trace.of(Happening.STORE))[before:], numbers)
    if stored is None:
        missing = _left_alone(session)
        return missing or Unknown(f"{cls.name}.{SETTER} stores the numbers nowhere that was seen"), ()
    holder = stored.value[0]
    streams, place = _run_forward(session, holder, layers)
    steps = [Step(stored.place, "the target keeps the numbers")]
    if place is not None:
        steps.append(Step(place, "the target captures the stream here"))
    return streams, tuple(steps)


def _stops(interp: Interpreter, function: FunctionValue, call: Node) -> tuple[FunctionValue, Node] | None:
    """The ``raise`` above a call that stops at a target without an interface, in the function or in the one
    that calls it."""
    if (stop := refusal.without_interface(function, call)) is not None:
        return function, stop
    above = sole_caller(interp, function) if function.name.startswith("_") else None
    return _stops(interp, *above) if above is not None else None


def target_model(session: Session) -> Instance | None:
    """The target's model object, worked out on demand; None when its class is not known."""
    named = architectures(session.world.checkpoint.target)
    interp = session.interp
    cls = next((c for a in named if (c := roles.registered(interp, a)) is not None), None)
    if cls is None:
        return None
    interp.natives["SupportsMultiModal.get_language_model"] = _language_model
    interp.natives.setdefault("make_layers", _make_layers)
    initialiser = classes.class_attribute(interp, cls, "__init__")
    supply: lazy.Supply = session.supply
    if isinstance(initialiser, FunctionValue):
        # The loader hands over the config and a prefix alone.
        supply = lazy.with_defaults(interp, initialiser, supply)
    return lazy.instance(interp, cls, supply, label="target model")


def _language_model(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:  # noqa: ARG001
    """``get_language_model()`` as the interface defines it: the part that was made under
    ``with self._mark_language_model(...)``."""
    model = args[0]
    if isinstance(model, Instance) and model.cls is not None and model.made_by is not None:
        for name in _marked(interp, model.cls):
            if name not in model.attributes:
                model.attributes[name] = model.made_by(name)
            return model.attributes[name]
    return Unknown("which part of the model is its language model")


def _marked(interp: Interpreter, cls: ClassValue) -> Iterator[str]:
    """The attributes that are set under the mark, in an ``__init__`` of the class or in what that runs."""
    bases = [base for base in classes.mro(interp, cls) if isinstance(base, ClassValue)]
    initialisers = [classes.own_attribute(interp, base, "__init__") for base in bases]
    for far, made in product((False, True), initialisers):
        for acting in lazy.reachable(interp, cls, made, far=far) if isinstance(made, FunctionValue) else ():
            for block in descendants(field(acting.function.node, "body"), "with_statement"):
                if "_mark_language_model" in text(block).partition("\n")[0]:
                    lefts = (field(n, "left") for n in descendants(field(block, "body"), "assignment"))
                    yield from (text(field(n, "attribute")) for n in lefts if n.type == "attribute")


def _left_alone(session: Session) -> Unknown | None:
    for event in session.interp.trace.of(Happening.SKIP):
        return Unknown(f"{event.name} was not followed", event.place, not_followed=event.name)
    return None


def _kept(stores: list[Event], numbers: tuple[int, ...]) -> Event | None:
    """The store that keeps the layers: these numbers, or what the setter has made of them."""
    lists = [e for e in stores if isinstance(e.value[1], (list, tuple, set)) and _are_numbers(e.value[1])]
    same = [event for event in lists if set(event.value[1]) == set(numbers)]
    return next(reversed(same or lists), None)


def _are_numbers(values: Collection[Value]) -> bool:
    return all(isinstance(value, int) for value in values)


def _run_forward(session: Session, holder: Instance, layers: int) -> tuple[Value, Place | None]:
    interp = session.interp
    assert holder.cls is not None
    forward = classes.class_attribute(interp, holder.cls, "forward")
    if not isinstance(forward, FunctionValue):
        return Unknown(f"{holder.cls.name} has no forward"), None
    holder.label = holder.label or "target decoder"
    settings = layer_settings(session, holder)
    holder.attributes.update(
        layers=[Layer(i, settings) for i in range(layers)],
        start_layer=0,
        end_layer=layers,
        norm=Norm(),
        config=session.target_text_config,
    )
    embedding = State(0)
    given: dict[str, Value] = {
        "inputs_embeds": embedding,
        "input_embeds": embedding,
        "intermediate_tensors": None,
        "positions": Positions(),
    }
    arguments = {}
    for name, _ in list(parameters_of(forward.node))[1:]:
        arguments[name] = given.get(name, Unknown(f"argument {name} of forward"))
    result = interp.enter(forward, (holder,), arguments)
    if isinstance(result, Unknown):
        return result, None
    captured = interp.trace.last(Happening.APPEND, lambda e: isinstance(e.value, State))
    place = _in_forward(captured, forward) if captured is not None else None
    found = list(_state_lists(result))
    if not found:
        missing = find_unknown(result)
        if missing is None and isinstance(result, State) and _keeps_nothing(interp, holder):
            return [], None
        return missing or Unknown(f"{forward.qualified_name} returns no captured streams"), place
    return [s.depth if isinstance(s, State) else s for s in found[0]], place


def _make_layers(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:  # noqa: ARG001
    """``make_layers(count, layer_fn, ...)`` without pipeline parallelism: first, end, layers."""
    given = {**dict(zip(("num_hidden_layers", "layer_fn"), args, strict=False)), **kwargs}
    count = given.get("num_hidden_layers", Unknown("how many layers are made"))
    made = LayerStack(given.get("layer_fn", Unknown("what makes a layer")))
    return (0, count, [made] * count if isinstance(count, int) else made)


def layer_settings(session: Session, holder: Instance) -> Callable[[str], Value]:
    """Attributes of the decoder's layers, from the function that ``make_layers`` is given."""
    kept = holder.attributes.get("layers")

    @cache
    def layer() -> Value:
        stack = holder.made_by("layers") if kept is None and holder.made_by is not None else kept
        stack = stack[0] if isinstance(stack, list) and stack else stack
        if isinstance(stack, LayerStack) and isinstance(stack.makes, FunctionValue):
            return lazy.returned(session.interp, stack.makes, session.supply)
        return None

    def setting(name: str) -> Value:
        one = layer()
        if not isinstance(one, Instance):
            return NotImplemented
        own = one.attributes.get(name, NotImplemented)
        return one.made_by(name) if own is NotImplemented and one.made_by is not None else own

    return setting


def _state_lists(value: Value) -> Iterator[list[Value]]:
    if isinstance(value, (tuple, list)):
        if isinstance(value, list) and any(isinstance(item, State) for item in value):
            yield value
        for item in value:
            if isinstance(item, (list, tuple)):
                yield from _state_lists(item)


def _keeps_nothing(interp: Interpreter, holder: Instance) -> bool:
    """Whether what the target was last told to keep comes to no layer at all."""
    stored = [e.value[1] for e in interp.trace.of(Happening.STORE) if e.value[0] is holder]
    kept = [value for value in stored if isinstance(value, (list, tuple, set))]
    return bool(kept) and not kept[-1]


def _in_forward(event: Event, forward: FunctionValue) -> Place:
    """The innermost frame of the capture that stands in the file of the model's forward."""
    inside = [place for place in event.stack if place.path == forward.module.path]
    return inside[-1] if inside else event.place
