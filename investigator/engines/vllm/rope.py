"""How the draft layers rotate queries and keys, once the draft model is loaded beside its target.

Loaded beside a target that rotates in halves (NeoX) and beside one that rotates in pairs, the
draft must come out the same; where it does not, its layout is the target's.
"""

from collections.abc import Iterable, Iterator

from investigator.code import classes, lazy
from investigator.code.interpreter import Frame, Interpreter
from investigator.code.syntax import descendants, field, text
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    FunctionValue,
    Instance,
    OneOf,
    Raised,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines.interface import Told
from investigator.engines.vllm import runners, target_layers
from investigator.engines.vllm.loading import language_models, loaded
from investigator.engines.vllm.rotary import NEOX, ROPE, Ropes
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.methods import MTP
from investigator.model import Json, Known, NotKnown, Runner

LAYOUTS = {True: "halves", False: "pairs"}
ATTENTIONS = ("self_attn", "attn", "attention", "self_attention")
ROTARIES = ("rotary_emb", "rotary", "rope")
"""What decoder layers call their attention, and attentions their rotary embedding."""


def rotation(world: World, runner: Runner) -> Told:
    """``Known({"layout": "halves" | "pairs" | None, "theta": t, "from": "draft" | "target"})``.

    ``from``: whose layout it is; ``layout`` None: the target's, which is not known. Of an MTP drafter
    the target's own layout is told as well, as ``target``.
    """
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    here = loaded(world, runner)
    there = loaded(world, runner, target_is_neox=False) if here.asked_target else here
    for found in (here, there):
        missing = find_unknown([found.neox, found.theta])
        if missing is None and found.neox not in LAYOUTS:
            missing = Unknown(f"the layout is {found.neox!r}")
        if missing is not None:
            outcome = NotKnown(f"how the draft layers rotate: {missing}")
            return Told(outcome=outcome, steps=found.rope_steps, assumptions=ASSUMPTIONS)
    answer: dict[str, Json] = {"layout": LAYOUTS[here.neox], "theta": here.theta, "from": "draft"}
    if here.neox != there.neox:
        style = target_style(world.start(runner))
        answer["from"] = "target"
        answer["layout"] = LAYOUTS[(here if style else there).neox] if isinstance(style, bool) else None
    if world.checkpoint.method == MTP.name:
        style = target_style(world.start(runner))
        answer["target"] = LAYOUTS[style] if isinstance(style, bool) else None
    return Told(outcome=Known(answer), steps=here.rope_steps, assumptions=ASSUMPTIONS)


def target_style(session: Session) -> Value:
    """Whether the target rotates in halves, by the rotary embedding of a decoder layer's attention."""
    interp = session.interp
    target = target_layers.target_model(session)
    if target is None:
        return Unknown("no model class for the target")
    ropes = Ropes(session)
    interp.natives[ROPE] = ropes
    try:
        *_, model = language_models(interp, target)
        later = _set_later(session, model)
        if later is not None:
            return later
        decoder = _attribute(interp, model, "model")
        if isinstance(decoder, Instance):
            setting = target_layers.layer_settings(session, decoder)
            for attention in _instances(setting(name) for name in ATTENTIONS):
                for name in ROTARIES:
                    _attribute(interp, attention, name)
    except Raised as raised:
        return Unknown(f"how the target rotates: {raised}", raised.stack[-1])
    except BudgetSpent as spent:
        return Unknown(f"how the target rotates: {spent}", spent.place)
    styles = {rope.neox for rope in ropes.made if isinstance(rope.neox, bool)}
    return styles.pop() if len(styles) == 1 else Unknown("how the target rotates")


def _set_later(session: Session, model: Instance) -> Value:
    """What a model's ``__init__`` writes over the layout of layers that are made already; None where
    none of its classes does."""
    interp = session.interp
    assert model.cls is not None
    for base in classes.mro(interp, model.cls):
        made = classes.own_attribute(interp, base, "__init__") if isinstance(base, ClassValue) else None
        if not isinstance(made, FunctionValue):
            continue
        for node in descendants(field(made.node, "body"), "assignment"):
            left, right = field(node, "left"), node.child_by_field_name("right")
            if right is not None and left.type == "attribute" and text(field(left, "attribute")) == NEOX:
                value = lazy.value_at(interp, made, right, model, session.supply)
                return value if isinstance(value, bool) else Unknown("what the layout is written over with")
    return None


def _attribute(interp: Interpreter, owner: Instance, name: str) -> Value:
    if owner.cls is None:
        return NotImplemented
    frame = Frame(interp.globals_of(owner.cls.module))
    return interp.attribute_or_missing(frame, owner.cls.node, owner, name)


def _instances(values: Iterable[Value]) -> Iterator[Instance]:
    for value in values:
        options = value.options if isinstance(value, OneOf) else (value,)
        yield from (option for option in options if isinstance(option, Instance))
