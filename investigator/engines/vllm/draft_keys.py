"""The draft config's keys on the drafter's own path: mask token, feature width, vocabulary, coverage."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from investigator.checkpoint import MTP_OWN, Checkpoint
from investigator.code import lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import descendants, field, string_value, text
from investigator.code.trace import Event, Happening
from investigator.code.values import (
    BudgetSpent,
    FunctionValue,
    Instance,
    Raised,
    Symbol,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines import building, refusal
from investigator.engines.finding import bound_to, mentions, sole_caller
from investigator.engines.interface import Step, Told
from investigator.engines.norms import epsilons
from investigator.engines.scales import applied
from investigator.engines.vllm import draft_layers, drafter, roles, runners, target_layers
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.methods import MTP, described
from investigator.model import Known, NotKnown, Refused, Runner

MASK = "mask_token_id"
STORED = "parallel_drafting_token_id"
PROPOSER = "vllm/v1/spec_decode/llm_base_proposer.py"
SPECULATOR = "vllm/v1/worker/gpu/spec_decode/utils.py"
DRAFT, TARGET = "draft config", "target config"


# -- mask token ------------------------------------------------------------------------


def mask_token(world: World, runner: Runner) -> Told:
    """``Known(id)``: the token that fills the masked places of a block."""
    world = world.all_full()
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    return deepen(lambda follow: _masked(world, runner, follow), lambda found: found[1])[0]


def _masked(world: World, runner: Runner, follow: frozenset[str]) -> tuple[Told, Unknown | None]:
    session = world.start(runner, follow=follow)
    interp = session.interp
    found = next(_mask_functions(session, runner), None)
    if found is None:
        return Told(outcome=NotKnown(f"nothing on runner {runner.value}'s path reads {MASK}")), None
    try:
        value = _run(session, found)
    except Raised as raised:
        outcome = refusal.stopped(interp.program, raised, f"reading {MASK}")
        return Told(outcome=outcome, steps=(Step(raised.stack[-1], "stops with an error"),)), None
    except BudgetSpent as spent:
        return Told(outcome=NotKnown(str(spent))), None
    reads = [e for e in interp.trace.of(Happening.READ) if e.name.endswith(f".{MASK}")]
    steps = tuple(Step(e.place, f"reads {e.name}") for e in reads[-1:])
    if (missing := find_unknown(value)) is not None or not isinstance(value, int):
        return Told(outcome=NotKnown(f"the mask token: {missing or value}"), steps=steps), missing
    return Told(outcome=Known(value), steps=steps, assumptions=ASSUMPTIONS), None


def _mask_functions(session: Session, runner: Runner) -> Iterator[FunctionValue]:
    hint = PROPOSER if runner is Runner.V1 else SPECULATOR
    needles = [f'"{MASK}"', STORED]
    modules = [
        m for m in session.interp.program.mentioning(needles, [hint]) if drafter.belongs(session, m, runner)
    ]
    if not modules:
        everywhere = session.interp.program.search(needles)
        modules = [m for m in everywhere if drafter.belongs(session, m, runner)]
    for module in modules:
        words = {MASK, *bound_to(module, MASK)}
        for function in roles.functions(session.interp, module):
            body = field(function.node, "body")
            if not any(mentions(body, word) for word in words):
                continue
            said = {string_value(node) for node in descendants(body, "string")}
            said |= {text(node) for node in descendants(body, "identifier")}
            if words & said and (runner is Runner.V1 or STORED in function.name):
                yield _whole(session.interp, function)


def _whole(interp: Interpreter, function: FunctionValue) -> FunctionValue:
    """The function that a part of it was cut from: what a part is handed, only its caller knows."""
    local = interp.local_bindings(function)
    if len([name for name in local.parameters if name not in local.defaults]) > 1:
        above = sole_caller(interp, function)
        if above is not None:
            return _whole(interp, above[0])
    return function


def _run(session: Session, function: FunctionValue) -> Value:
    """Run a function that stores the id on its object, or returns it."""
    interp = session.interp
    if function.owner is None:
        return interp.enter(function, (session.draft_config,), {})
    receiver = lazy.instance(interp, function.owner, session.supply, label="drafter")
    receiver.attributes["draft_model_config"] = session.speculative_config.attributes["draft_model_config"]
    interp.enter(function, (receiver,), {})
    return receiver.attributes.get(STORED)


# -- what the draft model is made with --------------------------------------------------


def feature_width(world: World, runner: Runner) -> Told:
    """``Known({"expects": w, "given": g})``: numbers in the drafter's feature vector, as its
    first projection expects them and as the target's captured streams give them."""
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    draft = draft_layers.build(world.all_full(), runner)
    made = _projection(draft.session)
    if made is None:
        return Told(outcome=NotKnown(draft.unknown or "no projection of the target's features was seen made"))
    expects = made.value[1].get("input_size")
    step = Step(made.place, "the projection of the target's features is made")
    hidden = draft.session.target_text_config.attributes.get("hidden_size")
    return building.feature_width(step, expects, hidden, target_layers.captured(world, runner))


