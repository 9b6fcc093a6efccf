"""What happens when the drafter's config names no target layers: the guess, and how loud it is."""

from collections.abc import Iterator

from tree_sitter import Node

from investigator.code import lazy
from investigator.code.syntax import descendants, enclosing, field, named, text
from investigator.code.values import BudgetSpent, FunctionValue, Raised, Value, find_unknown
from investigator.engines.configs import NO_TARGET
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import raised_before, stopped
from investigator.engines.vllm import draft_layers, runners, target_layers
from investigator.engines.vllm.states import Layer
from investigator.engines.vllm.world import ASSUMPTIONS, Session, World
from investigator.methods import MTP
from investigator.model import Known, NotKnown, Runner

LEVELS = ("debug", "info", "warning", "error", "critical", "exception")


def guessed(world: World, runner: Runner) -> Told:
    """``Known({"numbers": [...], "level": LEVEL})`` for a config without ids; ``Known(None)``
    where the config names them and nothing is guessed. Of an MTP drafter whose config does not say how
    many layers it has, ``Known({"layers": n})``: how many are made."""
    if (refused := runners.unsupported(world, runner)) is not None:
        return refused
    if world.checkpoint.target_layer_ids is not None:
        return Told(outcome=Known(None))
    if world.checkpoint.method == MTP.name:
        return _layers_made(world, runner)
    session = world.start(runner)
    model = target_layers.target_model(session)
    layers = session.layers()
    if model is None or layers is None:
        return Told(outcome=NotKnown(f"the target's class or its number of layers is not known; {NO_TARGET}"))
    stack = [Layer(i) for i in range(layers)]
    session.interp.natives["make_layers"] = lambda *_: (0, layers, stack)

    def supply(name: str, annotation: str) -> Value:
        return model if name == "model" else session.supply(name, annotation)

    for function, call in target_layers.setter_calls(session, runner):
        try:
            return _answer(session, function, call, supply, model)
        except Raised as raised:
            outcome = stopped(session.interp.program, raised, "asking for layers")
            return Told(outcome=outcome, steps=(Step(raised.stack[-1], "stops with an error"),))
        except BudgetSpent as spent:
            return Told(outcome=NotKnown(str(spent)))
    return Told(outcome=NotKnown(f"nothing on runner {runner.value}'s path asks for layers"))


def _layers_made(world: World, runner: Runner) -> Told:
    """How many MTP layers the engine makes."""
    if world.checkpoint.counts_mtp_layers:
        return Told(outcome=Known(None))
    draft = draft_layers.build(world, runner)
    steps = tuple(Step(built.place, "an MTP layer's attention is made") for built in draft.built[:1])
    if draft.unknown or draft.refused or not draft.built:
        why = draft.unknown or draft.refused or "no attention of the draft model was seen made"
        return Told(outcome=NotKnown(f"how many MTP layers the engine makes: {why}"), steps=steps)
    return Told(outcome=Known({"layers": len(draft.built)}), steps=steps, assumptions=ASSUMPTIONS)


def _answer(session: Session, function: FunctionValue, call: Node, supply: lazy.Supply, model: Value) -> Told:
    interp = session.interp
    receiver: Value = None
    if function.owner is not None:
        receiver = lazy.instance(interp, function.owner, session.supply)
        receiver.attributes.update(
            speculative_config=session.speculative_config, vllm_config=session.vllm_config, model=model
        )
    argument = named(field(call, "arguments"))[0]
    refused = raised_before(interp, function, call, text(argument), receiver, supply)
    if refused is not None:
        return refused
    value = lazy.value_at(interp, function, argument, receiver, supply)
    calls = list(_guesses(function, text(argument)))
    steps = [Step(function.module.place(node), "the guess is taken") for node in calls[:1]]
    if (missing := find_unknown(value)) is not None or not isinstance(value, (list, tuple)):
        return Told(outcome=NotKnown(f"the layers that are guessed: {missing or value}"), steps=tuple(steps))
    level = "none"
    for node in calls:
        block = enclosing(node, "block")
        for name, place in _logs(block) if block is not None else ():
            level = max(level, name, key=lambda word: LEVELS.index(word) if word in LEVELS else -1)
            steps.append(Step(function.module.place(place), f"says so at level {name}"))
    return Told(
        outcome=Known({"numbers": list(value), "level": level}), steps=tuple(steps), assumptions=ASSUMPTIONS
    )


def _guesses(function: FunctionValue, name: str) -> Iterator[Node]:
    """Assignments of the layers that ask the model itself, not the config."""
    for node in descendants(field(function.node, "body"), "assignment"):
        right = node.child_by_field_name("right")
        if right is not None and text(field(node, "left")) == name and "default" in text(right):
            yield node


def _logs(block: Node) -> Iterator[tuple[str, Node]]:
    """Log calls that stand directly in a block, and their levels."""
    for statement in named(block):
        for inner in named(statement) if statement.type == "expression_statement" else ():
            if inner.type == "call" and field(inner, "function").type == "attribute":
                level = text(field(field(inner, "function"), "attribute")).removesuffix("_once")
                if level in LEVELS:
                    yield level, inner
