"""How the draft layers rotate queries and keys, once the draft model is loaded beside its target.

Loaded beside a target that rotates in halves (NeoX) and beside one that rotates in pairs, the
draft must come out the same; where it does not, its layout is the target's.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.interpreter import Frame, Interpreter
from investigator.code.syntax import Place, descendants, field, string_value, text
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
from investigator.engines.interface import Step, Told
from investigator.engines.vllm import runners, target_layers
from investigator.engines.vllm.loading import Loaded, language_models, loaded
from investigator.engines.vllm.rotary import NEOX, PARAMETERS, ROPE, Rope, Ropes, kept
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.methods import MTP
from investigator.model import Json, Known, NotKnown, Runner

LAYOUTS = {True: "halves", False: "pairs"}
ATTENTIONS = ("self_attn", "attn", "attention", "self_attention")
ROTARIES = ("rotary_emb", "rotary", "rope")
"""What decoder layers call their attention, and attentions their rotary embedding."""


def rotation(world: World, runner: Runner) -> Told:
    """``Known({"layout": "halves" | "pairs" | None, "theta": t, "from": "draft" | "target" | "shared"})``.

    ``from``: whose layout it is; ``layout`` None: the target's, which is not known. ``shared``: the
    draft layers have the very rotary embedding that the target writes its layout into. Of an MTP
    drafter the target's own layout is told as well, as ``target``.
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
            return _not_known(missing, found.rope_steps)
    answer: dict[str, Json] = {"layout": LAYOUTS[here.neox], "theta": here.theta, "from": "draft"}
    steps = here.rope_steps
    session = world.start(runner)
    target = target_rotation(session)
    if here.neox != there.neox:
        answer["from"] = "target"
        style = target.style
        answer["layout"] = LAYOUTS[(here if style else there).neox] if isinstance(style, bool) else None
    elif target.later is not None and target.style != here.neox:
        shared = _shared(session, target, here)
        if (missing := find_unknown(shared)) is not None:
            return _not_known(missing, steps)
        if isinstance(shared, tuple):
            answer |= {"layout": LAYOUTS[target.style], "from": "shared"}
            steps = (*shared, *steps)
    if world.checkpoint.method == MTP.name:
        answer["target"] = LAYOUTS[target.style] if isinstance(target.style, bool) else None
    return Told(outcome=Known(answer), steps=steps, assumptions=ASSUMPTIONS)


def _not_known(missing: Unknown, steps: tuple[Step, ...]) -> Told:
    outcome = NotKnown(f"how the draft layers rotate: {missing}")
    return Told(outcome=outcome, steps=steps, assumptions=ASSUMPTIONS)


@dataclass(frozen=True)
class Target:
    """How the target's decoder layers rotate: in halves (``style``, an Unknown where it is not
    known), by which rotary embeddings, and where a layout is written into them ``later``, once
    they are made."""

    style: Value
    made: tuple[Rope, ...] = ()
    later: Place | None = None


def target_rotation(session: Session) -> Target:
    """How the target rotates, by the rotary embedding of a decoder layer's attention."""
    interp = session.interp
    target = target_layers.target_model(session)
    if target is None:
        return Target(Unknown("no model class for the target's architecture is registered"))
    ropes = Ropes(session)
    interp.natives[ROPE] = ropes
    try:
        *_, model = language_models(interp, target)
        decoder = _attribute(interp, model, "model")
        if isinstance(decoder, Instance):
            setting = target_layers.layer_settings(session, decoder)
            for attention in _instances(setting(name) for name in ATTENTIONS):
                for name in ROTARIES:
                    _attribute(interp, attention, name)
        over = _set_later(session, model)
    except Raised as raised:
        return Target(Unknown(f"how the target rotates: {raised}", raised.stack[-1]))
    except BudgetSpent as spent:
        return Target(Unknown(f"how the target rotates: {spent}", spent.place))
    if over is not None:
        return Target(over[0], tuple(_as_configured(session, model, rope) for rope in ropes.made), over[1])
    styles = {rope.neox for rope in ropes.made if isinstance(rope.neox, bool)}
    return Target(styles.pop() if len(styles) == 1 else Unknown("how the target rotates"), tuple(ropes.made))


def _shared(session: Session, target: Target, draft: Loaded) -> tuple[Step, ...] | Value:
    """The steps by which draft layers come to have the target's rotary embedding; False where they
    have their own."""
    keeps = kept(session.interp)
    if keeps is None:
        return False
    if not target.made or not isinstance(target.style, bool):
        return Unknown("whether the draft layers share the target's rotary embedding")
    same = [mine.same_as(theirs) for mine in draft.ropes for theirs in target.made]
    if not any(value is True for value in same):
        return find_unknown(same) or False
    assert target.later is not None
    return (
        Step(target.later, "the target writes its layout into the rotary embedding of its layers"),
        Step(keeps, "layers that ask with the same settings, as the draft's do, get that one"),
    )


def _set_later(session: Session, model: Instance) -> tuple[Value, Place] | None:
    """What a model's ``__init__`` writes over the layout of layers that are made already, and where;
    None where none of its classes does."""
    for function, left, right in _written(session, model):
        if left.type == "attribute" and text(field(left, "attribute")) == NEOX:
            value = lazy.value_at(session.interp, function, right, model, session.supply)
            known = value if isinstance(value, bool) else Unknown("what the layout is written over with")
            return known, function.module.place(left)
    return None


def _as_configured(session: Session, model: Instance, rope: Rope) -> Rope:
    """A target's rotary embedding with what its model's ``__init__`` puts into the settings first."""
    given = rope.settings.get(PARAMETERS)
    if not isinstance(given, dict):
        return rope
    put: dict[Value, Value] = {}
    for function, left, right in _written(session, model):
        if left.type == "subscript" and text(field(left, "value")).endswith(PARAMETERS):
            key = string_value(field(left, "subscript"))
            put[key] = lazy.value_at(session.interp, function, right, model, session.supply)
    return replace(rope, settings={**rope.settings, PARAMETERS: {**given, **put}})


def _written(session: Session, model: Instance) -> Iterator[tuple[FunctionValue, Node, Node]]:
    """The assignments to attributes and keys in the ``__init__`` of a model's classes: the function,
    the left side, the right side."""
    assert model.cls is not None
    for base in classes.mro(session.interp, model.cls):
        made = (
            classes.own_attribute(session.interp, base, "__init__") if isinstance(base, ClassValue) else None
        )
        if not isinstance(made, FunctionValue):
            continue
        for node in descendants(field(made.node, "body"), "assignment"):
            left, right = field(node, "left"), node.child_by_field_name("right")
            if right is not None and left.type in ("attribute", "subscript"):
                yield made, left, right


def _attribute(interp: Interpreter, owner: Instance, name: str) -> Value:
    if owner.cls is None:
        return NotImplemented
    frame = Frame(interp.globals_of(owner.cls.module))
    return interp.attribute_or_missing(frame, owner.cls.node, owner, name)


def _instances(values: Iterable[Value]) -> Iterator[Instance]:
    for value in values:
        options = value.options if isinstance(value, OneOf) else (value,)
        yield from (option for option in options if isinstance(option, Instance))
