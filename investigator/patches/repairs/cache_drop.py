"""The EAGLE rule "drop the last matched prefix-cache block" is for drafters that need it.

EAGLE builds a position's draft K/V from its hidden state *and the next token*, so the last
matched block may belong to another continuation. A drafter that writes its context K/V from
the target's hidden states alone has no such block. The chain is: a predicate of the speculative
config, a field of the scheduler, the KV-cache manager, the coordinator, which flags every group
when none is annotated. The repair gives the drop a predicate of its own and lets exactly the
places that drop a block, or make room for the drop, follow it.

What stays: the scheduler's other uses of its EAGLE field. The runner still gathers multimodal
embeddings one position ahead for every drafter, so the encoder schedule must keep its shift.
And no group is ever annotated for the drafter: that would widen the drop, not end it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code.program import Module, Program
from investigator.code.syntax import descendants, enclosing, field, text
from investigator.patches.edits import Edit, Edits
from investigator.patches.pen import Unfit
from investigator.patches.repairs.fault import Fault
from investigator.patches.repairs.roles import (
    FUNCTION,
    Found,
    assignments,
    attribute_reads,
    calls,
    classes,
    found_in,
    keyword,
    method,
    methods,
    only,
    positional,
)
from investigator.patches.repairs.speculative_config import (
    predicate_of_method,
    returned,
    speculative_config,
)

CONTRACT = "cache-drop"
SUBJECT = "DFlash: keep the last matched prefix-cache block"
CHANGE = """\
DFlash is grouped with EAGLE, whose draft K/V depends on the next token, so
the scheduler drops the last matched block of every KV-cache group. DFlash
writes its context K/V from the target's hidden states alone and needs no
such drop; on hybrid targets it can end prefix reuse altogether. The drop
now has a predicate of its own, and what drops a block or makes room for
it follows that. Encoder inputs are scheduled as before."""

PREDICATE = "drops_last_matched_block"
_FIELD = "self.drops_last_matched_block"
_SCHEDULER = "vllm/v1/core/sched/scheduler.py"
_GROUPS = "vllm/v1/core/kv_cache_utils.py"


def edit(program: Program, fault: Fault) -> Edits:
    """Let the drop follow a predicate that leaves this drafter out."""
    config = speculative_config(program, fault)
    scheduler = _scheduler(program, fault)
    manager = _manager(scheduler)
    flag = _source_of_flag(scheduler, manager)
    own_method = predicate_of_method(config, fault.checkpoint.method)
    excluded = (
        f"self.{text(field(own_method, 'name'))}()"
        if own_method is not None
        else f'self.method == "{fault.checkpoint.method}"'
    )
    predicate = method(config.node, flag.asked)
    if predicate is None:
        raise Unfit(f"the speculative config has no {flag.asked} of its own")
    if flag.asked != "use_eagle":
        return tuple(_narrow(config, scheduler, predicate, flag, excluded))
    if method(config.node, PREDICATE) is not None:
        return ()
    return (
        *_new_predicate(config, own_method or predicate, excluded),
        *_groups(program, fault),
        *_own_field(scheduler, manager, flag),
    )


def deciding_predicate(program: Program, fault: Fault) -> str:
    """The predicate of the speculative config that decides the drop as the tree is. Raises Unfit."""
    scheduler = _scheduler(program, fault)
    return _source_of_flag(scheduler, _manager(scheduler)).asked


def _scheduler(program: Program, fault: Fault) -> Found:
    return only(
        found_in(program, ["KVCacheManager(", "use_eagle"], fault.hints(_SCHEDULER), _schedulers),
        "scheduler that builds the KV-cache manager",
    )


@dataclass(frozen=True)
class _Flag:
    """Where the manager's flag comes from.

    ``written``: the scheduler's field, ``self.use_eagle``. ``receiver``: how ``__init__`` names the
    speculative config. ``asked``: the predicate of that config which decides it.
    """

    written: str
    receiver: str
    asked: str


def _schedulers(module: Module) -> list[Found]:
    return [cls for cls in classes(module) if _managers(cls)]


def _managers(scheduler: Found) -> list[Node]:
    init = method(scheduler.node, "__init__")
    built = [] if init is None else calls(init, "KVCacheManager")
    return [call for call in built if keyword(call, "use_eagle") is not None]


def _manager(scheduler: Found) -> Node:
    found = _managers(scheduler)
    if len(found) != 1:
        raise Unfit(f"the scheduler builds {len(found)} KV-cache managers")
    return found[0]


def _source_of_flag(scheduler: Found, manager: Node) -> _Flag:
    """Follow the manager's flag back to the predicate that decides it."""
    flag = keyword(manager, "use_eagle")
    written = text(flag) if flag is not None else ""
    init = method(scheduler.node, "__init__")
    if init is None or not written.startswith("self."):
        raise Unfit("the KV-cache manager's flag is not a field of the scheduler")
    for assignment in assignments(init, written):
        value = field(assignment, "right")
        condition = enclosing(assignment, "if_statement")
        asked = field(condition, "condition") if value.type == "true" and condition else value
        questions = [call for call in descendants(asked, "call") if not positional(call)]
        callee = field(questions[0], "function") if len(questions) == 1 else None
        if callee is not None and callee.type == "attribute":
            return _Flag(written, text(field(callee, "object")), text(field(callee, "attribute")))
    raise Unfit(f"what sets {written} is not one predicate of the speculative config")


