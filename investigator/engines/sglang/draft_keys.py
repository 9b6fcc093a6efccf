"""The draft config's keys on the drafter's own path: coverage, width, vocabulary, retention."""

from collections.abc import Iterator
from dataclasses import replace

from investigator.checkpoint import MTP_ASSISTANT, Checkpoint
from investigator.code import lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import field as child
from investigator.code.syntax import text
from investigator.code.trace import Event, Happening
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    FunctionValue,
    Raised,
    Symbol,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines import building, finding
from investigator.engines.interface import Step, Told
from investigator.engines.norms import epsilons
from investigator.engines.refusal import stopped
from investigator.engines.scales import applied
from investigator.engines.sglang import draft_layers, rotary, target_layers, worker
from investigator.engines.sglang.mtp import MTP_LAYERS
from investigator.engines.sglang.world import ASSUMPTIONS, MODEL_CONFIG, Session, World
from investigator.methods import MTP
from investigator.model import Json, Known, NotKnown, Refused, Unsupported

DRAFT = "draft config"
MAPS = ("d2t", "hot_token_id")
"""What a draft model that maps vocabularies calls the map, in its weights and on itself."""
KEPT = ("vocab_size", "hidden_size", "head_dim", "num_attention_heads", "num_key_value_heads")
"""Keys that the draft's ``ModelConfig`` takes over, for whoever asks it."""


# -- which keys are read ---------------------------------------------------------------


def read_keys(world: World) -> Told:
    """``Known([key, ...])``: the draft config's keys that the drafter's path reads, sorted.

    A key whose value is read and then does not decide what it should is not counted: windows,
    causality and rotation are asked for what they came out as.
    """
    if world.checkpoint.method == MTP.name and _counts_several(world):
        return Told(outcome=NotKnown(MTP_LAYERS))
    windows, causal, turned = (
        draft_layers.windows(world),
        draft_layers.causality(world),
        rotary.rotation(world),
    )
    if isinstance(windows.outcome, Refused | Unsupported):
        return windows
    draft = draft_layers.build(world)
    if draft.unknown is not None:
        return Told(outcome=NotKnown(draft.unknown))
    reads = dict(_reads(draft.session))
    session = world.start()
    try:
        if world.checkpoint.method != MTP.name:
            _captured_and_masked(session)
        if not _kept(session):
            return Told(outcome=NotKnown("what the draft's ModelConfig takes over was not found"))
    except Raised as raised:
        outcome = stopped(world.program, raised, "following the drafter's path")
        return Told(outcome=outcome, steps=(Step(raised.stack[-1], "stops with an error"),))
    except BudgetSpent as spent:
        return Told(outcome=NotKnown(str(spent)))
    reads = dict(_reads(session)) | reads
    keys = set(reads) - _without_effect(world, windows, causal, turned) - _written_over(draft.session)
    steps = tuple(Step(reads[key].place, f"reads {key}") for key in sorted(keys))
    return Told(outcome=Known(sorted(keys)), steps=steps, assumptions=ASSUMPTIONS)


def _counts_several(world: World) -> bool:
    """Whether the checkpoint has several MTP layers, of which the server may run one alone."""
    return world.checkpoint.layout != MTP_ASSISTANT and world.checkpoint.num_draft_layers > 1


def _captured_and_masked(session: Session) -> None:
    """What a drafter of tapped layers and of masked places reads beside its own layers."""
    target = target_layers.target_model(session)
    if isinstance(target, tuple):
        target_layers.ask_target(session, target[0])
    made = worker.worker(session)
    if not isinstance(made, Unknown):
        worker.mask_of(session, made)


def _written_over(session: Session) -> set[str]:
    """Keys that the engine replaced by a value of its own, whatever the config says."""
    raw, now = session.world.checkpoint.draft.raw, session.draft_config.attributes
    return {key for key in MTP.keys if raw.get(key) is not None and now.get(key) != raw[key]}


def scales(world: World) -> Told:
    """``Known([key, ...])``: as :func:`read_keys`, of the keys that scale embeddings or logits, those
    that are kept and never looked at left out."""

    def build(checkpoint: Checkpoint) -> Interpreter:
        return draft_layers.build(replace(world, checkpoint=checkpoint)).session.interp

    return applied(read_keys(world), world.checkpoint, build)


def _reads(session: Session) -> Iterator[tuple[str, Event]]:
    for event in session.interp.trace.of(Happening.READ):
        label, _, key = event.name.rpartition(".")
        is_key = event.value is not NotImplemented and not isinstance(event.value, Symbol)
        if label.split(".")[0] == DRAFT and is_key:
            yield key.partition("[")[0], event


def _kept(session: Session) -> bool:
    """Follow what the draft's ``ModelConfig`` takes over from the config; whether anything was found."""
    cls = session.draft_model_config.cls
    if cls is None:
        return True
    made = lazy.instance(session.interp, cls, session.supply)
    made.attributes.update(hf_config=session.draft_config, hf_text_config=session.draft_config)
    found = False
    for acting in finding.at_work(session.interp, cls, far=True):
        local = session.interp.local_bindings(acting.function)
        supply = lazy.supply_through(session.interp, acting, made, session.supply)
        for name in KEPT:
            for node in local.assigned.get(f"{acting.name}.{name}", ())[:1]:
                right = node.child_by_field_name("right")
                if right is not None:
                    found = True
                    names = {acting.name: made}
                    lazy.value_at(session.interp, acting.function, right, made, supply, names=names)
    return found


