"""Who sees whom inside the drafted block, layer by layer.

The drafter's ``propose`` builds attention metadata for the draft pass; the metadata's
``causal`` decides whether a query sees the block's later ones; a window does, too, where the
kernel is handed one that ends at the query (:mod:`investigator.engines.vllm.kernel`). Model
runner V1 builds one for all layers, V2 one per KV-cache group. The drafter is followed to the
metadata that it builds, with the KV-cache groups that the draft model's own layers fall into.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import Place, asked_for, named, text
from investigator.code.syntax import field as child
from investigator.code.trace import Happening
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
from investigator.engines.finding import bindings, keyword_at
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import is_deliberate
from investigator.engines.vllm import backends, draft_layers, drafter, kernel
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.model import Known, NotKnown, Outcome, Refused, Runner

METADATA = "CommonAttentionMetadata"
METADATA_HINT = "vllm/v1/attention/backend.py"
CAUSAL = "causal"
BACKENDS = "init_attn_backend"
"""V2: the function that sorts each group's layers by attention backend."""
PLANNED = "sliding_window"
"""The attribute of an attention layer that its KV-cache spec is made from."""
FIRST_DRAFT_GROUP = 1
"""The draft layers' KV-cache groups come after the target's."""
KERNEL_NOTE = "with FlashAttention{}, whose window ends at the query whatever the metadata say"
AHEAD_NOTE = "with FlashAttention{}, whose window reaches as far ahead as back in a pass that is not causal"
ASSUMED = ", as is assumed where the deployment names no attention backend"


@dataclass(frozen=True)
class _Found:
    outcome: Outcome
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None
    note: str = ""
    not_causal: bool = False
    """Whether some layer's metadata are not causal, whatever a kernel makes of them."""


def per_layer(world: World, runner: Runner) -> Told:
    """``Known([c0, c1, ...])``: whether each draft layer's attention is causal in the block."""
    stopped = draft_layers.turned_away(world, runner)
    if stopped is not None:
        return stopped
    found = deepen(lambda follow: _per_layer(world, runner, follow), lambda found: found.missing)
    refused = _backend_stops(world, runner, found)
    if refused is not None:
        return refused
    return Told(outcome=found.outcome, steps=found.steps, assumptions=ASSUMPTIONS, note=found.note)


def _backend_stops(world: World, runner: Runner, found: _Found) -> Told | None:
    """What becomes of a pass that is not causal on the backend that the deployment names, where that is
    not simply run."""
    name = backends.named(world.deployment)
    if name is None:
        return None
    session = world.start(runner)
    outcome: Outcome | None = None
    step = None
    if found.not_causal:
        able, step = backends.without_causality(session, name)
        if able is False:
            outcome = Refused(f"{name} has no attention that is not causal, which the draft pass asks for")
        elif able is not True:
            outcome = NotKnown(f"whether {name} can run the draft pass: {able}")
    if outcome is None and isinstance(found.outcome, Known) and any(world.checkpoint.windows or ()):
        step = backends.stops_at_windows(session, name)
        if step is not None:
            outcome = NotKnown(f"{name} stops at a layer with a window on some GPUs; which GPU is not known")
    if outcome is None:
        return None
    return Told(outcome=outcome, steps=(step,) if step is not None else (), assumptions=ASSUMPTIONS)


@dataclass(frozen=True)
class _BlockTable(Symbol):
    """The block table of one KV-cache group: tells which group metadata are made for."""

    group: int

    def item(self, key: Value) -> Value:
        """Rows of it."""
        return self


@dataclass(frozen=True)
class _Made:
    """One attention metadata object. ``group``: None for one that serves every group."""

    causal: Value
    group: int | None
    place: Place