def _narrow(config: Found, scheduler: Found, predicate: Node, flag: _Flag, excluded: str) -> Iterator[Edit]:
    """The drop has a predicate of its own already: leave the drafter out of it."""
    value = returned(predicate)
    if excluded in text(value):
        return
    eagle = next((call for call in calls(value, "use_eagle") if text(call) == "self.use_eagle()"), None)
    if eagle is None or value.type not in ("boolean_operator", "call") or " or " in text(value):
        raise Unfit(f"{flag.asked} is not use_eagle() and further conditions")
    yield from _conjunction(config, value, eagle, excluded)
    yield from _warning(config, scheduler, flag)


def _conjunction(config: Found, value: Node, eagle: Node, excluded: str) -> Iterator[Edit]:
    added = f"self.use_eagle() and not {excluded}"
    if config.pen.fits(eagle, added):
        yield config.pen.replace(eagle, added)
        return
    terms = [term.strip() for term in text(value).split(" and ")]
    terms.insert(1, f"not {excluded}")
    pen, indent = config.pen, config.pen.indent(value)
    lines = f"{pen.end}{indent}{pen.unit}and ".join(terms)
    yield pen.replace(value, f"({pen.end}{indent}{pen.unit}{lines}{pen.end}{indent})")


def _warning(config: Found, scheduler: Found, flag: _Flag) -> Iterator[Edit]:
    """A warning that the drop was switched off must ask for the switch, not for the drop."""
    switches = [
        text(node)
        for node in descendants(config.node, "attribute")
        if text(node).startswith("self.disable_") and "drop" in text(node)
    ]
    init = method(scheduler.node, "__init__")
    if init is None or not switches:
        return
    for branch in descendants(init, "if_statement"):
        for negated in descendants(field(branch, "condition"), "not_operator"):
            if text(field(negated, "argument")) == flag.written:
                switch = switches[0].removeprefix("self.")
                yield scheduler.pen.replace(negated, f"{flag.receiver}.{switch}")


def _new_predicate(config: Found, neighbour: Node, excluded: str) -> Iterator[Edit]:
    yield config.pen.after(
        neighbour,
        "",
        f"def {PREDICATE}(self) -> bool:",
        '    """Whether the last matched prefix-cache block has to be dropped.',
        "",
        "    EAGLE-style drafters build a position's draft K/V from the next token as",
        "    well, which the end of a matched prefix does not determine. A drafter that",
        "    writes its context K/V from the target's hidden states alone keeps it.",
        '    """',
        f"    return self.use_eagle() and not {excluded}",
    )


def _groups(program: Program, fault: Fault) -> Iterator[Edit]:
    """Functions that annotate EAGLE groups, or miss the annotation, are about the drop."""
    for module in program.mentioning(["is_eagle_group", "use_eagle()"], fault.hints(_GROUPS)):
        if "/core/" not in module.path:
            continue
        for function in descendants(module.file.root, FUNCTION):
            if not any(
                text(field(node, "attribute")) == "is_eagle_group"
                for node in descendants(function, "attribute")
            ):
                continue
            for call in calls(function, "use_eagle"):
                callee = field(call, "function")
                if callee.type == "attribute":
                    yield Found(module, function).pen.replace(field(callee, "attribute"), PREDICATE)


def _own_field(scheduler: Found, manager: Node, flag: _Flag) -> Iterator[Edit]:
    """A field for the drop beside the EAGLE field, read where a block is dropped or made room for."""
    pen = scheduler.pen
    value = keyword(manager, "use_eagle")
    assert value is not None
    yield pen.before(
        pen.statement(manager),
        f"{_FIELD} = (",
        f"    {flag.receiver} is not None",
        f"    and {flag.receiver}.{PREDICATE}()",
        ")",
    )
    yield pen.replace(value, _FIELD)
    for function in methods(scheduler.node):
        if text(field(function, "name")) == "__init__":
            continue
        for read in attribute_reads(function, flag.written):
            branch = read.parent
            if branch is not None and branch.type == "if_statement" and _backs_off_a_block(branch):
                yield pen.replace(read, _FIELD)


def _backs_off_a_block(branch: Node) -> bool:
    """Whether the branch lowers a position by one block, to make room for the drop."""
    return any(
        text(node.children[1]) == "-" and text(field(node, "right")).endswith("block_size")
        for node in descendants(field(branch, "consequence"), "binary_operator")
    )
