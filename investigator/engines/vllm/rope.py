"""How the draft layers rotate queries and keys, once the draft model is loaded beside its target.

The drafter's ``load_model`` is followed; the draft model is built where it asks for it, with
the draft config as it stands then, and every rotary embedding that its layers make is kept.
Loaded beside a target that rotates in halves (NeoX) and beside one that rotates in pairs, the
draft must come out the same; where it does not, its layout is the target's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from investigator.code import classes, lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Frame, Interpreter
from investigator.code.syntax import Place
from investigator.code.trace import Happening
from investigator.code.values import (
    BudgetSpent,
    FunctionValue,
    Instance,
    OneOf,
    Raised,
    Symbol,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines.interface import Step, Told
from investigator.engines.vllm import draft_layers, drafter, runners, target_layers
from investigator.engines.vllm.head_sharing import GET, LANGUAGE, LOAD
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.model import Json, Known, NotKnown, Outcome, Runner

ROPE = "get_rope"
ROPE_HINT = "vllm/model_executor/layers/rotary_embedding/__init__.py"
NEOX = "is_neox_style"
PARAMETERS = "rope_parameters"
LAYOUTS = {True: "halves", False: "pairs"}
ATTENTIONS = ("self_attn", "attn", "attention", "self_attention")
ROTARIES = ("rotary_emb", "rotary", "rope")
"""What decoder layers call their attention, and attentions their rotary embedding."""


@dataclass(frozen=True)
class _Rotation:
    outcome: Outcome
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None


def rotation(world: World, runner: Runner) -> Told:
    """``Known({"layout": "halves" | "pairs" | None, "theta": t, "from": "draft" | "target"})``.

    ``from``: whose layout it is; ``layout`` None: the target's, which is not known.
    """
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    found = deepen(lambda follow: _rotation(world.all_full(), runner, follow), lambda found: found.missing)
    return Told(outcome=found.outcome, steps=found.steps, assumptions=ASSUMPTIONS)


def _rotation(world: World, runner: Runner, follow: frozenset[str]) -> _Rotation:
    try:
        beside = {neox: _loaded(world.start(runner, follow=follow), neox) for neox in (True, False)}
    except Raised as raised:
        place = (Step(raised.stack[-1], "raises"),)
        return _Rotation(NotKnown(f"following the loading of the draft model ended in {raised}"), place)
    except BudgetSpent as spent:
        return _Rotation(NotKnown(str(spent)))
    for found in beside.values():
        if (missing := find_unknown([found.layout, found.theta])) is not None:
            return _Rotation(NotKnown(f"how the draft layers rotate: {missing}"), found.steps, missing)
    here, there = beside[True], beside[False]
    answer: dict[str, Json] = {"layout": here.layout, "theta": here.theta, "from": "draft"}
    if here.layout == there.layout:
        return _Rotation(Known(answer), here.steps)
    style = _target_style(world.start(runner, follow=follow))
    answer["from"] = "target"
    answer["layout"] = beside[style].layout if isinstance(style, bool) else None
    return _Rotation(Known(answer), here.steps)


@dataclass(frozen=True)
class _Loaded:
    """One loading: the layout and base of the draft layers, and where they come from."""

    layout: Value
    theta: Value
    steps: tuple[Step, ...] = ()


@dataclass
class _Ropes:
    """Stands in for the function that makes rotary embeddings: keeps what each is made with."""

    session: Session
    made: list[tuple[Value, Value, Place]] = field(default_factory=list)

    def __call__(self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """One rotary embedding."""
        given = self._given(interp, args, kwargs)
        neox, parameters = given.get(NEOX, Unknown(NEOX)), given.get(PARAMETERS)
        theta = parameters.get("rope_theta") if isinstance(parameters, dict) else parameters
        self.made.append((neox, theta, interp.stack[-1]))
        return Instance(None, {NEOX: neox}, complete=False)

    def _given(
        self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> dict[str, Value]:
        for module in interp.program.mentioning([f"def {ROPE}("], [ROPE_HINT]):
            function = interp.global_name(module, ROPE)
            if not isinstance(function, FunctionValue):
                continue
            local = interp.local_bindings(function)
            given = {**dict(zip(local.parameters, args, strict=False)), **kwargs}
            for name, default in local.defaults.items():
                if name not in given:
                    given[name] = lazy.value_at(interp, function, default, None)
            return given
        return kwargs


def _loaded(session: Session, target_is_neox: bool) -> _Loaded:
    """Load the draft model beside a target of one layout."""
    interp = session.interp
    target = target_layers.target_model(session)
    proposer = drafter.drafter(session)
    if target is None or not isinstance(proposer, Instance) or proposer.cls is None:
        return _Loaded(find_unknown(proposer) or Unknown("no model class for the target"), None)
    load = classes.class_attribute(interp, proposer.cls, LOAD)
    if not isinstance(load, FunctionValue):
        return _Loaded(Unknown(f"{proposer.cls.name} has no {LOAD}"), None)
    for model in _models(interp, target):
        model.attributes["modules"] = _Modules(target_is_neox)
    ropes = _Ropes(session)
    drafts: list[draft_layers.Draft] = []
    interp.natives[GET] = _builder(session, ropes, drafts)
    stopped: Raised | None = None
    try:
        interp.enter(load, (proposer, target), {})
    except Raised as raised:
        stopped = raised
    if not drafts:
        if stopped is not None:
            raise stopped
        return _Loaded(Unknown(f"{LOAD} makes no draft model that was seen"), None)
    if not ropes.made:
        why = drafts[0].unknown or drafts[0].refused or "its layers make no rotary embedding that was seen"
        return _Loaded(Unknown(f"the draft model: {why}"), None)
    steps = tuple(_steps(session, ropes))
    missing = find_unknown([(neox, theta) for neox, theta, _ in ropes.made])
    if missing is not None:
        return _Loaded(missing, None, steps)
    if len({(neox, theta) for neox, theta, _ in ropes.made}) > 1:
        return _Loaded(Unknown("the draft layers rotate in several ways", ropes.made[-1][2]), None, steps)
    neox, theta, _ = ropes.made[0]
    return _Loaded(LAYOUTS.get(neox, Unknown(f"{NEOX} is {neox!r}")), theta, steps)


def _builder(
    session: Session, ropes: _Ropes, drafts: list[draft_layers.Draft]
) -> Callable[[Interpreter, tuple[Value, ...], dict[str, Value]], Value]:
    """``get_model()``: the draft model is built now, with its config as it stands."""

    def get_model(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:  # noqa: ARG001
        interp.natives[ROPE] = ropes
        ropes.made.clear()
        drafts.append(draft_layers.construct(session))
        del interp.natives[ROPE]
        return drafts[-1].model

    return get_model


# -- the target's layout ---------------------------------------------------------------


@dataclass(frozen=True)
class _Modules(Symbol):
    """``model.modules``: all that matters of a target's modules is how they rotate."""

    neox: bool

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """One module that rotates."""
        return [Instance(None, {NEOX: self.neox}, complete=False)]


