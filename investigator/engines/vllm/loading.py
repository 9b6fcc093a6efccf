"""The draft model as the drafter's ``load_model`` leaves it, beside its target.

``load_model`` gets the target, asks for the draft model, and changes either: a head is shared,
a key of the draft's config is written over. It is followed with a target made of the
release's own classes; the draft model is built where it is asked for, with its config as it
stands then. Once for all questions about what loading does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from investigator.code import classes
from investigator.code.follow import deepen
from investigator.code.interpreter import Frame, Interpreter
from investigator.code.program import Program
from investigator.code.trace import Happening
from investigator.code.values import (
    ABSENT,
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
from investigator.engines.interface import Step
from investigator.engines.vllm import draft_layers, drafter, mtp, target_layers
from investigator.engines.vllm.rotary import NEOX, ROPE, Rope, Ropes
from investigator.engines.vllm.states import State
from investigator.engines.vllm.world import Session, World
from investigator.model import Runner

LOAD = "load_model"
GET = "get_model"
HEAD = "lm_head"
COMPUTE = "compute_logits"
LOGITS, EMBEDDING = "LogitsProcessor", "VocabParallelEmbedding"
EMBEDDING_HINT = "vllm/model_executor/layers/vocab_parallel_embedding.py"
OWN_HEAD, OWN_EMBEDDING = "has_own_lm_head", "has_own_embed_tokens"
LANGUAGE = "SupportsMultiModal.get_language_model"
TARGETS, DRAFTS = "target", "draft"


@dataclass(frozen=True)
class Loaded:
    """What loading leaves: whose head the draft model has, how its layers rotate (``neox``, the
    base ``theta``), each with its steps; an Unknown where it is not known.

    ``asked_target``: whether loading looked at how the target rotates. ``ropes``: the rotary
    embeddings that the draft layers asked for.
    """

    head: Value
    neox: Value
    theta: Value
    head_steps: tuple[Step, ...] = ()
    rope_steps: tuple[Step, ...] = ()
    asked_target: bool = False
    ropes: tuple[Rope, ...] = ()


def loaded(world: World, runner: Runner, *, target_is_neox: bool = True) -> Loaded:
    """Load the draft model on one runner, beside a target that rotates in halves or in pairs.

    All its layers get full attention: what loading does is no matter of windows, and a
    refusal of mixed drafters must not hide it.
    """
    plain = world.all_full()

    def load(program: Program) -> Loaded:
        there = replace(plain, program=program)
        return deepen(
            lambda follow: _loaded(there.start(runner, follow=follow), target_is_neox),
            _left_alone,
        )

    name = f"loaded {runner.value} {target_is_neox} {plain.identity}"
    return world.program.shared(name, load)


def _left_alone(found: Loaded) -> Unknown | None:
    """What was left alone, among the things that are not known."""
    missing = [u for value in (found.head, found.neox, found.theta) if (u := find_unknown(value)) is not None]
    return next((unknown for unknown in missing if unknown.not_followed is not None), None)


def _loaded(session: Session, target_is_neox: bool) -> Loaded:
    try:
        return _follow(session, target_is_neox)
    except Raised as raised:
        return _nothing(
            Unknown(f"following the loading of the draft model ended in {raised}", raised.stack[-1])
        )
    except BudgetSpent as spent:
        return _nothing(Unknown(str(spent), spent.place))


def _nothing(why: Unknown) -> Loaded:
    return Loaded(why, why, why)


def _follow(session: Session, target_is_neox: bool) -> Loaded:
    interp = session.interp
    target = target_layers.target_model(session)
    if target is None:
        return _nothing(Unknown("no model class for the target's architecture is registered"))
    proposer = drafter.drafter(session)
    if not isinstance(proposer, Instance) or proposer.cls is None:
        return _nothing(find_unknown(proposer) or Unknown("the drafter"))
    load = classes.class_attribute(interp, proposer.cls, LOAD)
    if not isinstance(load, FunctionValue):
        return _nothing(Unknown(f"{proposer.cls.name} has no {LOAD}"))
    modules = Modules(target_is_neox)
    models = list(language_models(interp, target))
    for model in models:
        model.attributes["modules"] = modules
    heads = list(_marked_heads(interp, models))
    builder = _Builder(session)
    interp.natives[GET] = builder
    logits = Logits()
    if mtp.is_mtp(session.world.checkpoint):
        embedding = session.class_named(EMBEDDING, EMBEDDING_HINT)
        interp.natives[LOGITS] = lambda *_: logits
        # An MTP drafter's token embedding is as wide as its target's.
        interp.natives[EMBEDDING] = lambda *_: Instance(embedding, {"weight": State(0)}, complete=False)
    stopped: Raised | None = None
    try:
        interp.enter(load, (proposer, target), {})
    except Raised as raised:
        stopped = raised
    if builder.draft is None:
        if stopped is not None:
            raise stopped
        return _nothing(Unknown(f"{LOAD} makes no draft model that was seen"))
    ended = None if stopped is None else Unknown(f"loading ended in {stopped}", stopped.stack[-1])
    neox, theta = _rotation(builder)
    whose = _used_head(builder, heads, logits) if LOGITS in interp.natives else _head(builder, heads)
    return Loaded(
        head=ended or whose,
        neox=neox,
        theta=theta,
        head_steps=tuple(_head_steps(builder)),
        rope_steps=tuple(_rope_steps(builder)),
        asked_target=modules.asked,
        ropes=tuple(builder.ropes.made),
    )


@dataclass
class _Builder:
    """Stands in for ``get_model()``: builds the draft model now, and keeps how it rotates."""

    session: Session
    draft: draft_layers.Draft | None = None
    own_head: Value = None
    begin: int = 0
    ropes: Ropes = field(init=False)

    def __post_init__(self) -> None:
        self.ropes = Ropes(self.session)

    def __call__(self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """The draft model."""
        interp.natives[ROPE] = self.ropes
        self.ropes.made.clear()
        self.draft = draft_layers.construct(self.session)
        del interp.natives[ROPE]
        model = self.draft.model
        if isinstance(model, Instance):
            model.label = "draft model"
            if mtp.is_mtp(self.session.world.checkpoint):
                _without_flags(interp, model)
            else:
                model.attributes[OWN_HEAD] = _brings_head(self.session.world)
            self.own_head = model.attributes.get(HEAD)
        self.begin = len(interp.trace.events)
        return model


def _without_flags(interp: Interpreter, model: Instance) -> None:
    """Nothing tells an MTP draft model what its weights brought, unless its own class does."""
    cls = model.cls
    flags = (OWN_HEAD, OWN_EMBEDDING) if cls is not None and model.made_by is None else ()
    absent = {name for name in flags if cls and classes.class_attribute(interp, cls, name) is NotImplemented}
    if absent:
        model.made_by = lambda name: ABSENT if name in absent else NotImplemented


def _brings_head(world: World) -> bool:
    """Whether the checkpoint brings a head of its own, by the names of its weights."""
    tensors = world.checkpoint.draft.tensors
    return tensors is not None and any(HEAD in name for name in tensors)


# -- the target ------------------------------------------------------------------------


@dataclass
class Modules(Symbol):
    """``model.modules``: all that matters of a target's modules is how they rotate."""

    neox: bool
    asked: bool = False

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """One module that rotates."""
        self.asked = True
        return [Instance(None, {NEOX: self.neox}, complete=False)]


