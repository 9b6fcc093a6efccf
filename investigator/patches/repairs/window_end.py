"""Where a windowed layer's attention ends in a pass that is not causal.

A drafter that says nothing is trained with windowed layers that see no later token of their
block. A backend that makes the window of a pass that is not causal reach ahead as well would
undo that: it is told to leave alone the layers whose window ends at the query. Measured on
vLLM 0.24.0: without this, a drafter given its windows had 49 % and 84 % of its acceptance length.
"""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code.program import Module, Program
from investigator.code.syntax import descendants, enclosing, field, named, text
from investigator.patches.edits import Edit
from investigator.patches.pen import Pen, Unfit
from investigator.patches.repairs.fault import Fault
from investigator.patches.repairs.roles import (
    Found,
    assignments,
    calls,
    classes,
    found_in,
    keyword,
    method,
    names_in,
    parameters,
)

MARK = "window_ends_at_query"
_IMPLEMENTATION = "FlashAttentionImpl"
_BACKEND = "vllm/v1/attention/backends/flash_attn.py"


def edits(program: Program, fault: Fault, *, pen: Pen, made: Node, attention: str, config: str) -> list[Edit]:
    """Mark the windowed layers behind ``made``, the statement that builds one's attention, and have
    the backend heed the mark; nothing where no backend lets a window reach ahead.

    ``attention``: how the engine's attention layer is reached there; ``config``: the draft config.
    """
    backends = found_in(program, [_IMPLEMENTATION], fault.hints(_BACKEND), _backends)
    heeding = [edit for backend in backends for edit in _heed(backend)]
    if not heeding:
        return []
    return [
        pen.after(
            made,
            f'dflash_config = getattr({config}, "dflash_config", None) or {{}}',
            f'said = getattr({config}, "is_causal", dflash_config.get("causal"))',
            "if sliding_window is not None and said is None:",
            "    # In training a windowed layer sees no later token of its block.",
            f"    {attention}.{MARK} = True",
        ),
        *heeding,
    ]


def _backends(module: Module) -> list[Found]:
    return [cls for cls in classes(module) if cls.name == _IMPLEMENTATION]


def _heed(backend: Found) -> Iterator[Edit]:
    """Leave the window of a marked layer alone where a pass that is not causal would widen it."""
    forward = method(backend.node, "forward")
    if forward is None:
        return
    for widening in _widenings(forward):
        names = parameters(forward)
        condition = field(widening, "condition")
        inner = named(condition)[0] if condition.type == "parenthesized_expression" else condition
        is_and = inner.type == "boolean_operator" and text(field(inner, "operator")) == "and"
        if len(names) < 2 or condition is inner or not is_and:
            raise Unfit(f"{backend.name} widens a window under a condition in another shape")
        pen = backend.pen
        last = field(inner, "right")
        apart = f"{pen.end}{pen.indent(last)}" if pen.indent(last) != pen.indent(widening) else " "
        yield pen.insert(inner.end_byte, f'{apart}and not getattr({names[1]}, "{MARK}", False)')


def _widenings(forward: Node) -> Iterator[Node]:
    """The ``if`` statements on causality that put another window in the place of the layer's own."""
    windows = [
        text(window)
        for call in calls(forward, *{text(field(c, "function")) for c in descendants(forward, "call")})
        if field(call, "arguments").type == "argument_list"
        and (window := keyword(call, "window_size")) is not None
        and keyword(call, "block_table") is not None
    ]
    for name in dict.fromkeys(windows):
        for assigned in assignments(forward, name):
            around = enclosing(assigned, "if_statement")
            if around is not None and "causal" in names_in(field(around, "condition")):
                yield around
