"""What the prefix cache drops: the EAGLE rule, followed from the scheduler to the coordinator.

``Scheduler.__init__`` works out a flag from predicates of the speculative config and hands it
to the KV-cache manager; the manager hands it to a coordinator; the coordinator drops the last
matched block of the groups that are flagged, and where no group is flagged and the flag is
set, of every group. The chain is followed with the groups that this case has.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code import lazy
from investigator.code.follow import deepen
from investigator.code.interpreter import Frame
from investigator.code.syntax import Place, descendants, field, named, text
from investigator.code.trace import Event, Happening
from investigator.code.values import (
    BudgetSpent,
    FunctionValue,
    Instance,
    Raised,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines.deployment import switched
from investigator.engines.finding import keyword_at, mentions
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import stopped
from investigator.engines.vllm import roles
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.methods import described
from investigator.model import Known, NotKnown, Outcome

SCHEDULER = "vllm/v1/core/sched/scheduler.py"
SPECS = "vllm/v1/kv_cache_interface.py"
ANNOTATORS = ("vllm/v1/core/kv_cache_utils.py", "vllm/v1/core/kv_cache_planning.py")
ARGUMENTS = "vllm/engine/arg_utils.py"
FLAG = "is_eagle_group"
SWITCH = "--enable-prefix-caching"
HASHED_AHEAD = "hash_lookahead"
"""Part of the name of the scheduler's field that says how many tokens after a block its hash covers."""


def dropped_groups(world: World) -> Told:
    """``Known([name, ...])``: the KV-cache groups whose last matched block is dropped; of a drafter whose
    K/V depends on the next token, ``Known({"dropped": [name, ...], "hashed ahead": n})``."""
    result = deepen(lambda follow: _dropped(world, follow), lambda found: found.missing)
    said = switched(world.deployment, SWITCH)
    caching, where = prefix_caching_default(world) if said is None else (said, None)
    last = (Step(where, "whether prefix caching is on by default"),) if where and result.steps else ()
    return Told(
        outcome=result.outcome,
        steps=(*result.steps, *last),
        assumptions=ASSUMPTIONS,
        live=caching,
        note="" if caching is None else _switch_note(caching, said),
    )


def _switch_note(caching: bool, said: bool | None) -> str:
    by = "by default" if said is None else "by the deployment's flag"
    return f"prefix caching is {'on' if caching else 'off'} {by}"


@dataclass(frozen=True)
class _Dropped:
    outcome: Outcome
    steps: tuple[Step, ...] = ()
    missing: Unknown | None = None


def _dropped(world: World, follow: frozenset[str]) -> _Dropped:
    session = world.start(follow=follow)
    try:
        groups = _groups(session)
        unknown = _annotate(session, groups)
        if unknown is not None:
            return _Dropped(NotKnown(f"which groups are flagged: {unknown}"), missing=unknown)
        ids, ahead = _flagged(session, groups)
    except Raised as raised:
        outcome = stopped(session.interp.program, raised, "following the flag")
        return _Dropped(outcome, (Step(raised.stack[-1], "raises"),))
    except BudgetSpent as spent:
        return _Dropped(NotKnown(str(spent)))
    steps = tuple(_chain(session))
    if (missing := find_unknown(ids)) is not None:
        return _Dropped(NotKnown(f"which groups drop a block: {missing}"), steps, missing)
    if not isinstance(ids, (set, list, tuple, frozenset)):
        return _Dropped(NotKnown(f"the coordinator's groups come out as {ids!r}"), steps)
    names = [group.attributes["layer_names"][0] for group in groups]
    dropped = [names[i] for i in sorted(ids)]
    if not described(world.checkpoint).reads_next:
        return _Dropped(Known(dropped), steps)
    if (missing := find_unknown(ahead)) is not None:
        return _Dropped(NotKnown(f"what a block's hash covers: {missing}"), steps, missing)
    return _Dropped(Known({"dropped": dropped, "hashed ahead": ahead}), steps)


