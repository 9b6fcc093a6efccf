"""How far a windowed layer's attention reaches inside the block, by the backend's own ``forward``.

A decoder's window is ``(w - 1, 0)``: it ends at the query. From 0.24 FlashAttention makes it reach
as far ahead as back where the metadata say that the pass is not causal, so a window alone does not
keep a query from the block's later tokens. What the kernel is handed is worked out on demand: for
one layer, and for metadata that are not causal, with what else their builder puts in. DFlash needs
attention that is not causal, and FlashAttention is the backend that has it in every release.
"""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code import classes, lazy
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import Place, descendants, named, text
from investigator.code.syntax import field as child
from investigator.code.values import ClassValue, FunctionValue, Instance, Unknown, Value, find_unknown
from investigator.engines.finding import calls
from investigator.engines.vllm.world import Session

IMPLEMENTATION = "FlashAttentionImpl"
BACKEND = "vllm/v1/attention/backends/flash_attn.py"
METADATA = "FlashAttentionMetadata"
BUILDER = "FlashAttentionMetadataBuilder"
COMMON = "CommonAttentionMetadata"
FORWARD = "forward"
BUILD = "build"
WINDOW = "window_size"
PAGED = "block_table"
"""Only a call that is given one reads the KV cache; encoders have calls of their own."""


def reaches_ahead(session: Session, layer: Instance, window: Value) -> tuple[Value, Place | None]:
    """Whether a layer with this window sees later tokens of a pass that is not causal.

    An Unknown where that is not decided; with it the place that hands the kernel its window.
    """
    interp = session.interp
    cls = session.class_named(IMPLEMENTATION, BACKEND)
    forward = classes.class_attribute(interp, cls, FORWARD) if cls is not None else None
    if cls is None or not isinstance(forward, FunctionValue):
        return Unknown(f"no {IMPLEMENTATION}.{FORWARD} was found"), None
    given = {"sliding_window": window, "alibi_slopes": None}
    impl = lazy.instance(interp, cls, lazy.bound(interp, cls, (), given), label="attention")
    handed = {
        "layer": layer,
        "attn_metadata": _metadata(session, window),
    }

    def supply(name: str, annotation: str) -> Value:  # noqa: ARG001
        return handed.get(name, NotImplemented)

    answers: list[Value] = []
    place = None
    for node in _windows(forward):
        if lazy.reached(interp, forward, node, impl, supply) is False:
            continue
        place = forward.module.place(node)
        answers.append(_ahead(lazy.value_at(interp, forward, node, impl, supply)))
    if (missing := find_unknown(answers)) is not None:
        return missing, place
    if len(set(answers)) != 1:
        return Unknown(f"{len(answers)} different windows are handed to the kernel"), place
    return answers[0], place


def _windows(forward: FunctionValue) -> Iterator[Node]:
    """The window of each call of ``forward`` that reads the KV cache."""
    for call in descendants(child(forward.node, "body"), "call"):
        names = {
            text(child(node, "name")): child(node, "value")
            for node in descendants(child(call, "arguments"), "keyword_argument")
            if node.parent == child(call, "arguments")
        }
        if WINDOW in names and PAGED in names:
            yield names[WINDOW]


def _metadata(session: Session, window: Value) -> Instance:
    """Metadata that are not causal, of a group of layers with a window, as the backend builds them."""
    interp = session.interp
    cls, builder = session.class_named(METADATA, BACKEND), session.class_named(BUILDER, BACKEND)
    made = Instance(None, {"causal": False, "use_cascade": False}, complete=False, label="attention metadata")

    def field(name: str) -> Value:
        value = _built(interp, builder, window, name) if builder is not None else NotImplemented
        if value is NotImplemented and cls is not None:
            return classes.class_attribute(interp, cls, name)
        return value

    made.made_by = field
    return made


def _built(interp: Interpreter, builder: ClassValue, window: Value, name: str) -> Value:
    """What the builder passes for a field of the metadata; NotImplemented where it passes nothing."""
    build = classes.class_attribute(interp, builder, BUILD)
    if not isinstance(build, FunctionValue):
        return NotImplemented
    spec = Instance(None, {"sliding_window": window}, complete=False, label=None)
    common = Instance(None, {"causal": False}, complete=False, label=None)
    receiver = Instance(builder, {"kv_cache_spec": spec}, complete=False, label=None)

    def supply(parameter: str, annotation: str) -> Value:  # noqa: ARG001
        return common if COMMON in annotation else NotImplemented

    for call in calls(build, METADATA):
        for argument in named(child(call, "arguments")):
            if argument.type == "keyword_argument" and text(child(argument, "name")) == name:
                return lazy.value_at(interp, build, child(argument, "value"), receiver, supply)
    return NotImplemented


def _ahead(window: Value) -> Value:
    if (missing := find_unknown(window)) is not None:
        return missing
    if isinstance(window, list | tuple) and len(window) == 2 and isinstance(window[1], int):
        return window[1] != 0
    return Unknown(f"the kernel's window is {window!r}")
