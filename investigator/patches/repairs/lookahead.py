"""Slots for every query token of a draft block are reserved, on a request's first step too.

A block-drafting pass has one query token more than it drafts: the last sampled token leads the
block. Where the scheduler reserves only as many slots as there are drafts, or none on the
first step, the drafter writes its K/V into blocks that other requests share.
"""

from tree_sitter import Node

from investigator.code.program import Module, Program
from investigator.code.syntax import descendants, enclosing, field, text
from investigator.patches.edits import Edit, Edits
from investigator.patches.pen import Pen, Unfit
from investigator.patches.repairs.fault import Fault
from investigator.patches.repairs.roles import (
    Found,
    assignments,
    calls,
    classes,
    found_in,
    function_of,
    keyword,
    method,
    only,
)
from investigator.patches.repairs.speculative_config import method_predicate

CONTRACT = "lookahead"
SUBJECT = "DFlash: reserve a slot for each query token of a draft block"
CHANGE = """\
A draft block has num_speculative_tokens + 1 query tokens: the last sampled
token leads it. The scheduler now reserves that many lookahead slots for
DFlash, and does so on a request's first step as well, when the drafter
already runs. Steps that only load remote K/V still reserve none: nothing
is drafted in them."""

_SCHEDULER = "vllm/v1/core/sched/scheduler.py"
_FIELD = "self.num_lookahead_tokens"


def edit(program: Program, fault: Fault) -> Edits:
    """Reserve one slot more, and reserve on the first step."""
    scheduler = only(
        found_in(program, ["num_lookahead_tokens", "allocate_slots("], fault.hints(_SCHEDULER), _schedulers),
        "scheduler that reserves lookahead slots",
    )
    condition = method_predicate(program, fault)
    return (*_one_more(scheduler, condition), *_first_step(scheduler))


def _schedulers(module: Module) -> list[Found]:
    return [cls for cls in classes(module) if assignments(cls.node, _FIELD) and _reservations(cls)]


def _reservations(scheduler: Found) -> list[Node]:
    return [
        c for c in calls(scheduler.node, "allocate_slots") if keyword(c, "num_lookahead_tokens") is not None
    ]


def _one_more(scheduler: Found, condition: str) -> list[Edit]:
    init = method(scheduler.node, "__init__")
    reserved = [] if init is None else assignments(init, _FIELD)
    values = [text(field(assignment, "right")) for assignment in reserved]
    if any(value.endswith("+ 1") for value in values):
        return []
    branches = [node for a in reserved if (node := enclosing(a, "if_statement")) is not None]
    if not branches:
        raise Unfit("the scheduler does not choose its lookahead by the speculative method")
    last = branches[-1]
    config = _receiver(last)
    drafts = values[reserved.index(_inside(last, reserved))]
    return [
        scheduler.pen.after(
            last,
            f"if {config}.{condition}:",
            "    # The last sampled token leads the block of drafts as a query token.",
            f"    {_FIELD} = {drafts} + 1",
        )
    ]


def _inside(branch: Node, reserved: list[Node]) -> Node:
    return next(a for a in reserved if enclosing(a, "if_statement") == branch)


def _receiver(branch: Node) -> str:
    """How the code names the speculative config whose method it asks."""
    condition = field(branch, "condition")
    for call in descendants(condition, "call"):
        callee = field(call, "function")
        if callee.type == "attribute":
            return text(field(callee, "object"))
    raise Unfit("the scheduler does not ask the speculative config for its method")


def _first_step(scheduler: Found) -> list[Edit]:
    """Where a condition on computed tokens switches the reservation off, ask what it is there for."""
    edits = []
    for call in _reservations(scheduler):
        amount, loading = keyword(call, "num_lookahead_tokens"), keyword(call, "delay_cache_blocks")
        if amount is None or amount.type != "identifier":
            continue
        for assignment in assignments(function_of(call), text(amount)):
            for choice in descendants(assignment, "conditional_expression"):
                edits += _loading_only(scheduler.pen, choice, loading)
    return edits


def _loading_only(pen: Pen, choice: Node, loading: Node | None) -> list[Edit]:
    none, condition, reserved = (child for child in choice.named_children if child.type != "comment")
    if text(none) != "0" or text(reserved) != _FIELD or "num_computed_tokens" not in text(condition):
        return []
    if loading is None or loading.type != "identifier":
        raise Unfit("the scheduler does not say which steps only load K/V")
    return [pen.replace(condition, text(loading))]
