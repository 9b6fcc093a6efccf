"""Who sees whom inside the drafted block, layer by layer.

The drafter's ``propose`` builds attention metadata for the draft pass; the metadata's
``causal`` decides whether a query sees the block's later ones. Model runner V1 builds one for
all layers, V2 one per KV-cache group. The drafter is followed to the metadata that it builds,
with the KV-cache groups that the draft model's own layers fall into.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import Place, descendants, named, text
from investigator.code.syntax import field as child
from investigator.code.trace import Happening
from investigator.code.values import (
    BudgetSpent,
    FunctionValue,
    Instance,
    Raised,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines.interface import Step, Told
from investigator.engines.vllm import draft_layers, drafter
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.model import Known, NotKnown, Outcome, Refused, Runner

METADATA = "CommonAttentionMetadata"
CAUSAL = "causal"
SET_GROUPS = "set_attn"
"""V2: the method that tells a drafter which KV-cache groups there are."""
KERNEL_NOTE = (
    "FlashAttention's window for a decoder is (w - 1, 0): on it a sliding layer is causal inside the block"
    " whatever the metadata say"
)


@dataclass(frozen=True)
class _Found:
    outcome: Outcome
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None
    note: str = ""


def per_layer(world: World, runner: Runner) -> Told:
    """``Known([c0, c1, ...])``: whether each draft layer's attention is causal in the block."""
    stopped = draft_layers.turned_away(world, runner)
    if stopped is not None:
        return stopped
    found = deepen(lambda follow: _per_layer(world, runner, follow), lambda found: found.missing)
    return Told(outcome=found.outcome, steps=found.steps, assumptions=ASSUMPTIONS, note=found.note)


@dataclass
class _Metadata:
    """Stands in for the engine's metadata class: keeps what each is made with, and where."""

    made: list[tuple[Value, Place]] = field(default_factory=list)

    def __call__(self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """One metadata object."""
        self.made.append((kwargs.get(CAUSAL, Unknown("causal is not passed by name")), interp.stack[-1]))
        return Instance(None, dict(kwargs), complete=False, label="attention metadata")


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
        return _followed(draft, windows)
    except Raised as raised:
        return _Found(Refused(str(raised)), (Step(raised.stack[-1], "raises"),))
    except BudgetSpent as spent:
        return _Found(NotKnown(str(spent)))


def _followed(draft: draft_layers.Draft, windows: list[Value]) -> _Found:
    session = draft.session
    interp = session.interp
    proposer = drafter.drafter(session)
    if not isinstance(proposer, Instance):
        missing = find_unknown(proposer)
        return _Found(NotKnown(f"the drafter: {missing}"), missing=missing)
    metadata = _Metadata()
    interp.natives[METADATA] = metadata
    groups = list(dict.fromkeys(windows))
    proposer.attributes["model"] = draft.model
    _set_groups(session, proposer, draft, windows)
    missing = None
    for method, node in _builders(session, proposer):
        metadata.made.clear()
        value = lazy.value_at(interp, method, node, proposer, session.supply)
        if metadata.made:
            break
        missing = missing or find_unknown(value)
    if not metadata.made:
        reason = f"no attention metadata of the draft pass were seen made ({missing})"
        return _Found(NotKnown(reason), missing=missing)
    flags = [flag for flag, _ in metadata.made]
    steps = tuple(_steps(session, metadata))
    if (missing := find_unknown(flags)) is not None:
        return _Found(NotKnown(f"whether the draft pass is causal: {missing}"), steps, missing)
    if session.runner is Runner.V1:
        per_group = [flags[0]] * len(groups) if len(set(flags)) == 1 else None
    else:
        # The target's own group comes first.
        per_group = flags[1:] if len(flags) == len(groups) + 1 else None
    if per_group is None:
        return _Found(NotKnown(f"{len(flags)} attention metadata were made for {len(groups)} groups"), steps)
    causal = [bool(per_group[groups.index(window)]) for window in windows]
    hidden = any(not flag and window is not None for flag, window in zip(causal, windows, strict=True))
    return _Found(Known(causal), steps, note=KERNEL_NOTE if hidden else "")


# -- the drafter's metadata ------------------------------------------------------------


def _builders(session: Session, proposer: Instance) -> Iterator[tuple[FunctionValue, Node]]:
    """Calls of the drafter's own methods whose results its ``propose`` keeps, in order."""
    interp = session.interp
    assert proposer.cls is not None
    propose = classes.class_attribute(interp, proposer.cls, drafter.PROPOSE)
    if not isinstance(propose, FunctionValue):
        return
    receiver = interp.local_bindings(propose).first
    for node in descendants(child(propose.node, "body"), "assignment"):
        right = node.child_by_field_name("right")
        while right is not None and right.type == "parenthesized_expression":
            right = named(right)[0]
        if right is None or right.type != "call":
            continue
        callee = child(right, "function")
        if callee.type == "attribute" and text(child(callee, "object")) == receiver:
            yield propose, right


def _set_groups(
    session: Session, proposer: Instance, draft: draft_layers.Draft, windows: list[Value]
) -> None:
    """Tell a drafter of the V2 runner its KV-cache groups: the target's, and one per window."""
    interp = session.interp
    names = [draft_layers.layer_name(draft, built) for built in draft.built]
    target = Instance(None, {"layer_names": ["target"]}, complete=False)
    groups = [target]
    for window in dict.fromkeys(windows):
        mine = [name for name, own in zip(names, windows, strict=True) if own == window]
        groups.append(Instance(None, {"layer_names": mine}, complete=False))
    config = Instance(None, {"kv_cache_groups": groups}, complete=False, label="kv cache config")
    proposer.attributes["kv_cache_config"] = config
    proposer.attributes["draft_attn_layer_names"] = set(names)
    assert proposer.cls is not None
    method = classes.class_attribute(interp, proposer.cls, SET_GROUPS)
    if isinstance(method, FunctionValue):
        arguments = {
            name: config if name == "kv_cache_config" else Unknown(f"argument {name} of {SET_GROUPS}")
            for name in list(interp.local_bindings(method).parameters)[1:]
        }
        interp.enter(method, (proposer,), arguments)


# -- evidence --------------------------------------------------------------------------


def _steps(session: Session, metadata: _Metadata) -> Iterator[Step]:
    trace = session.interp.trace
    seen = set()
    for event in trace.of(Happening.READ):
        label, _, key = event.name.rpartition(".")
        found = event.value not in (None, NotImplemented) and not isinstance(event.value, Unknown)
        if label.startswith("draft config") and key in ("causal", "is_causal") and found:
            if event.place not in seen:
                seen.add(event.place)
                yield Step(event.place, f"reads {event.name}")
    kept = trace.last(
        Happening.BIND, lambda e: e.name.startswith("self.") and "causal" in e.name.partition(".")[2]
    ) or trace.last(Happening.STORE, lambda e: "causal" in e.name.rpartition(".")[2])
    if kept is not None:
        yield Step(kept.place, f"the drafter keeps {kept.name.rpartition('.')[2]}")
    flag, place = metadata.made[-1]
    yield Step(_keyword(session, place), f"the draft pass's attention metadata are made with causal={flag}")


def _keyword(session: Session, call: Place) -> Place:
    """The line of a call that passes ``causal``."""
    module = session.interp.program.module_at(call.path)
    if module is None:
        return call
    for node in descendants(module.file.root, "keyword_argument"):
        if call.line <= node.start_point.row + 1 <= call.end_line and text(child(node, "name")) == CAUSAL:
            return module.place(node)
    return call
