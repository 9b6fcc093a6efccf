"""How each draft layer attends: the draft model is built, layer by layer, and its attentions read.

The draft model's class is the ``EntryClass`` of the checkpoint's architecture; its
``__init__`` is followed. Every ``RadixAttention(...)`` it makes is kept with the arguments it
was given; what the attention makes of them is worked out from its own ``__init__``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from investigator.code import lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Interpreter, Native
from investigator.code.syntax import Place
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    Instance,
    Raised,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines import building
from investigator.engines.finding import class_named, keyword_at
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import error_left_open, stopped
from investigator.engines.sglang import backends, roles
from investigator.engines.sglang.world import ASSUMPTIONS, Session, World
from investigator.model import Known, NotKnown, Outcome, Unsupported

ATTENTION = "RadixAttention"
ATTENTION_HINT = "sglang/srt/layers/radix_attention.py"
WINDOW_KEYS = ("layer_types", "sliding_window", "swa_window_size", "use_swa")
CAUSALITY_KEYS = ("layer_types", "is_causal", "causal")
SEES_ALL, CAUSAL = "ENCODER_ONLY", "DECODER"
"""The two kinds of attention that a text model's layers have."""


@dataclass(frozen=True)
class Built:
    """One draft attention: the object, and where it was made."""

    attention: Instance
    place: Place

    def setting(self, name: str) -> Value:
        """An attribute as the attention computes it."""
        assert self.attention.made_by is not None
        return self.attention.made_by(name)


@dataclass
class Builder:
    """Stands in for the engine's attention class while the draft model is built."""

    session: Session
    built: list[Built] = field(default_factory=list)

    def __call__(self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """``RadixAttention(*args, **kwargs)``: kept, and worked out on demand."""
        cls = class_named(interp, ATTENTION, ATTENTION_HINT)
        if cls is None:
            return Unknown(f"no class {ATTENTION} was found")
        made = lazy.instance(interp, cls, lazy.bound(interp, cls, args, kwargs))
        self.built.append(Built(made, interp.stack[-1]))
        return made


@dataclass(frozen=True)
class Draft:
    """The draft model as built: its attentions in order, or why it could not be built."""

    session: Session
    built: tuple[Built, ...]
    model: Value = None
    refused: Raised | None = None
    unknown: str | None = None
    unsupported: str | None = None


def build(
    world: World, follow: frozenset[str] = frozenset(), natives: Mapping[str, Native] | None = None
) -> Draft:
    """Build the draft model; what decides whether the building stops is followed, too."""
    return deepen(
        lambda more: _construct(world.start(follow=follow | more, natives=natives)),
        lambda draft: error_left_open(draft.session.interp.trace),
    )


def _construct(session: Session) -> Draft:
    interp = session.interp
    builder = Builder(session)
    interp.natives[ATTENTION] = builder
    cls = draft_class(session)
    if cls is None:
        names = session.draft_architectures
        return Draft(session, (), unsupported=f"the registry has no draft model {' or '.join(names)}")
    try:
        given: dict[str, Value] = {"config": session.draft_config, "quant_config": None, "prefix": ""}
        model = interp.construct(cls, (), given, None)
    except Raised as raised:
        return Draft(session, tuple(builder.built), refused=raised)
    except BudgetSpent as spent:
        return Draft(session, tuple(builder.built), unknown=str(spent))
    return Draft(session, tuple(builder.built), model)


def draft_class(session: Session) -> ClassValue | None:
    """The class that the registry gives for the drafter's architecture."""
    found = (roles.registered(session.interp, name) for name in session.draft_architectures)
    return next((cls for cls in found if cls is not None), None)


Meaning = Callable[[Value], Value]
"""From a setting of an attention to the contract's common term; Unknown where it has none."""


@dataclass(frozen=True)
class _Read:
    outcome: Outcome
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None


def windows(world: World) -> Told:
    """``Known([w0, w1, ...])``: each draft layer's window in tokens, None where it sees everything."""
    return _per_layer(world, "sliding_window_size", _window, WINDOW_KEYS)


def causality(world: World) -> Told:
    """``Known([c0, c1, ...])``: whether each draft layer's attention is causal in the block."""
    return _per_layer(world, "attn_type", _causal, CAUSALITY_KEYS)


def _per_layer(world: World, setting: str, meaning: Meaning, keys: tuple[str, ...]) -> Told:
    found = deepen(lambda follow: _ask(world, setting, meaning, keys, follow), lambda found: found.missing)
    note = backends.condition(world.start()) if isinstance(found.outcome, Known) else ""
    return Told(outcome=found.outcome, steps=found.steps, assumptions=ASSUMPTIONS, note=note)


def _ask(
    world: World, setting: str, meaning: Meaning, keys: tuple[str, ...], follow: frozenset[str]
) -> _Read:
    draft = build(world, follow)
    trace = draft.session.interp.trace
    reads = tuple(Step(e.place, f"reads {e.name}") for e in building.config_reads(trace, keys))
    if draft.unsupported is not None:
        return _Read(Unsupported(draft.unsupported))
    if draft.refused is not None:
        raised = draft.refused
        outcome = stopped(world.program, raised, "building the draft model")
        return _Read(outcome, (*reads, Step(raised.stack[-1], "stops with an error")))
    if draft.unknown is not None:
        return _Read(NotKnown(draft.unknown), reads)
    wanted = world.checkpoint.num_draft_layers
    if len(draft.built) != wanted:
        why = f"{len(draft.built)} attentions were seen made for {wanted} draft layers"
        return _Read(NotKnown(why), reads, building.skipped(trace, ATTENTION))
    values = [meaning(built.setting(setting)) for built in draft.built]
    places = dict.fromkeys(argument(draft.session, built.place, setting) for built in draft.built)
    steps = (*reads, *(Step(place, "the draft layer's attention is made") for place in places))
    if (missing := find_unknown(values)) is not None:
        return _Read(NotKnown(f"{setting} of a draft layer: {missing}"), steps, missing)
    return _Read(Known(values), steps)


def argument(session: Session, call: Place, name: str) -> Place:
    """The line of an attention's construction that gives a setting, else the construction."""
    return keyword_at(session.interp, call, lambda given: given == name)


def _window(size: Value) -> Value:
    """The attention keeps how many keys left of the query's own it sees; less than 0: all."""
    if not isinstance(size, int):
        return find_unknown(size) or Unknown(f"the window {size!r}")
    return size + 1 if size >= 0 else None


def _causal(kind: Value) -> Value:
    name = kind.attributes.get("name") if isinstance(kind, Instance) else None
    if name in (SEES_ALL, CAUSAL):
        return name == CAUSAL
    return find_unknown(kind) or Unknown(f"the kind of attention {kind!r}")