def language_models(interp: Interpreter, target: Instance) -> Iterator[Instance]:
    """The target, and its language model where it wraps one."""
    yield target
    language = interp.natives.get(LANGUAGE)
    part = language(interp, (target,), {}) if language is not None else None
    if isinstance(part, Instance):
        part.label = part.label or "target language model"
        yield part


def _marked_heads(interp: Interpreter, models: list[Instance]) -> Iterator[Instance]:
    """The heads of the target's models: each is replaced by an object to be recognised by,
    wherever the model surely has one."""
    for owner in models:
        assert owner.cls is not None
        frame = Frame(interp.globals_of(owner.cls.module))
        value = interp.attribute_or_missing(frame, owner.cls.node, owner, HEAD)
        options = value.options if isinstance(value, OneOf) else (value,)
        if all(isinstance(option, Instance) or _is_made_elsewhere(option) for option in options):
            marked = Instance(None, {}, complete=False, label="target head")
            owner.attributes[HEAD] = marked
            yield marked


def _is_made_elsewhere(value: Value) -> bool:
    return isinstance(value, Unknown) and value.not_followed is not None


@dataclass
class Logits(Symbol):
    """Stands in for the module that computes logits: keeps the heads that it is handed."""

    heads: list[Value] = field(default_factory=list)

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """Logits of the head that comes first."""
        self.heads.append(arguments[0] if arguments else keywords.get(HEAD))
        return Unknown("logits")


