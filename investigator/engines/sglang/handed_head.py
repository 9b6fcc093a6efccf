"""The head that an MTP drafter's worker hands over: what the draft model makes of it.

The target gives its embeddings and its head (``get_embed_and_head``), the worker hands both to the draft
model (``set_embed_and_head``), which may take either, or keep its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.follow import deepen
from investigator.code.syntax import descendants, field, named, text
from investigator.code.trace import Happening
from investigator.code.values import (
    ABSENT,
    BudgetSpent,
    ClassValue,
    FunctionValue,
    Instance,
    OneOf,
    Raised,
    Symbol,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines import finding
from investigator.engines.configs import architectures
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import stopped
from investigator.engines.sglang import draft_layers, roles
from investigator.engines.sglang.states import Does
from investigator.engines.sglang.world import ASSUMPTIONS, Session, World
from investigator.model import Known, NotKnown, Unsupported

HEAD, WEIGHT = "lm_head", "weight"
GIVES, HANDS = "get_embed_and_head", "set_embed_and_head"
GIVES_NAMED = "get_embed_and_head_for_draft"
RUNNERS, RUNNER_LIST = ("draft_runner", "draft_model_runner"), "draft_runner_list"
"""What workers call the runner of the draft model, and those of its layers."""
TARGET, DRAFT = "target", "draft"


@dataclass(frozen=True)
class Head(Symbol):
    """The output head of a model, or its weight. ``of``: whose it is."""

    of: str

    def truth(self) -> bool | None:
        """It is there."""
        return True

    def attribute(self, name: str) -> Value:
        """Its weight, and a copy of that, of which rows may be taken, are the same head's still."""
        if name == "clone":
            return Does(lambda *_: self)
        return self if name == WEIGHT else Unknown(f"the {self.of}'s head's {name}")


@dataclass(frozen=True)
class _Each(Symbol):
    """A list of runners, one for each layer: any of them."""

    runner: Instance

    def item(self, key: Value) -> Value:
        """One of them."""
        return self.runner


def mtp_head(world: World, workers: Sequence[ClassValue]) -> Told:
    """``Known("target" | "draft")``: whose output head an MTP drafter computes its logits with, whichever
    of these classes the worker is of."""
    told = [_followed(world, worker) for worker in workers]
    if len({repr(each.outcome) for each in told}) == 1:
        steps = tuple(dict.fromkeys(step for each in told for step in each.steps))
        return replace(told[0], steps=steps)
    reasons = [each.outcome.reason for each in told if isinstance(each.outcome, NotKnown)]
    names = " or ".join(worker.name for worker in workers)
    return Told(outcome=NotKnown(reasons[0] if reasons else f"whose head: the worker is {names or 'open'}"))


def _followed(world: World, worker: ClassValue) -> Told:
    def ask(follow: frozenset[str]) -> tuple[Told, Unknown | None]:
        draft = draft_layers.build(world, follow)
        try:
            told = _left_by(world, draft, worker)
        except (Raised, BudgetSpent) as ended:
            told = Told(outcome=NotKnown(f"how the draft model takes a head: {ended}"))
        return told if isinstance(told, tuple) else (told, None)

    return deepen(ask, lambda found: found[1])[0]


def _left_by(world: World, draft: draft_layers.Draft, worker: ClassValue) -> Told | tuple[Told, Unknown]:
    session, model = draft.session, draft.model
    if draft.unsupported is not None:
        return Told(outcome=Unsupported(draft.unsupported))
    if draft.refused is not None:
        return Told(outcome=stopped(world.program, draft.refused, "building the draft model"))
    if not isinstance(model, Instance) or model.cls is None:
        return Told(outcome=NotKnown(f"the draft model: {draft.unknown or model}"))
    if not _computes_with_it(session, model.cls):
        return Told(outcome=NotKnown(f"which head {model.cls.name} computes its logits with"))
    handing = list(_handing(session, worker, model))
    if len(handing) != 1:
        return Told(outcome=NotKnown(f"{len(handing)} places were seen where a worker hands over a head"))
    ((acting, call, embed, head),) = handing
    frame = session.frame(model.cls)
    own = session.interp.attribute(frame, call, model, HEAD)
    before = _weight(own)
    taking = session.interp.attribute(frame, call, model, HANDS)
    session.interp.call(frame, call, taking, (embed, head), {})
    after = _weight(session.interp.attribute(frame, call, model, HEAD))
    whose = DRAFT if isinstance(own, Instance) and after is before else _whose(after)
    if isinstance(whose, Unknown):
        return Told(outcome=NotKnown(f"the draft model's head: {whose}")), whose
    place = acting.module.place(call)
    steps = [Step(place, "the worker hands the target's embeddings and head to the draft model")]
    stored = session.interp.trace.last(Happening.STORE, lambda event: isinstance(event.value[1], Head))
    if whose == TARGET and stored is not None:
        steps.append(Step(stored.place, "the draft model takes the target's head for its own"))
    return Told(outcome=Known(whose), steps=tuple(steps), assumptions=ASSUMPTIONS)


