"""The worker that proposes drafts: its mask token, and whose head gives the draft its logits.

The speculative algorithm names its worker's class itself. What the worker works out in its
``__init__`` is followed attribute by attribute, between a target and a draft model runner.
"""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code import lazy
from investigator.code.syntax import field, text
from investigator.code.trace import Happening
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
from investigator.engines import finding
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import stopped
from investigator.engines.sglang import draft_layers
from investigator.engines.sglang.handed_head import DRAFT, HEAD, TARGET, Head, mtp_head
from investigator.engines.sglang.world import ASSUMPTIONS, Session, World
from investigator.methods import MTP
from investigator.model import Known, NotKnown

MASK = "mask_token_id"
WANTS_HEAD = "load_lm_head_from_target"
HANDING_OVER = ("sglang/srt/speculative/eagle_worker.py", "sglang/srt/speculative/eagle_worker_v2.py")
"""The workers that hand the target's embeddings, and its head where the draft model wants it, over."""


def worker(session: Session) -> Instance | Unknown:
    """The worker's object, its attributes on demand."""
    cls = worker_class(session)
    if not isinstance(cls, ClassValue):
        return find_unknown(cls) or Unknown("the algorithm's worker")
    made = lazy.instance(session.interp, cls, session.supply, label="worker")
    made.attributes.update(_surroundings(session))
    return made


def worker_class(session: Session) -> Value:
    """The class of the algorithm's worker; a choice where server arguments decide."""
    interp = session.interp
    algorithm = session.algorithm
    if not isinstance(algorithm, Instance) or algorithm.cls is None:
        return algorithm
    frame, node = session.frame(algorithm.cls), algorithm.cls.node
    session.server_args.attributes.setdefault("disable_overlap_schedule", False)
    create = interp.attribute(frame, node, algorithm, "create_worker")
    try:
        return interp.call(frame, node, create, (session.server_args,), {})
    except Raised:
        # A worker without overlap scheduling asks for it to be off; the server turns it off.
        session.server_args.attributes["disable_overlap_schedule"] = True
        return interp.call(frame, node, create, (session.server_args,), {})


def _surroundings(session: Session) -> dict[str, Value]:
    """What a worker stands between: the target's runner and the draft's."""

    def runner(config: Instance, of: str) -> Instance:
        model = Instance(None, {HEAD: Head(of)}, complete=False, label=f"{of} model")
        return Instance(None, {"model_config": config, "model": model}, complete=False, label=f"{of} runner")

    target, draft = runner(session.model_config, TARGET), runner(session.draft_model_config, DRAFT)
    around = Instance(
        None, {"model_runner": target, "tokenizer": None}, complete=False, label="target worker"
    )
    return {
        "target_worker": around,
        "_target_worker": around,
        "model_runner": target,
        "draft_model_runner": draft,
        "draft_model": draft.attributes["model"],
    }


def mask_token(world: World) -> Told:
    """``Known(id)``: the token that fills the masked places of a block."""
    session = world.start()
    try:
        made = worker(session)
        value = made if isinstance(made, Unknown) else mask_of(session, made)
    except Raised as raised:
        outcome = stopped(world.program, raised, "following the worker's start")
        return Told(outcome=outcome, steps=(Step(raised.stack[-1], "stops with an error"),))
    except BudgetSpent as spent:
        return Told(outcome=NotKnown(str(spent)))
    reads = [e for e in session.interp.trace.of(Happening.READ) if _is_mask(e.name)]
    steps = tuple(Step(e.place, f"reads {e.name}") for e in reads[-1:])
    if not isinstance(value, int):
        why = find_unknown(value) or f"the worker keeps {value!r}"
        return Told(outcome=NotKnown(f"the mask token: {why}"), steps=steps)
    return Told(outcome=Known(value), steps=steps, assumptions=ASSUMPTIONS)


def _is_mask(name: str) -> bool:
    return name.startswith("draft config") and name.endswith(f".{MASK}")


def mask_of(session: Session, made: Instance) -> Value:
    """The worker's attribute that is named after the token and nothing else."""
    assert made.cls is not None
    names = [n for n in session.interp.assigned_attributes(made.cls) if n.lstrip("_") == MASK]
    if not names:
        return Unknown(f"{made.cls.name} keeps no {MASK}")
    return session.interp.attribute(session.frame(made.cls), made.cls.node, made, names[0])


def draft_head(world: World) -> Told:
    """``Known("target" | "draft")``: whose output head the worker computes the draft's logits with."""
    if world.checkpoint.method == MTP.name:
        return _mtp_head(world)
    said = _asked_for(world)
    if said is not None:
        return said
    session = world.start()
    try:
        made = worker(session)
        if isinstance(made, Unknown) or made.cls is None:
            return Told(outcome=NotKnown(f"whose head: {made}"))
        for method, node in _heads(session, made.cls):
            value = lazy.value_at(session.interp, method, node, made, session.supply)
            if isinstance(value, Head):
                step = Step(
                    method.module.place(node), f"the {value.of}'s head is taken for the draft's logits"
                )
                return Told(outcome=Known(value.of), steps=(step,), assumptions=ASSUMPTIONS)
    except (Raised, BudgetSpent) as stopped:
        return Told(outcome=NotKnown(f"whose head: {stopped}"))
    return Told(outcome=NotKnown(f"no {HEAD} that {made.cls.name} drafts with was found"))


def _mtp_head(world: World) -> Told:
    session = world.start()
    if session.told is not None:
        return session.told
    try:
        cls = worker_class(session)
    except (Raised, BudgetSpent) as stopped:
        return Told(outcome=NotKnown(f"whose head: {stopped}"))
    options = cls.options if isinstance(cls, OneOf) else (cls,)
    workers = [each for each in options if isinstance(each, ClassValue)]
    if len(workers) < len(options):
        return Told(outcome=NotKnown(f"the algorithm's worker: {find_unknown(cls) or cls!r}"))
    return mtp_head(world, workers)


def _asked_for(world: World) -> Told | None:
    """Whose head it is where the draft model itself says whether it wants the target's, as one that is
    handed embeddings and a head by its worker does; None where it does not say."""
    if world.checkpoint.draft.normalised.get("tie_word_embeddings"):
        return None  # its head is then its embeddings, whoever's those are
    draft = draft_layers.build(world)
    program = world.program
    if not isinstance(draft.model, Instance) or not program.among([f".{WANTS_HEAD}"], HANDING_OVER):
        return None
    stored = draft.session.interp.trace.last(
        Happening.STORE, lambda event: event.name.endswith(f".{WANTS_HEAD}")
    )
    wants = draft.session.interp.truth(draft.model.attributes.get(WANTS_HEAD, False))
    if stored is None or wants is None:
        return None
    step = Step(stored.place, f"the draft model {'wants' if wants else 'does not want'} the target's head")
    return Told(outcome=Known(TARGET if wants else DRAFT), steps=(step,), assumptions=ASSUMPTIONS)


def _heads(session: Session, cls: ClassValue) -> Iterator[tuple[FunctionValue, Node]]:
    """What a worker's methods hand on as the head to draft with, and what they call so."""
    for method in finding.methods(session.interp, cls):
        for name, value in finding.bindings(field(method.node, "body")):
            if text(name) == HEAD:
                yield method, value
