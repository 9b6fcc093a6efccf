"""How each draft layer attends: the draft model is built, layer by layer, and its attentions read.

The draft model's class is found in the registry by the checkpoint's architecture and its
``__init__`` is followed. Every ``Attention(...)`` it makes is kept with the arguments it was
given; what the attention makes of them (``per_layer_sliding_window``, else the cache
config's window) is worked out from ``Attention.__init__`` itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from investigator.code import classes, lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import Place, text
from investigator.code.syntax import field as child
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    FunctionValue,
    Instance,
    Raised,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines import building
from investigator.engines.finding import keyword_at
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import error_left_open, is_deliberate
from investigator.engines.vllm import default_runner, drafter, roles, runners
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.model import Known, NotKnown, Outcome, Refused, Runner

ATTENTION = "Attention"
ATTENTION_HINT = "vllm/model_executor/layers/attention/attention.py"
HANDED = "sliding_window"
"""Part of the name of the argument that hands an attention its window."""
WINDOW_KEYS = ("layer_types", "sliding_window", "swa_window_size", "use_swa")


@dataclass(frozen=True)
class Built:
    """One draft attention: the object, where it was made, and its window as it computes."""

    attention: Instance
    place: Place
    window: Value


@dataclass
class Builder:
    """Stands in for the engine's attention class while the draft model is built."""

    session: Session
    built: list[Built] = field(default_factory=list)

    def __call__(self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """``Attention(*args, **kwargs)``: kept, and worked out on demand."""
        cls = self.session.class_named(ATTENTION, ATTENTION_HINT)
        if cls is None:
            return Unknown(f"no class {ATTENTION} was found")
        made = lazy.instance(interp, cls, lazy.bound(interp, cls, args, kwargs))
        assert made.made_by is not None
        place = keyword_at(interp, interp.stack[-1], lambda name: HANDED in name)
        self.built.append(Built(made, place, made.made_by("sliding_window")))
        return made


@dataclass(frozen=True)
class Draft:
    """The draft model as built: its attentions in order, or why it could not be built."""

    session: Session
    built: tuple[Built, ...]
    refused: Raised | None = None
    unknown: str | None = None
    model: Value = None


def build(world: World, runner: Runner, follow: frozenset[str] = frozenset()) -> Draft:
    """Build the draft model on one runner; what decides whether the building stops is followed, too."""
    return deepen(
        lambda more: construct(world.start(runner, follow=follow | more)),
        lambda draft: error_left_open(draft.session.interp.trace),
    )


def construct(session: Session) -> Draft:
    """Build the draft model in a session, as its config stands now."""
    interp = session.interp
    builder = Builder(session)
    interp.natives[ATTENTION] = builder
    interp.natives.setdefault("get_rope", lambda *_: Unknown("rotary embedding"))
    cls = draft_class(session)
    if cls is None:
        names = session.world.checkpoint.draft.raw.get("architectures")
        return Draft(session, (), unknown=f"the registry knows no draft model for {names}")
    try:
        model = interp.construct(cls, (), {"vllm_config": session.vllm_config, "prefix": ""}, None)
    except Raised as raised:
        if is_deliberate(interp.program, raised):
            return Draft(session, tuple(builder.built), refused=raised)
        return Draft(session, tuple(builder.built), unknown=f"building the draft model ended in {raised}")
    except BudgetSpent as spent:
        return Draft(session, tuple(builder.built), unknown=str(spent))
    return Draft(session, tuple(builder.built), model=model)


def draft_class(session: Session) -> ClassValue | None:
    """The class that the registry gives for the drafter's architecture."""
    architectures = session.speculative_config.attributes["draft_model_config"].attributes["architectures"]
    found = (roles.registered(session.interp, name) for name in architectures)
    return next((cls for cls in found if cls is not None), None)


@dataclass(frozen=True)
class _Windows:
    outcome: Outcome
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None


def windows(world: World, runner: Runner) -> Told:
    """``Known([w0, w1, ...])``: each draft layer's window in tokens, None where it sees everything."""
    return world.program.shared(
        f"windows {runner.value} {world.identity}",
        lambda program: _followed(replace(world, program=program), runner),
    )


def _followed(world: World, runner: Runner) -> Told:
    stopped = turned_away(world, runner)
    if stopped is not None:
        return stopped
    result = deepen(lambda follow: _windows(world, runner, follow), lambda found: found.missing)
    steps = result.steps
    if isinstance(result.outcome, Refused):
        steps += _other_runner(world, runner)
    return Told(outcome=result.outcome, steps=steps, assumptions=ASSUMPTIONS)


def _other_runner(world: World, runner: Runner) -> tuple[Step, ...]:
    """Where the engine itself picks another runner than one that refuses the case."""
    choice = default_runner.choice(world)
    if choice.runner in (None, runner):
        return ()
    return tuple(replace(step, role=f"runner {choice.runner.value} is the default") for step in choice.steps)


def turned_away(world: World, runner: Runner) -> Told | None:
    """The answer where a runner's config check stops the case: its method is not supported, or
    its mixed attention is refused; None where it lets the draft model be built."""
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    admission = runners.admission(world, runner)
    if admission.windows_unknown is not None:
        why = f"whether runner {runner.value} takes it: {admission.windows_unknown}"
        return Told(outcome=NotKnown(why))
    mixed = admission.windows
    if mixed is None:
        return None
    said = admission.error if admission.error and mixed.text in admission.error else mixed.text
    return Told(outcome=Refused(said), steps=runners.listed(mixed, runner))


def _windows(world: World, runner: Runner, follow: frozenset[str]) -> _Windows:
    draft = build(world, runner, follow)
    trace = draft.session.interp.trace
    reads = tuple(Step(e.place, f"reads {e.name}") for e in building.config_reads(trace, WINDOW_KEYS))
    if draft.refused is not None:
        raised = draft.refused
        return _Windows(Refused(str(raised)), (*reads, Step(raised.stack[-1], "stops with an error")))
    if draft.unknown is not None:
        return _Windows(NotKnown(draft.unknown), reads)
    wanted = world.checkpoint.num_draft_layers
    if len(draft.built) != wanted:
        skipped = building.skipped(trace, ATTENTION)
        why = f"{len(draft.built)} attentions were seen made for {wanted} draft layers"
        return _Windows(NotKnown(why), reads, skipped)
    values = [built.window for built in draft.built]
    missing = find_unknown(values)
    places = dict.fromkeys(built.place for built in draft.built)
    steps = (*reads, *(Step(place, "the draft layer's attention is made") for place in places))
    if len(set(values)) > 1:
        steps += tuple(_sorting(draft))
    if missing is not None:
        return _Windows(NotKnown(f"the window of a draft layer: {missing}"), steps, missing)
    return _Windows(Known(values), steps)


def _sorting(draft: Draft) -> Iterator[Step]:
    """What the draft model tells a runner that sorts its layers by KV-cache group."""
    proposer = drafter.drafter(draft.session)
    if not isinstance(proposer, Instance) or proposer.cls is None or not isinstance(draft.model, Instance):
        return
    interp = draft.session.interp
    sorts = classes.class_attribute(interp, proposer.cls, drafter.SET_GROUPS)
    asked = interp.local_bindings(sorts).calls if isinstance(sorts, FunctionValue) else ()
    for call in asked:
        callee = child(call, "function")
        if text(callee).startswith("self.model.") and draft.model.cls is not None:
            told = classes.class_attribute(interp, draft.model.cls, text(child(callee, "attribute")))
            if isinstance(told, FunctionValue):
                yield Step(told.module.place(told.node), "tells the runner of each layer, group by group")