@dataclass
class _Metadata:
    """Stands in for the engine's metadata class: keeps what each is made with, and where."""

    session: Session
    made: list[_Made] = field(default_factory=list)

    def __call__(self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """One metadata object."""
        causal = kwargs[CAUSAL] if CAUSAL in kwargs else self._default()
        group = next((v.group for v in kwargs.values() if isinstance(v, _BlockTable)), None)
        self.made.append(_Made(causal, group, interp.stack[-1]))
        return Instance(None, dict(kwargs), complete=False, label="attention metadata")

    def _default(self) -> Value:
        cls = self.session.class_named(METADATA, METADATA_HINT)
        value = classes.class_attribute(self.session.interp, cls, CAUSAL) if cls is not None else None
        return value if isinstance(value, bool) else Unknown(f"the default of {METADATA}.{CAUSAL}")

    def causal(self, group: int) -> Value:
        """What a group's metadata say; unknown where there are none, or several that differ."""
        flags = [made.causal for made in self.made if made.group in (group, None)]
        if (missing := find_unknown(flags)) is not None:
            return missing
        if len(set(flags)) != 1:
            return Unknown(f"{len(flags)} attention metadata were made for one KV-cache group")
        return bool(flags[0])


def _per_layer(world: World, runner: Runner, follow: frozenset[str]) -> _Found:
    draft = draft_layers.build(world, runner, follow)
    if draft.refused is not None:
        step = Step(draft.refused.stack[-1], "stops with an error")
        return _Found(Refused(str(draft.refused)), (step,))
    if draft.unknown is not None or len(draft.built) != world.checkpoint.num_draft_layers:
        return _Found(NotKnown(draft.unknown or "the draft model's layers were not all seen"))
    windows = [built.window for built in draft.built]
    if (missing := find_unknown(windows)) is not None:
        return _Found(NotKnown(f"the window of a draft layer: {missing}"), missing=missing)
    try:
        return _followed(draft)
    except Raised as raised:
        # What is not known about a deployment may raise where a deployment would not.
        place = (Step(raised.stack[-1], "raises"),)
        return _Found(NotKnown(f"following the draft pass ended in {raised}"), place)
    except BudgetSpent as spent:
        return _Found(NotKnown(str(spent)))


def _followed(draft: draft_layers.Draft) -> _Found:
    session = draft.session
    interp = session.interp
    # The KV-cache planner asks later than the implementation: a window may be taken off in between.
    planned = [built.attention.attributes.get(PLANNED, built.window) for built in draft.built]
    proposer = drafter.drafter(session)
    if not isinstance(proposer, Instance):
        missing = find_unknown(proposer)
        return _Found(NotKnown(f"the drafter: {missing}"), missing=missing)
    metadata = _Metadata(session)
    interp.natives[METADATA] = metadata
    proposer.attributes["model"] = draft.model
    if isinstance(draft.model, Instance):
        draft.model.label = "draft model"
    try:
        _set_groups(session, proposer, draft, planned)
    except Raised as raised:
        if not is_deliberate(interp.program, raised):
            raise
        return _Found(Refused(str(raised)), (Step(raised.stack[-1], "stops with an error"),))
    missing = None
    for acting, node in _builders(session, proposer):
        metadata.made.clear()
        supply = lazy.supply_through(interp, acting, proposer, session.supply)
        names = {acting.name: proposer}
        value = lazy.value_at(interp, acting.function, node, proposer, supply, names=names)
        if metadata.made:
            break
        missing = missing or find_unknown(value)
    if not metadata.made:
        reason = f"no attention metadata of the draft pass were seen made ({missing})"
        return _Found(NotKnown(reason), missing=missing)
    kinds = list(dict.fromkeys(planned))
    flags = [metadata.causal(FIRST_DRAFT_GROUP + kinds.index(window)) for window in planned]
    sees_block = any(flag is False for flag in flags)
    causal, note, handed = _with_windows(draft, flags)
    steps = (*_steps(session, metadata, acting.function.module.place(node)), *handed)
    if (missing := find_unknown(causal)) is not None:
        why = f"whether the draft pass is causal: {missing}"
        return _Found(NotKnown(why), steps, missing, not_causal=sees_block)
    return _Found(Known(causal), steps, note=note, not_causal=sees_block)


def _with_windows(draft: draft_layers.Draft, flags: list[Value]) -> tuple[list[Value], str, tuple[Step, ...]]:
    """The layers' flags, set where a window that ends at the query does what the metadata do not;
    what was assumed for that, and where the kernel is handed a window that does not end there."""
    name = backends.named(draft.session.world.deployment)
    who = ASSUMED if name is None else ""
    causal: list[Value] = []
    note = ""
    places: dict[Place, None] = {}
    for built, flag in zip(draft.built, flags, strict=True):
        if built.window is None or flag is True:
            causal.append(flag)
            continue
        if name not in (None, backends.FLASH):
            causal.append(Unknown(f"what {name} makes of a window in a pass that is not causal"))
            continue
        ahead, place = kernel.reaches_ahead(draft.session, built.attention, built.window)
        if ahead is False:
            causal.append(True)
            note = KERNEL_NOTE.format(who)
            continue
        causal.append(ahead if ahead is not True and flag is False else flag)
        note = AHEAD_NOTE.format(who) if ahead is True else note
        if place is not None:
            places[place] = None
    return causal, note, tuple(Step(place, "the kernel is handed the layer's window") for place in places)


# -- the drafter's metadata ------------------------------------------------------------


def _builders(session: Session, proposer: Instance) -> Iterator[tuple[lazy.Acting, Node]]:
    """Calls of the drafter's own methods whose results its ``propose``, or what it runs, keeps, in order."""
    interp = session.interp
    assert proposer.cls is not None
    propose = classes.class_attribute(interp, proposer.cls, drafter.PROPOSE)
    if not isinstance(propose, FunctionValue):
        return
    seen: set[tuple[str, int]] = set()
    for far in (False, True):
        for acting in lazy.reachable(interp, proposer.cls, propose, far=far):
            names = interp.local_bindings(acting.function).called(acting.name)
            for _, value in bindings(child(acting.function.node, "body")):
                right = value
                while right.type == "parenthesized_expression":
                    right = named(right)[0]
                asked = asked_for(child(right, "function")) if right.type == "call" else None
                key = (acting.function.module.path, right.start_byte)
                if asked is not None and text(asked[0]) in names and key not in seen:
                    seen.add(key)
                    yield acting, right


def _set_groups(
    session: Session, proposer: Instance, draft: draft_layers.Draft, planned: list[Value]
) -> None:
    """Tell a drafter of the V2 runner its KV-cache groups: the target's, and one per planned window."""
    interp = session.interp
    names = [f"draft layer {i}" for i in range(len(draft.built))]
    for name, built in zip(names, draft.built, strict=True):
        built.attention.attributes["layer_name"] = name
    groups = [
        ["target layer"],
        *([n for n, w in zip(names, planned, strict=True) if w == kind] for kind in dict.fromkeys(planned)),
    ]
    given = {
        "kv_cache_config": _object(
            "kv cache config",
            kv_cache_groups=[_object("kv cache group", layer_names=group) for group in groups],
        ),
        "block_tables": _object(
            "block tables", input_block_tables=[_BlockTable(i) for i in range(len(groups))]
        ),
    }
    attention_groups = [[], *([_object(None, layer_names=group)] for group in groups[1:])]
    interp.natives[BACKENDS] = lambda *_: (attention_groups, Unknown("graph support"), Unknown("block sizes"))
    proposer.attributes.update(given, attn_groups=attention_groups, draft_attn_layer_names=set(names))
    assert proposer.cls is not None
    method = classes.class_attribute(interp, proposer.cls, drafter.SET_GROUPS)
    if isinstance(method, FunctionValue):
        arguments = {
            name: given.get(name, Unknown(f"argument {name} of {drafter.SET_GROUPS}"))
            for name in list(interp.local_bindings(method).parameters)[1:]
        }
        interp.enter(method, (proposer,), arguments)


def _object(label: str | None, **attributes: Value) -> Instance:
    return Instance(None, attributes, complete=False, label=label)


# -- evidence --------------------------------------------------------------------------


def _steps(session: Session, metadata: _Metadata, asked: Place) -> Iterator[Step]:
    """Where the key is read, the flag kept, the metadata asked for (``asked``) and made."""
    trace = session.interp.trace
    seen = set()
    for event in trace.of(Happening.READ):
        label, _, key = event.name.rpartition(".")
        found = event.value not in (None, NotImplemented) and not isinstance(event.value, Unknown)
        wanted = label.startswith("draft config") and key in (CAUSAL, f"is_{CAUSAL}") and found
        if wanted and event.place not in seen:
            seen.add(event.place)
            yield Step(event.place, f"reads {event.name}")
    stored = [e for e in trace.of(Happening.STORE) if CAUSAL in e.name.rpartition(".")[2]]
    bound = [e for e in trace.of(Happening.BIND) if CAUSAL in e.name.partition(".")[2]]
    for event in stored or bound[-1:]:
        if event.place not in seen:
            seen.add(event.place)
            yield Step(event.place, f"{event.name} is kept")
    interp = session.interp
    if (passed := keyword_at(interp, asked, _is_causal)) != asked:
        yield Step(passed, "the draft pass asks for its attention metadata")
    place = keyword_at(interp, metadata.made[-1].place, _is_causal)
    said = ", ".join(dict.fromkeys(str(made.causal) for made in metadata.made if made.group != 0))
    yield Step(place, f"the draft pass's attention metadata are made with causal={said}")


def _is_causal(keyword: str) -> bool:
    return CAUSAL in keyword