def _groups(session: Session) -> list[Instance]:
    """The KV-cache groups of this case: the target's attention, its recurrent layers where it
    has any, and the drafter's."""
    names = ["target attention"]
    if session.interp.truth(session.model_config.attributes["is_hybrid"]) is True:
        names.append("target recurrent")
    names.append("draft attention")
    spec = session.class_named("FullAttentionSpec", SPECS)
    return [
        Instance(
            None,
            {
                "layer_names": [name],
                "kv_cache_spec": Instance(spec, {"block_size": 16, "is_draft": "draft" in name}),
                FLAG: False,
            },
            complete=False,
            label="kv cache group",
        )
        for name in names
    ]


# -- which groups are flagged before the coordinator sees them -------------------------


def _annotate(session: Session, groups: list[Instance]) -> Unknown | None:
    """Run the functions that flag groups, as far as control reaches their flags."""
    interp = session.interp
    specs = {group.attributes["layer_names"][0]: group.attributes["kv_cache_spec"] for group in groups}
    for function, node in _annotators(session):
        given: dict[str, Value] = {"kv_cache_groups": groups, "groups": groups, "kv_cache_spec": specs}
        supply = _supplying(session, given)
        if lazy.reached(interp, function, node, None, supply) is False:
            continue
        arguments = {}
        for name, kind in interp.local_bindings(function).parameters.items():
            value = supply(name, kind)
            arguments[name] = (
                _from_callers(session, function, name, supply) if value is NotImplemented else value
            )
        interp.enter(function, (), arguments)
    return find_unknown([group.attributes[FLAG] for group in groups])


def _from_callers(session: Session, function: FunctionValue, name: str, supply: lazy.Supply) -> Value:
    """What the functions of the same file pass for a parameter, where they all pass the same."""
    interp = session.interp
    default = interp.local_bindings(function).defaults.get(name)
    passed: list[Value] = []
    for caller in roles.functions(interp, function.module):
        for call in roles.calls(caller, function.name):
            given = [
                field(argument, "value")
                for argument in named(field(call, "arguments"))
                if argument.type == "keyword_argument" and text(field(argument, "name")) == name
            ]
            if given:
                passed.append(lazy.value_at(interp, caller, given[0], None, supply))
            elif default is not None:
                passed.append(lazy.value_at(interp, function, default, None, supply))
    missing = find_unknown(passed)
    if missing is None and passed and all(value == passed[0] for value in passed):
        return passed[0]
    return missing or Unknown(f"argument {name} of {function.qualified_name} differs by caller")


def _annotators(session: Session) -> Iterator[tuple[FunctionValue, Node]]:
    interp = session.interp
    for module in interp.program.mentioning([f".{FLAG} = "], ANNOTATORS):
        for function in roles.functions(interp, module):
            if not mentions(function.node, FLAG):
                continue
            for node in descendants(field(function.node, "body"), "assignment"):
                left = field(node, "left")
                if left.type == "attribute" and text(field(left, "attribute")) == FLAG:
                    yield function, node
                    break


def _supplying(session: Session, given: dict[str, Value]) -> lazy.Supply:
    def supply(name: str, annotation: str) -> Value:
        return given[name] if name in given else session.supply(name, annotation)

    return supply


# -- the chain -------------------------------------------------------------------------