def _weight(head: Value) -> Value:
    """What is set for a head's weight; None where its own class sets it."""
    return head.attributes.get(WEIGHT) if isinstance(head, Instance) else head


def _whose(kept: Value) -> str | Unknown:
    """Whose the weight of a draft model's head is that was set while it was handed the target's."""
    if isinstance(kept, OneOf) and all(isinstance(each, Head) for each in kept.options):
        owners = {each.of for each in kept.options if isinstance(each, Head)}
        return owners.pop() if len(owners) == 1 else Unknown("it may be either's")
    return kept.of if isinstance(kept, Head) else find_unknown(kept) or Unknown(f"{kept!r}")


def _computes_with_it(session: Session, cls: ClassValue) -> bool:
    """Whether the draft model hands its head to what makes logits in its forward pass."""
    forward = classes.class_attribute(session.interp, cls, "forward")
    if not isinstance(forward, FunctionValue):
        return False
    own = f"{session.interp.local_bindings(forward).first}.{HEAD}"
    return any(
        text(argument) == own
        for call in descendants(field(forward.node, "body"), "call")
        for argument in named(field(call, "arguments"))
    )


def _handing(
    session: Session, worker: ClassValue, model: Instance
) -> Iterator[tuple[FunctionValue, Node, Value, Value]]:
    """The calls that hand a head to the draft model, on the path of this drafter, with what they hand."""
    interp = session.interp
    for cls in (worker, *_made_by(session, worker)):
        around = _surroundings(session, model)
        supply = _supplied(session, around)
        made = lazy.instance(interp, cls, supply, label="draft worker")
        made.attributes.update(around)
        for method in finding.methods(interp, cls):
            for call in finding.calls(method, HANDS):
                if lazy.reached(interp, method, call, made, supply) is False:
                    continue
                given = [lazy.value_at(interp, method, each, made, supply) for each in _given(call)]
                if len(given) == 2:
                    yield method, call, given[0], given[1]


def _given(call: Node) -> list[Node]:
    return [
        field(each, "value") if each.type == "keyword_argument" else each
        for each in named(field(call, "arguments"))
    ]


def _made_by(session: Session, worker: ClassValue) -> Iterator[ClassValue]:
    """The classes that a worker's ``__init__`` makes objects of: one of them may hold the draft model."""
    made = classes.class_attribute(session.interp, worker, "__init__")
    if not isinstance(made, FunctionValue):
        return
    for call in session.interp.local_bindings(made).calls:
        callee = field(call, "function")
        if callee.type == "identifier" and text(callee)[:1].isupper():
            found = lazy.value_at(session.interp, made, callee, None)
            if isinstance(found, ClassValue):
                yield found


def _supplied(session: Session, around: Mapping[str, Value]) -> lazy.Supply:
    def supply(name: str, annotation: str) -> Value:
        return around[name] if name in around else session.supply(name, annotation)

    return supply


def _surroundings(session: Session, model: Instance) -> dict[str, Value]:
    """What a worker stands between: the target's runner, whose model gives its head, and the draft's."""
    embeddings = Instance(None, {}, complete=False, label="target embeddings")
    gives = Does(lambda *_: (embeddings, Head(TARGET)))
    own: dict[str, Value] = {
        GIVES: gives,
        HEAD: Head(TARGET),
        "named_modules": Does(lambda *_: []),  # without pipeline parallelism none of it is elsewhere
    }
    if _has(session, GIVES_NAMED):
        own[GIVES_NAMED] = gives
    target_model = Instance(
        None,
        own,
        complete=False,
        label="target model",
        made_by=lambda name: ABSENT if name == GIVES_NAMED else NotImplemented,
    )
    target = Instance(None, {"model": target_model, "model_config": session.model_config}, complete=False)
    drafts = Instance(None, {"model": model, "model_config": session.draft_model_config}, complete=False)
    around = Instance(None, {"model_runner": target}, complete=False, label="target worker")
    return {
        "target_worker": around,
        "server_args": session.server_args,
        "speculative_algorithm": session.algorithm,
        **dict.fromkeys(RUNNERS, drafts),
        RUNNER_LIST: _Each(drafts),
    }


def _has(session: Session, name: str) -> bool:
    """Whether the target's class has a method."""
    found = (
        roles.registered(session.interp, each) for each in architectures(session.world.checkpoint.target)
    )
    return any(
        cls is not None and classes.class_attribute(session.interp, cls, name) is not NotImplemented
        for cls in found
    )
