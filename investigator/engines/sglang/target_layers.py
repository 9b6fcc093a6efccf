"""Which hidden states of the target the drafter gets: ids followed from config to capture.

Three hops. The model runner works out layer ids from the drafter's config; it hands them to
the target's setter, which may shift them; the target's forward pass captures the stream where
its loop meets a number, or lets the layer so marked capture it. All are followed with the
checkpoint's own ids; the answer is how many decoder layers each captured stream has been
through: indices into Hugging Face's ``hidden_states``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.follow import deepen
from investigator.code.syntax import Place, descendants, enclosing, field, statements, text
from investigator.code.trace import Event, Happening
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    FunctionValue,
    Instance,
    Raised,
    TracedList,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines import finding
from investigator.engines.configs import NO_TARGET, architectures
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import stopped
from investigator.engines.sglang import forward_pass, roles
from investigator.engines.sglang import layers as decoder
from investigator.engines.sglang.world import ASSUMPTIONS, Session, World
from investigator.model import Known, NotKnown, Outcome, Refused, Unsupported

SETTERS = {"eagle3": "set_eagle3_layers_to_capture", "eagle": "set_eagle3_layers_to_capture"}
"""The method -> the target's method that is told what to capture; any other: the next."""
SETTER = "set_dflash_layers_to_capture"
RUNNER = "sglang/srt/model_executor/model_runner.py"
HINTS = (
    RUNNER,
    "sglang/srt/model_executor/model_runner_components/attention_backend_setup.py",
    "sglang/srt/model_executor/model_runner_components/spec_aux_hidden_state.py",
)
ON_DEMAND = ("LayerCommunicator",)
"""Ends of the names of classes whose objects are worked out attribute by attribute."""
LAYER_IDS = ("target_layer_ids", "eagle_aux_hidden_state_layer_ids", "layer_ids")


@dataclass(frozen=True)
class Captured:
    """What following the ids came to."""

    outcome: Outcome
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None


def captured(world: World) -> Told:
    """Follow the checkpoint's ids.

    ``Known([d0, d1, ...])``: indices into ``hidden_states``, in the order of the features; None for what
    is no hidden state, only a part of the stream.
    """
    if not world.checkpoint.target_layer_ids:
        return Told(outcome=NotKnown("the checkpoint names no target layer ids"))
    result = deepen(lambda follow: _captured(world, follow), lambda found: found.missing)
    return Told(outcome=result.outcome, steps=result.steps, assumptions=ASSUMPTIONS)


def capturable(world: World) -> Told:
    """``Known([d0, d1, ...])``: which of the wanted indices into ``hidden_states`` this target's
    class captures when its setter is asked for them, whatever the model runner asks for."""
    ids = world.checkpoint.target_layer_ids
    if not ids:
        return Told(outcome=NotKnown("the checkpoint names no target layer ids"))
    wanted = {k + 1 for k in ids}
    found: set[int] = set()
    first: Captured | None = None
    # A setter counts decoder layers, or boundaries between them, or tells the two apart by the first.
    for numbers in ([k for k in ids if k >= 0], sorted(wanted), sorted({0, *wanted})):
        result = deepen(partial(_captured, world, numbers=tuple(numbers)), lambda found: found.missing)
        first = first or result
        if isinstance(result.outcome, Known) and isinstance(result.outcome.value, list):
            found |= {depth for depth in result.outcome.value if depth in wanted}
        elif first is result:
            break
        if found == wanted:
            break
    assert first is not None
    if not isinstance(first.outcome, Known):
        return Told(outcome=first.outcome, steps=first.steps, assumptions=ASSUMPTIONS)
    return Told(outcome=Known(sorted(found)), steps=first.steps, assumptions=ASSUMPTIONS)


def _captured(world: World, follow: frozenset[str], numbers: tuple[int, ...] | None = None) -> Captured:
    """Follow the ids from config to capture; with ``numbers``, from the target's setter on."""
    session = world.start(follow=follow)
    try:
        return _follow(session, numbers)
    except Raised as raised:
        step = Step(raised.stack[-1], "stops with an error")
        if _at_the_setter(session, raised):
            return Captured(Refused(str(raised)), (step,))
        return Captured(stopped(world.program, raised, "following the layers"), (step,))
    except BudgetSpent as spent:
        return Captured(NotKnown(str(spent)))