def _flagged(session: Session, groups: list[Instance]) -> tuple[Value, Value]:
    """The ids of the groups that the coordinator drops a block of, and how many tokens after a block
    its hash covers."""
    interp = session.interp
    cls = session.class_named("Scheduler", SCHEDULER)
    if cls is None:
        return Unknown("no class Scheduler was found"), 0
    config = Instance(
        None, {"kv_cache_groups": groups, "num_blocks": 1024}, complete=False, label="kv cache config"
    )
    cache = session.vllm_config.attributes["cache_config"]
    cache.attributes["enable_prefix_caching"] = True
    supply = _supplying(session, {"kv_cache_config": config, "block_size": 16, "hash_block_size": 16})
    scheduler = lazy.instance(interp, cls, supply, label="scheduler")
    frame = Frame(interp.globals_of(cls.module))
    manager = interp.attribute(frame, cls.node, scheduler, "kv_cache_manager")
    if not isinstance(manager, Instance):
        return find_unknown(manager) or Unknown("the scheduler's KV-cache manager"), 0
    coordinator = interp.attribute(frame, cls.node, manager, "coordinator")
    if not isinstance(coordinator, Instance):
        return find_unknown(coordinator) or Unknown("the KV-cache manager's coordinator"), 0
    names = [name for name in coordinator.attributes if name.endswith("eagle_group_ids")]
    if not names:
        return Unknown("the coordinator keeps no set of flagged groups"), 0
    # A coordinator that keeps both the flagged groups and those that drop names the latter so.
    chosen = next((name for name in names if name.startswith("drop")), names[0])
    hashed = next((name for name in interp.assigned_attributes(cls) if HASHED_AHEAD in name), None)
    ahead = interp.attribute(frame, cls.node, scheduler, hashed) if hashed is not None else 0
    return coordinator.attributes[chosen], ahead


def _chain(session: Session) -> Iterator[Step]:
    """Predicate, scheduler, coordinator: each once, in the order in which the flag travels."""
    trace = session.interp.trace
    predicates = [e for e in trace.of(Happening.RETURN) if e.name.startswith("SpeculativeConfig.")]
    for event in _once(predicates):
        yield Step(event.place, f"{event.name}() is {event.value}")
    handed = next((e for e in trace.of(Happening.CALL) if e.name == "KVCacheManager.__init__"), None)
    if handed is not None:
        yield Step(_keyword_place(session, handed), "the scheduler hands it to the KV-cache manager")
    for event in _once([e for e in trace.of(Happening.BRANCH) if "eagle_group_ids" in e.name]):
        taken = "flags every group" if event.value else "flags no further group"
        yield Step(event.place, f"the coordinator {taken}")


def _once(events: list[Event]) -> Iterator[Event]:
    seen = set()
    for event in events:
        if event.place not in seen:
            seen.add(event.place)
            yield event


def _keyword_place(session: Session, call: Event) -> Place:
    """The line of the manager's construction that carries the flag."""
    outer = call.stack[-2] if len(call.stack) > 1 else call.place
    return keyword_at(session.interp, outer, lambda name: "eagle" in name)


# -- is it live? -----------------------------------------------------------------------


def prefix_caching_default(world: World) -> tuple[bool | None, Place | None]:
    """Whether prefix caching is on when nobody sets it, None when that is not decided; and the line
    that decides it."""
    session = world.start()
    interp = session.interp
    cls = session.class_named("EngineArgs", ARGUMENTS)
    if cls is None:
        return None, None
    session.model_config.attributes.setdefault("pooler_config", None)
    for method in roles.methods(interp, cls):
        if not mentions(method.node, ".enable_prefix_caching"):
            continue
        for node in descendants(field(method.node, "body"), "assignment"):
            left, right = field(node, "left"), node.child_by_field_name("right")
            if left.type != "attribute" or text(field(left, "attribute")) != "enable_prefix_caching":
                continue
            if right is None or right.type in ("true", "false"):
                continue
            receiver = Instance(
                cls, {"enable_prefix_caching": None}, complete=False, label="engine arguments"
            )
            try:
                if lazy.reached(interp, method, node, receiver, session.supply) is not False:
                    value = lazy.value_at(interp, method, right, receiver, session.supply)
                    return interp.truth(value), _decided_at(session, method, right)
            except (Raised, BudgetSpent):
                return None, None
    return None, None


def _decided_at(session: Session, method: FunctionValue, node: Node) -> Place:
    """Where the value of an expression is bound: its own place, or where its one name was."""
    name = text(node)
    bound = session.interp.trace.last(Happening.BIND, lambda event: event.name == name)
    return bound.place if bound is not None else method.module.place(node)
