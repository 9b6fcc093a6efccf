"""What the prefix cache drops: the EAGLE rule, where the radix cache is made.

An EAGLE drafter's K/V at a position depends on the next token, so for one the radix cache
compares pairs of tokens, and the last token of a match is left out. Whether it does is one
flag of the cache's parameters, which a predicate of the speculative algorithm decides.
"""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code import lazy
from investigator.code.syntax import descendants, field, text
from investigator.code.trace import Happening
from investigator.code.values import BudgetSpent, FunctionValue, Raised, Value, find_unknown
from investigator.engines import finding
from investigator.engines.deployment import switched
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import stopped
from investigator.engines.sglang.world import ASSUMPTIONS, Session, World
from investigator.methods import described
from investigator.model import Json, Known, NotKnown

FLAG = "is_eagle"
MAKERS = ("sglang/srt/mem_cache/kv_cache_builder.py", "sglang/srt/managers/scheduler.py")
SWITCH = "disable_radix_cache"
FLAG_OFF = "--disable-radix-cache"
SETTINGS = (
    "sglang/srt/server_args.py",
    "sglang/srt/arg_groups/fields/memory.py",
)
GROUP = "radix cache"
RECURRENT = ("linear_", "mamba", "ssm", "recurrent", "hybrid_override_pattern")
"""Parts of the keys and layer types by which configs tell of layers with a state."""


def dropped_groups(world: World) -> Told:
    """``Known([])`` when a match keeps its last token, ``Known(["radix cache"])`` when not; of a drafter
    whose K/V depends on the next token, ``Known({"dropped": [...], "hashed ahead": 0})``."""
    session = world.start()
    for function, node in _flags(session):
        try:
            value = _value(session, function, node)
        except Raised as raised:
            outcome = stopped(world.program, raised, "following the flag")
            return Told(outcome=outcome, steps=(Step(raised.stack[-1], "raises"),))
        except BudgetSpent as spent:
            return Told(outcome=NotKnown(str(spent)))
        truth = session.interp.truth(value)
        said = [e for e in session.interp.trace.of(Happening.RETURN) if e.name.endswith(f".{FLAG}")]
        steps = (
            *(Step(e.place, f"{e.name}() is {e.value}") for e in said[-1:]),
            Step(function.module.place(node), "the radix cache is told"),
        )
        if truth is None:
            return Told(outcome=NotKnown(f"whether it compares pairs: {find_unknown(value)}"), steps=steps)
        if truth and has_recurrent_layers(session):
            why = (
                "the cache of a target with recurrent layers need not do what it is told, and is not followed"
            )
            return Told(outcome=NotKnown(f"whether it compares pairs: {why}"), steps=steps)
        off = switched(world.deployment, FLAG_OFF)
        on = cached_by_default(session) if off is None else not off
        by = "by default" if off is None else "by the deployment's flag"
        dropped: list[Json] = [GROUP] if truth else []
        needed = described(world.checkpoint).reads_next
        return Told(
            outcome=Known({"dropped": dropped, "hashed ahead": 0} if needed else dropped),
            steps=steps,
            assumptions=ASSUMPTIONS,
            live=on,
            note="" if on is None else f"the radix cache is {'on' if on else 'off'} {by}",
        )
    return Told(outcome=NotKnown(f"where the radix cache is told {FLAG} was not found"))


def has_recurrent_layers(session: Session) -> bool:
    """Whether the target's config speaks of layers with a state: their cache is a class of its own."""
    keys = session.target_text_config.attributes
    kinds = keys.get("layer_types")
    stated = isinstance(kinds, list) and any(
        isinstance(kind, str) and any(word in kind for word in RECURRENT) for kind in kinds
    )
    return stated or any(word in key for key in keys for word in RECURRENT)


def _flags(session: Session) -> Iterator[tuple[FunctionValue, Node]]:
    """Where a cache's parameters are given the flag."""
    interp = session.interp
    for module in interp.program.mentioning([f"{FLAG}="], MAKERS):
        for function in finding.functions(interp, module):
            for node in descendants(field(function.node, "body"), "keyword_argument"):
                if text(field(node, "name")) == FLAG:
                    yield function, field(node, "value")


def _value(session: Session, function: FunctionValue, node: Node) -> Value:
    receiver: Value = None
    if function.owner is not None:
        receiver = lazy.instance(session.interp, function.owner, session.supply)
        receiver.attributes["spec_algorithm"] = session.algorithm
    return lazy.value_at(session.interp, function, node, receiver, session.supply)


def cached_by_default(session: Session) -> bool | None:
    """Whether the prefix cache is on when nobody sets anything; None when that is not decided."""
    program = session.interp.program
    for module in program.among([f"{SWITCH}: "], SETTINGS):
        for node in descendants(module.file.root, "assignment"):
            if text(field(node, "left")) == SWITCH and node.child_by_field_name("type") is not None:
                value = node.child_by_field_name("right")
                if value is not None and text(value) in ("True", "False"):
                    return text(value) == "False"
    return None