def _without_effect(world: World, windows: Told, causal: Told, turned: Told) -> set[str]:
    """Keys that are read and whose value does not come out where it should."""
    config, keys = world.checkpoint.draft.normalised, set()
    wanted = world.checkpoint.windows
    if isinstance(windows.outcome, Known) and wanted is not None and windows.outcome.value != list(wanted):
        keys |= {"layer_types", "sliding_window"}
    is_causal = config.get("is_causal")
    if isinstance(is_causal, bool) and isinstance(causal.outcome, Known):
        layers = causal.outcome.value
        if layers != [is_causal] * world.checkpoint.num_draft_layers:
            keys.add("is_causal")
    if isinstance(turned.outcome, Known) and isinstance(turned.outcome.value, dict):
        theta = config.get("rope_theta")
        if theta is not None and turned.outcome.value["theta"] != theta:
            keys.add("rope_theta")
    return keys


# -- feature width, vocabulary ---------------------------------------------------------


def feature_width(world: World) -> Told:
    """``Known({"expects": w, "given": g})``: numbers in the drafter's feature vector, as its
    first projection expects them and as the target's captured streams give them."""
    draft, made = deepen(
        lambda follow: _projected(world, follow), lambda found: found[1] and find_unknown(found[1][0])
    )
    if made is None:
        why = draft.unsupported or draft.unknown or "no projection of the target's features was seen made"
        return Told(outcome=NotKnown(why))
    expects, event = made
    step = Step(event.place, "the projection of the target's features is made")
    hidden = draft.session.target_text_config.attributes.get("hidden_size")
    return building.feature_width(step, expects, hidden, target_layers.captured(world))


def _projected(world: World, follow: frozenset[str]) -> tuple[draft_layers.Draft, tuple[Value, Event] | None]:
    draft = draft_layers.build(world, follow)
    return draft, next(_projections(draft.session), None)


def _projections(session: Session) -> Iterator[tuple[Value, Event]]:
    """Linear layers that the draft model itself makes, outside its decoder layers: ``fc``."""
    for event in session.interp.trace.of(Happening.STORE):
        if event.name.rpartition(".")[2] != "fc":
            continue
        for made in session.interp.trace.of(Happening.SKIP):
            same = made.place.path == event.place.path and made.place.line == event.place.line
            if same and "Linear" in made.name:
                args, kwargs = made.value
                yield args[0] if args else kwargs.get("input_size", kwargs.get("in_features")), made


def norm_epsilon(world: World) -> Told:
    """``Known([e, ...])``: the epsilons of the draft model's norms, each once, ascending."""
    draft = draft_layers.build(world)
    return epsilons(draft.session.interp, draft.unknown)


def vocab_mapping(world: World) -> Told:
    """``Known(bool)``: whether a map from draft to target vocabulary is made."""
    session = world.start()
    cls = draft_layers.draft_class(session)
    if cls is None:
        return Told(outcome=NotKnown("the registry has no draft model for this architecture"))
    load = _method(session, cls, "load_weights")
    if load is None:
        return Told(outcome=NotKnown(f"{cls.name} has no load_weights that was found"))
    knows = any(word in text(child(load.node, "body")) for word in MAPS)
    role = "loads a map where there is one" if knows else "knows no map"
    step = Step(load.module.place(child(load.node, "name")), role)
    tensors = world.checkpoint.draft.tensors
    if not knows:
        return Told(outcome=Known(False), steps=(step,))
    if tensors is None:
        return Told(outcome=NotKnown("the names of the checkpoint's weights were not read"), steps=(step,))
    return Told(outcome=Known(any("d2t" in name for name in tensors)), steps=(step,))


def _method(session: Session, cls: ClassValue, name: str) -> FunctionValue | None:
    found = session.interp.attribute_or_missing(session.frame(cls), cls.node, cls, name)
    return found if isinstance(found, FunctionValue) else None


# -- retention -------------------------------------------------------------------------


def retained(world: World) -> Told:
    """``Known({"settled": [...], "in flight": [...]})``: tokens of context that each draft layer's
    K/V keeps; None for all. The draft shares the target's slots, which are freed with their
    request, unless its ``ModelConfig`` takes it for a hybrid of windows."""
    session = world.start()
    cls = session.draft_model_config.cls
    if cls is None:
        return Told(outcome=NotKnown(f"no class ModelConfig was found (looked in {MODEL_CONFIG})"))
    made = lazy.instance(session.interp, cls, session.supply, label="draft model config")
    made.attributes.update(hf_config=session.draft_config, hf_text_config=session.draft_config)
    for method in finding.methods(session.interp, cls):
        local = session.interp.local_bindings(method)
        for node in local.assigned.get(f"{local.first}.is_hybrid_swa", ()):
            right = node.child_by_field_name("right")
            if right is None:
                continue
            try:
                hybrid = lazy.value_at(session.interp, method, right, made, session.supply)
            except (Raised, BudgetSpent) as error:
                return Told(outcome=NotKnown(str(error)))
            step = Step(method.module.place(node), "whether windows reach the draft's K/V cache")
            if session.interp.truth(hybrid) is False:
                everything: list[Json] = [None] * world.checkpoint.num_draft_layers
                answer: dict[str, Json] = {"settled": everything, "in flight": everything}
                return Told(outcome=Known(answer), steps=(step,), assumptions=ASSUMPTIONS)
            why = find_unknown(hybrid) or "the draft's sliding layers get a cache of their own"
            return Told(outcome=NotKnown(f"what the draft's K/V cache keeps: {why}"), steps=(step,))
    return Told(outcome=NotKnown(f"{cls.name} does not say whether it is a hybrid of windows"))