def _at_the_setter(session: Session, raised: Raised) -> bool:
    """Whether the target cannot be told: it has no such method, or that one fails on the numbers."""
    place = raised.stack[-1]
    module = session.interp.program.module_at(place.path)
    if module is None:
        return False
    if raised.error.name == "AttributeError" and f"'{setter(session.world)}'" not in raised.error.message:
        return False  # something else is missing: not all that a deployment has is there
    name, line = setter(session.world), module.file.lines[place.line - 1]
    point = (place.line - 1, len(line) - len(line.lstrip()))
    node = module.file.root.descendant_for_point_range(point, point)
    inside = enclosing(node, "function_definition") if node is not None else None
    return name.encode() in line or (inside is not None and text(field(inside, "name")) == name)


def _follow(session: Session, numbers: tuple[int, ...] | None) -> Captured:
    target = target_model(session)
    if isinstance(target, Outcome):
        return Captured(target)
    model, stack = target
    asked = ask_target(session, model, numbers)
    steps = tuple(_reads(session))
    if isinstance(asked, Unknown):
        return Captured(NotKnown(f"which layers are asked for: {asked}"), steps, asked)
    steps = (*steps, *_handed_on(session), Step(asked.place, f"the target keeps {list(asked.numbers)}"))
    depths, where = forward_pass.depths(session, asked.holder, stack)
    if where is not None:
        steps = (*steps, Step(where, "the target captures the stream here"))
    if (missing := find_unknown(depths)) is not None:
        return Captured(NotKnown(f"where the target captures: {missing}"), steps, missing)
    return Captured(Known(list(depths)), steps)


def setter(world: World) -> str:
    """The target's method that is told which layers to capture."""
    return SETTERS.get(world.checkpoint.method, SETTER)


# -- the target and what it is asked for -----------------------------------------------


def target_model(session: Session) -> tuple[Instance, list[decoder.DecoderLayer]] | NotKnown | Unsupported:
    """The target's object, its layers as symbols; or why there is none."""
    interp = session.interp
    named = architectures(session.world.checkpoint.target)
    if not named:
        return NotKnown(f"the target's architecture is not known; {NO_TARGET}")
    cls = next((c for a in named if (c := roles.registered(interp, a)) is not None), None)
    if cls is None:
        return Unsupported(f"the registry has no model class {' or '.join(named)}")
    count = session.layers()
    if count is None:
        return NotKnown(f"the number of the target's layers is not known; {NO_TARGET}")
    interp.made_on_demand = lambda wanted: wanted.name.endswith(ON_DEMAND)
    stack = decoder.install_layers(session, count)
    decoder.install_stream(session)
    given: dict[str, Value] = {"config": session.target_config, "quant_config": None, "prefix": ""}
    supply = lazy.bound(interp, cls, (), given)
    return _watched(lazy.instance(interp, cls, supply, label="target model")), stack


def _watched(model: Instance) -> Instance:
    """The model with its parts labelled as well, so that what is asked of them is followed."""
    inner = model.made_by
    assert inner is not None

    def attribute(name: str) -> Value:
        part = inner(name)
        if isinstance(part, Instance) and part.made_by is not None and part.label is None:
            part.label = f"{model.label}.{name}"
            _watched(part)
        return part

    model.made_by = attribute
    return model


@dataclass(frozen=True)
class Asked:
    """What the target's loop is left with: the numbers, the object that keeps them, and where it does."""

    numbers: Sequence[int]
    holder: Instance
    place: Place


def ask_target(session: Session, model: Instance, numbers: tuple[int, ...] | None = None) -> Asked | Unknown:
    """Run what hands layer ids to the target; with ``numbers``, hand these to its setter."""
    interp = session.interp
    name = setter(session.world)
    own = classes.class_attribute(interp, model.cls, name) if model.cls is not None else None
    if numbers is not None and isinstance(own, FunctionValue):
        interp.enter(own, (model, list(numbers)), {})
        return _kept(session, name)
    function = next(_handing_over(session, name), None)
    if function is None:
        return Unknown(f"nothing outside the models calls {name}")
    receiver, arguments = _arguments(session, function, model)
    if (missing := find_unknown(list(arguments.values()))) is not None:
        return missing
    interp.enter(function, (receiver,) if receiver is not None else (), arguments)
    return _kept(session, name)


def _kept(session: Session, name: str) -> Asked | Unknown:
    """What the target was left with by a setter of this name."""
    events = session.interp.trace.events
    told = [i for i, e in enumerate(events) if e.kind is Happening.CALL and e.name.endswith(f".{name}")]
    if not told:
        return _left_alone(session) or Unknown(f"{name} was not reached")
    if (missing := find_unknown(events[told[0]].value)) is not None:
        return missing
    stored = [e for e in events[told[0] :] if e.kind is Happening.STORE and _is_layer_list(e)]
    if stored:
        owner, value = stored[-1].value
        return Asked(list(value), owner, stored[-1].place)
    last = events[told[-1]]
    if (missing := find_unknown(last.value)) is not None:
        return missing
    holder = last.value.get("self")
    numbers = next((v for v in last.value.values() if isinstance(v, list | tuple)), None)
    if not isinstance(holder, Instance) or numbers is None:
        return _left_alone(session) or Unknown(f"{name} keeps the layers nowhere that was seen")
    return Asked(list(numbers), holder, last.place)


