"""How draft layers rotate queries and keys, and how their target's do: as their embeddings are made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from investigator.code import lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Interpreter, Native
from investigator.code.syntax import Place
from investigator.code.values import (
    BudgetSpent,
    FunctionValue,
    Instance,
    OneOf,
    Raised,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines import building
from investigator.engines.interface import Step, Told
from investigator.engines.sglang import draft_layers, target_layers
from investigator.engines.sglang.world import Session, World
from investigator.methods import MTP
from investigator.model import Json, Known, NotKnown, Unsupported

MAKERS = ("get_rope", "get_rope_wrapper")
"""The functions that make rotary embeddings."""
HINTS = (
    "sglang/srt/layers/rotary_embedding/__init__.py",
    "sglang/srt/layers/rotary_embedding/factory.py",
    "sglang/srt/layers/rotary_embedding.py",
)
NEOX = "is_neox_style"
LAYOUTS = {True: "halves", False: "pairs"}
ATTENTIONS = ("self_attn", "attn", "attention", "self_attention")
ROTARIES = ("rotary_emb", "rotary", "rope")
"""What decoder layers call their attention, and attentions or layers their rotary embedding."""
LOOKED_AT = 8
"""So many layers of a target are looked at, the first ones: kinds of layers take turns."""


@dataclass
class Ropes:
    """Stands in for the functions that make rotary embeddings: keeps what each is made with."""

    made: list[tuple[Value, Value, Place]] = field(default_factory=list)

    def natives(self) -> Mapping[str, Native]:
        """What takes the functions' places, by their names."""
        return {name: self._making(name) for name in MAKERS}

    def _making(self, name: str) -> Native:
        def make(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
            given = dict(kwargs)
            for module in interp.program.mentioning([f"def {name}("], HINTS):
                function = interp.global_name(module, name)
                if isinstance(function, FunctionValue):
                    local = interp.local_bindings(function)
                    given = {**dict(zip(local.parameters, args, strict=False)), **kwargs}
                    for parameter, default in local.defaults.items():
                        if parameter not in given:
                            given[parameter] = lazy.value_at(interp, function, default, None)
                    break
            theta = given.get("base", Unknown("the base of the angles"))
            self.made.append((given.get(NEOX, Unknown(NEOX)), theta, interp.stack[-1]))
            return Unknown("rotary embedding")

        return make


def rotation(world: World) -> Told:
    """``Known({"layout": "halves" | "pairs", "theta": t, "from": "draft"})``; of an MTP drafter with the
    target's own layout as ``target``, None where that is not known."""
    return deepen(lambda follow: _rotation(world, follow), lambda told: told[1])[0]


def _rotation(world: World, follow: frozenset[str]) -> tuple[Told, Unknown | None]:
    ropes = Ropes()
    draft = draft_layers.build(world, follow, ropes.natives())
    if draft.unsupported is not None:
        return Told(outcome=Unsupported(draft.unsupported)), None
    trace = draft.session.interp.trace
    if not ropes.made:
        why = draft.unknown or draft.refused or "its layers make no rotary embedding that was seen"
        left = building.skipped(trace, draft_layers.ATTENTION)
        return Told(outcome=NotKnown(f"the draft model: {why}")), left
    reads = building.config_reads(trace, ("rope_theta", "rope_parameters"))
    steps = [Step(e.place, f"reads {e.name}") for e in reads]
    steps += [
        Step(place, "the draft layer's rotary embedding is made")
        for place in dict.fromkeys(draft_layers.argument(draft.session, p, "base") for *_, p in ropes.made)
    ]
    missing = find_unknown([(neox, theta) for neox, theta, _ in ropes.made])
    if missing is not None:
        return Told(outcome=NotKnown(f"how the draft layers rotate: {missing}"), steps=tuple(steps)), missing
    if len({(neox, theta) for neox, theta, _ in ropes.made}) > 1:
        return Told(outcome=NotKnown("the draft layers rotate in several ways"), steps=tuple(steps)), None
    neox, theta, _ = ropes.made[0]
    answer: dict[str, Json] = {"layout": LAYOUTS[bool(neox)], "theta": _whole(theta), "from": "draft"}
    if world.checkpoint.method == MTP.name:
        style = target_style(world)
        answer["target"] = LAYOUTS[style] if isinstance(style, bool) else None
    return Told(outcome=Known(answer), steps=tuple(steps), assumptions=world.assumptions), None


def _whole(number: Value) -> Json:
    """``float(1000000)`` is the number that a config writes without a point."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


# -- the target ------------------------------------------------------------------------


def target_style(world: World) -> Value:
    """Whether the target rotates in halves, by the rotary embeddings of its first layers."""
    ropes = Ropes()
    session = world.start(natives=ropes.natives())
    try:
        found = target_layers.target_model(session)
        if not isinstance(found, tuple):
            return Unknown(found.reason)
        model, stack = found
        for inner in (model, *_parts(session, model, ("model", "language_model"))):
            _attribute(session, inner, "layers")
        for layer in stack[:LOOKED_AT]:
            made = layer.made
            for holder in (made, *_parts(session, made, ATTENTIONS)):
                for name in ROTARIES:
                    _attribute(session, holder, name)
    except (Raised, BudgetSpent) as stopped:
        return Unknown(f"how the target rotates: {stopped}")
    styles = {neox for neox, *_ in ropes.made}
    certain = len(styles) == 1 and all(isinstance(style, bool) for style in styles)
    return styles.pop() if certain else Unknown("how the target rotates")


def _parts(session: Session, owner: Value, names: tuple[str, ...]) -> Iterator[Instance]:
    for name in names:
        value = _attribute(session, owner, name)
        options = value.options if isinstance(value, OneOf) else (value,)
        yield from (option for option in options if isinstance(option, Instance))


def _attribute(session: Session, owner: Value, name: str) -> Value:
    if not isinstance(owner, Instance) or owner.cls is None:
        return NotImplemented
    return session.interp.attribute_or_missing(session.frame(owner.cls), owner.cls.node, owner, name)