# -- what came of it -------------------------------------------------------------------


def _head(builder: _Builder, heads: list[Instance]) -> Value:
    assert builder.draft is not None
    model = builder.draft.model
    if not isinstance(model, Instance):
        why = builder.draft.unknown or builder.draft.refused
        return Unknown(f"the draft model could not be built: {why}")
    now = model.attributes.get(HEAD)
    if any(now is head for head in heads):
        return TARGETS
    if now is builder.own_head and now is not None:
        return DRAFTS
    return find_unknown(now) or Unknown(f"the draft model's head is {now!r}")


def _used_head(builder: _Builder, heads: list[Instance], logits: Logits) -> Value:
    """Whose head an MTP draft model computes logits with: some have one in each of their layers."""
    model = builder.draft.model if builder.draft is not None else None
    interp = builder.session.interp
    compute = (
        classes.class_attribute(interp, model.cls, COMPUTE)
        if isinstance(model, Instance) and model.cls is not None
        else None
    )
    if not isinstance(compute, FunctionValue):
        return Unknown(f"the draft model has no {COMPUTE}")
    logits.heads.clear()
    interp.enter(compute, (model, Unknown("the draft's hidden state")), {})
    used = logits.heads[-1] if logits.heads else None
    if any(used is head for head in heads):
        return TARGETS
    if isinstance(used, Instance):
        return DRAFTS
    return find_unknown(used) or Unknown(f"the head that {COMPUTE} hands on is {used!r}")


def _rotation(builder: _Builder) -> tuple[Value, Value]:
    """Layout and base of the draft layers, where all have the same."""
    made = builder.ropes.made
    if not made:
        assert builder.draft is not None
        why = builder.draft.unknown or builder.draft.refused or "its layers make no rotary embedding"
        return Unknown(f"the draft model: {why}"), None
    if (missing := find_unknown([(rope.neox, rope.theta) for rope in made])) is not None:
        return missing, None
    if len({(rope.neox, rope.theta) for rope in made}) > 1:
        return Unknown("the draft layers rotate in several ways", made[-1].place), None
    return made[0].neox, made[0].theta


# -- evidence --------------------------------------------------------------------------


def _head_steps(builder: _Builder) -> Iterator[Step]:
    """Where a head is asked for, and where the target's is put in the draft's place."""
    assert builder.draft is not None
    seen = set()
    for event in builder.session.interp.trace.events[builder.begin :]:
        if not event.name.endswith(f".{HEAD}") or event.place in seen:
            continue
        if event.kind is Happening.READ:
            has = "has no" if event.value is NotImplemented else "is asked for its"
            role = f"the {event.name.partition('.')[0]} {has} head"
        elif event.kind is Happening.STORE and event.value[0] is builder.draft.model:
            role = "the target's head takes its place"
        else:
            continue
        seen.add(event.place)
        yield Step(event.place, role)


def _rope_steps(builder: _Builder) -> Iterator[Step]:
    """Where the layout is written over, read, and used."""
    trace = builder.session.interp.trace
    seen = set()
    key = f"draft config.{NEOX}"
    for kind, role in (
        (Happening.STORE, f"{key} is overwritten while the draft model is loaded"),
        (Happening.READ, f"reads {key}"),
    ):
        for event in trace.of(kind):
            if event.name == key and event.place not in seen:
                seen.add(event.place)
                yield Step(event.place, role)
    for place in dict.fromkeys(rope.place for rope in builder.ropes.made):
        yield Step(place, "the draft layer's rotary embedding is made")