def _handed_on(session: Session) -> Iterator[Step]:
    """Where one setter of the target hands the numbers on to another."""
    name = setter(session.world)
    calls = [e for e in session.interp.trace.of(Happening.CALL) if e.name.endswith(f".{name}")]
    for event in calls[1:]:
        numbers = next((v for v in event.value.values() if isinstance(v, list | tuple)), None)
        if numbers is not None and len(event.stack) > 1:
            yield Step(event.stack[-2], f"the target hands on {list(numbers)}")


def _handing_over(session: Session, name: str) -> Iterator[FunctionValue]:
    """Functions outside the models that hand layer ids to the target."""
    interp = session.interp
    for module in interp.program.mentioning([f".{name}("], HINTS):
        if module.path.startswith(roles.MODELS):
            continue
        for function in finding.functions(interp, module):
            if next(finding.calls(function, name), None) is not None:
                yield function


def _arguments(
    session: Session, function: FunctionValue, model: Instance
) -> tuple[Instance | None, dict[str, Value]]:
    """The receiver and the arguments with which the model runner calls a function of its own."""
    if function.owner is not None:
        runner = _runner(session, function.owner, model)
        _set(session, runner, function)
        return runner, {}
    interp = session.interp
    for module in interp.program.mentioning([function.name], [RUNNER]):
        for caller in finding.functions(interp, module):
            for call in finding.calls(caller, function.name):
                if caller.owner is None:
                    continue
                runner = _runner(session, caller.owner, model)
                _set(session, runner, caller, call)
                handed, _ = lazy.handed_over(interp, lazy.Acting(function, "", bound=False, call=call))
                given = {
                    name: lazy.value_at(interp, caller, value, runner, session.supply)
                    for name, value in handed.items()
                }
                return None, given
    return None, {"model": Unknown(f"nobody calls {function.name}")}


def _runner(session: Session, cls: ClassValue, model: Instance) -> Instance:
    runner = lazy.instance(session.interp, cls, session.supply, label="model runner")
    runner.attributes.update(
        server_args=session.server_args,
        model_config=session.model_config,
        spec_algorithm=session.algorithm,
        is_draft_worker=False,
        model=model,
    )
    return runner


def _set(session: Session, runner: Instance, function: FunctionValue, within: Node | None = None) -> None:
    """Run what sets the attributes that a function reads of the model runner.

    In ``__init__`` those are whole statements, whose conditions and handlers count; another
    method that sets one is run as it is.
    """
    interp = session.interp
    wanted = {
        text(field(node, "attribute"))
        for node in descendants(within or function.node, "attribute")
        if text(field(node, "object")) == interp.local_bindings(function).first
    } - runner.attributes.keys()
    assert runner.cls is not None
    for name in sorted(wanted):
        if name in runner.attributes:
            continue
        for method in finding.methods(interp, runner.cls):
            target = f"{interp.local_bindings(method).first}.{name}"
            binders = interp.local_bindings(method).assigned.get(target)
            if not binders or method.node == function.node:
                continue
            if method.name != "__init__":
                interp.enter(method, (runner,), {})
                break
            for statement in statements(field(method.node, "body")):
                if any(_within(node, statement) for node in binders):
                    lazy.run_at(interp, method, statement, runner, session.supply)


def _within(node: Node, statement: Node) -> bool:
    return statement.start_byte <= node.start_byte and node.end_byte <= statement.end_byte


def _is_layer_list(event: Event) -> bool:
    owner, value = event.value
    return (
        isinstance(owner, Instance)
        and isinstance(value, list | tuple | set)
        and bool(value)
        and all(isinstance(item, int) for item in value)
    )


def _left_alone(session: Session) -> Unknown | None:
    """The callee that left the last open condition open."""
    forks = [e.value for e in session.interp.trace.of(Happening.FORK) if e.value.not_followed is not None]
    return forks[-1] if forks else None


def _reads(session: Session) -> Iterator[Step]:
    """The reads of a key that holds layer ids and finds some, each once."""
    seen = set()
    for event in session.interp.trace.of(Happening.READ):
        label, _, key = event.name.rpartition(".")
        if key not in LAYER_IDS or not label.startswith("draft config") or event.place in seen:
            continue
        if isinstance(event.value, TracedList):
            seen.add(event.place)
            yield Step(event.place, f"reads {event.name}")