def _projection(session: Session) -> Event | None:
    """The linear layer that the draft model keeps as its ``fc``: the target's features go through it."""
    trace = session.interp.trace
    lines = {(e.place.path, e.place.line) for e in trace.of(Happening.STORE) if e.name.endswith(".fc")}
    for event in trace.of(Happening.SKIP):
        linear = "Linear" in event.name and "input_size" in event.value[1]
        if linear and (event.place.path, event.place.line) in lines:
            return event
    return None


def norm_epsilon(world: World, runner: Runner) -> Told:
    """``Known([e, ...])``: the epsilons of the draft model's norms, each once, ascending."""
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    draft = draft_layers.build(world.all_full(), runner)
    return epsilons(draft.session.interp, draft.unknown)


def vocab_mapping(world: World, runner: Runner) -> Told:
    """``Known(bool)``: whether a map from draft to target vocabulary is made."""
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    draft = draft_layers.build(world.all_full(), runner)
    stored = draft.session.interp.trace.last(
        Happening.STORE, lambda event: event.name.endswith(".draft_id_to_target_id")
    )
    if stored is None:
        return Told(outcome=NotKnown(draft.unknown or "no map of vocabularies was seen made or left out"))
    owner = stored.value[0]
    value = owner.attributes["draft_id_to_target_id"]
    step = Step(stored.place, "the map of vocabularies is decided")
    if value is None:
        return Told(outcome=Known(False), steps=(step,))
    if isinstance(value, Instance):
        return Told(outcome=Known(True), steps=(step,))
    return Told(outcome=NotKnown(f"the map: {find_unknown(value)}"), steps=(step,))


# -- which keys are read ---------------------------------------------------------------


@dataclass(frozen=True)
class _Read:
    key: str
    event: Event


def read_keys(world: World, runner: Runner) -> Told:
    """``Known([key, ...])``: the draft config's keys that the drafter's path reads, sorted.

    A key whose value is read and then reaches no layer is not counted: the windows are asked
    for what they came out as.
    """
    return world.program.shared(
        f"read keys {runner.value} {world.identity}",
        lambda program: _read_keys(replace(world, program=program), runner),
    )


def _read_keys(world: World, runner: Runner) -> Told:
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    windows = draft_layers.windows(world, runner)
    if isinstance(windows.outcome, Refused):
        return windows
    draft = draft_layers.build(world, runner)
    if draft.unknown is not None:
        return Told(outcome=NotKnown(draft.unknown))
    reads = list(_reads(draft.session))
    session = world.start(runner)
    try:
        if world.checkpoint.method != MTP.name:
            target_layers.numbers(session, runner)
        if described(world.checkpoint).one_pass:
            masking = next(_mask_functions(session, runner), None)
            if masking is None:
                return Told(outcome=NotKnown(f"nothing on runner {runner.value}'s path reads {MASK}"))
            _run(session, masking)
    except Raised as raised:
        outcome = refusal.stopped(world.program, raised, "the drafter's path")
        return Told(outcome=outcome, steps=(Step(raised.stack[-1], "stops with an error"),))
    except BudgetSpent as spent:
        return Told(outcome=NotKnown(f"the drafter's path: {spent}"))
    reads += _reads(session)
    keys = {read.key for read in reads} - _written_over(draft.session)
    found = windows.outcome.value if isinstance(windows.outcome, Known) else None
    if isinstance(found, list) and not any(found):
        keys -= {"layer_types", "sliding_window"}
    places = {read.key: read.event.place for read in reads if read.key in keys}
    steps = tuple(Step(place, f"reads {key}") for key, place in sorted(places.items()))
    return Told(outcome=Known(sorted(keys)), steps=steps, assumptions=ASSUMPTIONS)


def scales(world: World, runner: Runner) -> Told:
    """``Known([key, ...])``: as :func:`read_keys`, of the keys that scale embeddings or logits, those
    that are kept and never looked at left out."""

    def build(checkpoint: Checkpoint) -> Interpreter:
        return draft_layers.build(replace(world, checkpoint=checkpoint), runner).session.interp

    return applied(read_keys(world, runner), world.checkpoint, build)


def _written_over(session: Session) -> set[str]:
    """Keys that the engine replaced by a value of its own, whatever the config says."""
    raw, now = session.world.checkpoint.draft.raw, session.draft_config.attributes
    return {key for key in MTP.keys if raw.get(key) is not None and now.get(key) != raw[key]}


def _reads(session: Session) -> Iterator[_Read]:
    # A model that drafts for itself has one file: it is read as the target's config, too.
    labels = (DRAFT, TARGET) if session.world.checkpoint.layout == MTP_OWN else (DRAFT,)
    for event in session.interp.trace.of(Happening.READ):
        label, _, key = event.name.rpartition(".")
        is_key = event.value is not NotImplemented and not isinstance(event.value, Symbol)
        if label.split(".")[0] in labels and is_key:
            yield _Read(key.partition("[")[0], event)
