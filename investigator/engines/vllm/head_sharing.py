"""Whose output head the draft model computes its logits with, once it is loaded.

The drafter's ``load_model`` gets the target, makes the draft model, and puts the target's head
in place of the draft's, or does not. It is followed with a draft model and a target built
from the release's own classes; what the draft model then holds as ``lm_head`` is the answer.
"""

from dataclasses import dataclass

from investigator.code import classes
from investigator.code.follow import deepen
from investigator.code.interpreter import Frame, Interpreter
from investigator.code.trace import Happening
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
from investigator.engines.interface import Step, Told
from investigator.engines.vllm import draft_layers, drafter, runners, target_layers
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.model import Known, NotKnown, Outcome, Runner

LOAD = "load_model"
GET = "get_model"
HEAD = "lm_head"
OWN = "has_own_lm_head"
LANGUAGE = "SupportsMultiModal.get_language_model"
TARGETS, DRAFTS = "target", "draft"


@dataclass(frozen=True)
class _Head:
    outcome: Outcome
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None


def head(world: World, runner: Runner) -> Told:
    """``Known("target")`` or ``Known("draft")``: whose head the draft's logits come from."""
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    found = deepen(lambda follow: _head(world.all_full(), runner, follow), lambda found: found.missing)
    return Told(outcome=found.outcome, steps=found.steps, assumptions=ASSUMPTIONS)


def _head(world: World, runner: Runner, follow: frozenset[str]) -> _Head:
    draft = draft_layers.build(world, runner, follow)
    model = draft.model
    if not isinstance(model, Instance):
        return _Head(NotKnown(draft.unknown or f"the draft model could not be built: {draft.refused}"))
    model.label = "draft model"
    model.attributes[OWN] = has_own_head(world)
    try:
        return _loaded(draft.session, model)
    except Raised as raised:
        place = (Step(raised.stack[-1], "raises"),)
        return _Head(NotKnown(f"following the loading of the draft model ended in {raised}"), place)
    except BudgetSpent as spent:
        return _Head(NotKnown(str(spent)))


def has_own_head(world: World) -> bool:
    """Whether the checkpoint brings a head of its own, by the names of its weights."""
    tensors = world.checkpoint.draft.tensors
    return tensors is not None and any(HEAD in name for name in tensors)


def _loaded(session: Session, model: Instance) -> _Head:
    """Load the draft model beside its target, and look at its head."""
    interp = session.interp
    target = target_layers.target_model(session)
    if target is None:
        return _Head(NotKnown("no model class for the target's architecture is registered"))
    proposer = drafter.drafter(session)
    if not isinstance(proposer, Instance) or proposer.cls is None:
        missing = find_unknown(proposer)
        return _Head(NotKnown(f"the drafter: {missing}"), missing=missing)
    load = classes.class_attribute(interp, proposer.cls, LOAD)
    if not isinstance(load, FunctionValue):
        return _Head(NotKnown(f"{proposer.cls.name} has no {LOAD}"))
    own = model.attributes.get(HEAD)

    def get_model(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:  # noqa: ARG001
        return model

    interp.natives[GET] = get_model
    heads = _mark_heads(session, target)
    begin = len(interp.trace.events)
    interp.enter(load, (proposer, target), {})
    now = model.attributes.get(HEAD)
    steps = tuple(_steps(session, model, begin))
    if any(now is head for head in heads):
        return _Head(Known(TARGETS), steps)
    if now is own and now is not None:
        return _Head(Known(DRAFTS), steps)
    missing = find_unknown(now)
    return _Head(NotKnown(f"whose head the draft model uses: {missing or now!r}"), steps, missing)


def _mark_heads(session: Session, target: Instance) -> list[Instance]:
    """The heads of the target, of the whole model and of its language model: each is replaced by
    an object to be recognised by, wherever the model surely has one."""
    interp = session.interp
    owners = [target]
    language = interp.natives.get(LANGUAGE)
    if language is not None:
        part = language(interp, (target,), {})
        if isinstance(part, Instance):
            part.label = part.label or "target language model"
            owners.append(part)
    heads = []
    for owner in owners:
        assert owner.cls is not None
        frame = Frame(interp.globals_of(owner.cls.module))
        value = interp.attribute_or_missing(frame, owner.cls.node, owner, HEAD)
        options = value.options if isinstance(value, OneOf) else (value,)
        if all(isinstance(option, Instance) or _is_made_elsewhere(option) for option in options):
            owner.attributes[HEAD] = Instance(None, {}, complete=False, label="target head")
            heads.append(owner.attributes[HEAD])
    return heads


def _is_made_elsewhere(value: Value) -> bool:
    return isinstance(value, Unknown) and value.not_followed is not None


def _steps(session: Session, model: Instance, begin: int) -> list[Step]:
    """Where the target's head is looked up, and where it is put in the draft's place."""
    steps = []
    events = session.interp.trace.events[begin:]
    for event in events:
        if event.kind is Happening.READ and event.name.endswith(f".{HEAD}"):
            owner = event.name.partition(".")[0]
            has = "has no" if event.value is NotImplemented else "is asked for its"
            steps.append(Step(event.place, f"the {owner} {has} head"))
        if event.kind is Happening.STORE and event.name.endswith(f".{HEAD}") and event.value[0] is model:
            steps.append(Step(event.place, "the target's head takes its place"))
    return list({step.place: step for step in steps}.values())