def _models(interp: Interpreter, target: Instance) -> Iterator[Instance]:
    """The target, and its language model where it wraps one."""
    yield target
    language = interp.natives.get(LANGUAGE)
    part = language(interp, (target,), {}) if language is not None else None
    if isinstance(part, Instance):
        yield part


def _target_style(session: Session) -> Value:
    """Whether the target rotates in halves, by the rotary embedding of a decoder layer's attention."""
    interp = session.interp
    target = target_layers.target_model(session)
    if target is None:
        return Unknown("no model class for the target")
    ropes = _Ropes(session)
    interp.natives[ROPE] = ropes
    for model in reversed(list(_models(interp, target))):
        decoder = _attribute(interp, model, "model")
        if isinstance(decoder, Instance):
            setting = target_layers.layer_settings(session, decoder)
            try:
                for attention in _instances(setting(name) for name in ATTENTIONS):
                    for name in ROTARIES:
                        _attribute(interp, attention, name)
            except Raised as raised:
                return Unknown(f"how the target rotates: {raised}", raised.stack[-1])
    styles = {neox for neox, _, _ in ropes.made if isinstance(neox, bool)}
    return styles.pop() if len(styles) == 1 else Unknown("how the target rotates")


def _attribute(interp: Interpreter, owner: Instance, name: str) -> Value:
    if owner.cls is None:
        return NotImplemented
    frame = Frame(interp.globals_of(owner.cls.module))
    return interp.attribute_or_missing(frame, owner.cls.node, owner, name)


def _instances(values: Iterator[Value]) -> Iterator[Instance]:
    for value in values:
        options = value.options if isinstance(value, OneOf) else (value,)
        yield from (option for option in options if isinstance(option, Instance))


# -- evidence --------------------------------------------------------------------------


def _steps(session: Session, ropes: _Ropes) -> Iterator[Step]:
    trace = session.interp.trace
    seen = set()
    for event in trace.of(Happening.STORE):
        if event.name.startswith("draft config.") and NEOX in event.name and event.place not in seen:
            seen.add(event.place)
            yield Step(event.place, f"{event.name} is overwritten while the draft model is loaded")
    for event in trace.of(Happening.READ):
        if event.name == f"draft config.{NEOX}" and event.place not in seen:
            seen.add(event.place)
            yield Step(event.place, f"reads {event.name}")
    for place in dict.fromkeys(place for _, _, place in ropes.made):
        yield Step(place, "the draft layer's rotary embedding is made")
