"""The target's forward pass, followed with layers that are symbols: which streams it collects."""

from collections.abc import Iterator

from investigator.code import classes
from investigator.code.local_bindings import parameters_of
from investigator.code.syntax import Place
from investigator.code.trace import Event, Happening
from investigator.code.values import FunctionValue, Instance, Unknown, Value, find_unknown
from investigator.engines.sglang import layers as decoder
from investigator.engines.sglang.states import LastNorm, Share, Stream
from investigator.engines.sglang.world import Session


def depths(
    session: Session, holder: Instance, stack: list[decoder.DecoderLayer]
) -> tuple[Value, Place | None]:
    """The depths of the streams that the object's forward pass collects, and where the last is."""
    interp = session.interp
    assert holder.cls is not None
    forward = classes.class_attribute(interp, holder.cls, "forward")
    if not isinstance(forward, FunctionValue):
        return Unknown(f"{holder.cls.name} has no forward"), None
    holder.label = holder.label or "target decoder"
    last = LastNorm()
    holder.attributes["norm"] = last
    begun = len(interp.trace.events)
    made = decoder.install_collectors(session)
    given: dict[str, Value] = {
        "input_ids": None,  # as a model that also takes pictures hands on: embedded already
        "inputs_embeds": Stream(0),
        "input_embeds": Stream(0),
        "pp_proxy_tensors": None,
        "input_deepstack_embeds": None,
        # Two-batch overlap is a server argument that is off by default.
        "forward_batch": Instance(None, {"can_run_tbo": False}, complete=False, label="forward batch"),
    }
    arguments = {}
    defaults = interp.local_bindings(forward).defaults
    for name, _ in list(parameters_of(forward.node))[1:]:
        if name in given:
            arguments[name] = given[name]
        elif name not in defaults:
            arguments[name] = Unknown(f"argument {name} of forward")
    result = interp.enter(forward, (holder,), arguments)
    appended = [
        event
        for event in interp.trace.events[begun:]
        if event.kind is Happening.APPEND and isinstance(event.value, Stream)
    ]
    place = _in_forward(appended[-1], forward) if appended else None
    passed = stack[0].passed if stack else []
    if (missing := find_unknown(passed)) is not None:
        return missing, place
    if passed != list(range(len(stack))):
        return Unknown(
            f"{forward.qualified_name} was seen to run {len(passed)} of {len(stack)} layers"
        ), place
    found = made[0] if len(made) == 1 else next(_stream_lists(result), None)
    if found is None:
        return find_unknown(result) or (
            [] if not appended else Unknown("what becomes of the captures")
        ), place
    return [_depth(value, halves=last.adds) for value in found], place


def _depth(value: Value, *, halves: bool) -> Value:
    """How many layers a captured stream has been through; None for a half of it. ``halves``: a layer hands
    on two tensors that the model's last norm adds, so that neither is a hidden state."""
    if isinstance(value, Stream):
        if halves and value.share in (Share.DELTA, Share.BASE) and not value.beside:
            return None
        return value.depth if value.whole else Unknown(f"{value.share} of layer {value.depth} is captured")
    return find_unknown(value) or Unknown(f"{value!r} is captured")


def _stream_lists(value: Value) -> Iterator[list[Value]]:
    """The lists of captured streams that a forward pass returns."""
    items = decoder.list_of(value)
    if items is not None and any(isinstance(item, Stream) for item in items):
        yield items
    if isinstance(value, tuple | list):
        for item in value:
            yield from _stream_lists(item)


def _in_forward(event: Event, forward: FunctionValue) -> Place:
    """The innermost frame of the capture that stands in the file of the model's forward."""
    inside = [place for place in event.stack if place.path == forward.module.path]
    return inside[-1] if inside else event.place
