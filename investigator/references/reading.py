"""The contracts' questions, put to a reference implementation by following its values.

A reference is plain Hugging Face-style code: a function that picks hidden states by layer
id, and a draft model class whose attention layers keep their window and causality. Both are
found by the role they play, in any tree (the authors' package, a clone of DDTree).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from investigator.checkpoint import Checkpoint
from investigator.code import classes
from investigator.code.interpreter import Interpreter
from investigator.code.program import Program
from investigator.code.syntax import Place, descendants, field, string_value, text
from investigator.code.trace import Happening
from investigator.code.values import (
    BudgetSpent,
    FunctionValue,
    Raised,
    Symbol,
    Unknown,
    find_unknown,
)
from investigator.engines.finding import functions
from investigator.engines.interface import Step, Told
from investigator.model import Known, NotKnown
from investigator.references.block import query_tokens
from investigator.references.draft_model import build
from investigator.references.head import draft_head
from investigator.references.rotation import rotation


@dataclass(frozen=True)
class HiddenState(Symbol):
    """``hidden_states[index]`` of the target."""

    index: int


def ask(contract: str, program: Program, checkpoint: Checkpoint) -> Told | None:
    """One contract's question; None for a contract that says nothing about training code."""
    question = QUESTIONS.get(contract)
    if question is None:
        return None
    try:
        return question(program, checkpoint)
    except Raised as raised:
        steps = (Step(raised.stack[-1], "raises"),) if raised.stack else ()
        return Told(outcome=NotKnown(f"the reference raises {raised}"), steps=steps)
    except BudgetSpent as spent:
        return Told(outcome=NotKnown(str(spent)))


# -- which hidden states ---------------------------------------------------------------


def _offset(program: Program, checkpoint: Checkpoint) -> Told:
    ids = checkpoint.target_layer_ids
    if ids is None:
        return Told(outcome=NotKnown("the checkpoint names no target layer ids"))
    count = max(checkpoint.num_target_layers or 0, max(ids) + 1)
    for interp, function, parameters in _pickers(program):
        states = [HiddenState(i) for i in range(count + 1)]
        interp.natives["torch.cat"] = lambda interp, args, kwargs: list(args[0])
        result = interp.enter(function, (), dict(zip(parameters, (states, list(ids)), strict=True)))
        if isinstance(result, (list, tuple)) and all(isinstance(s, HiddenState) for s in result):
            lines = [
                n for n in descendants(function.node, "subscript") if text(field(n, "value")) == parameters[0]
            ]
            places = [function.module.place(node) for node in lines[:1]]
            return Told(
                outcome=Known([s.index for s in result]),
                steps=tuple(Step(place, "the reference picks hidden states by id") for place in places),
            )
    return Told(outcome=NotKnown("no function that picks hidden states by layer id was found"))


def _pickers(program: Program) -> Iterator[tuple[Interpreter, FunctionValue, list[str]]]:
    """Functions of a list of hidden states and a list of ids that index the first by the second."""
    for module in program.search(["hidden_states["]):
        interp = Interpreter(program)
        for function in functions(interp, module):
            names = list(interp.local_bindings(function).parameters)
            if len(names) == 2 and any(
                text(field(node, "value")) == names[0]
                for node in descendants(function.node, "subscript")
                if node.parent is not None and node.parent.type != "typed_parameter"
            ):
                yield interp, function, names


# -- the draft model's layers ----------------------------------------------------------


def _layer_values(name: str, role: str) -> Callable[[Program, Checkpoint], Told]:
    def question(program: Program, checkpoint: Checkpoint) -> Told:
        built = build(program, checkpoint)
        if isinstance(built, Unknown):
            return Told(outcome=NotKnown(str(built)))
        values = [attention.attributes.get(name) for attention in built.attentions]
        if (missing := find_unknown(values)) is not None:
            return Told(outcome=NotKnown(str(missing)))
        stores = [
            event
            for event in built.interp.trace.of(Happening.STORE)
            if event.name.endswith(f".{name}") and event.value[0] in built.attentions
        ]
        places = dict.fromkeys(event.place for event in stores)
        return Told(outcome=Known(values), steps=tuple(Step(place, role) for place in places))

    return question


# -- which keys are read ---------------------------------------------------------------


def _keys(program: Program, checkpoint: Checkpoint) -> Told:
    """``Known([key, ...])``: the checkpoint's keys that the reference's code names on a config."""
    built = build(program, checkpoint)
    if isinstance(built, Unknown):
        return Told(outcome=NotKnown(str(built)))
    nested = checkpoint.draft.raw.get("dflash_config")
    mine = set(checkpoint.draft.raw) | set(nested if isinstance(nested, Mapping) else ())
    cls = built.attentions[0].cls
    assert cls is not None
    found: dict[str, Place] = {}
    for node in descendants(cls.module.file.root, "attribute", "string"):
        key = _config_key(node)
        if key in mine and key not in found:
            found[key] = cls.module.place(node)
    steps = tuple(Step(place, f"reads {key}") for key, place in sorted(found.items()))
    return Told(outcome=Known(sorted(found)), steps=steps)


def _config_key(node: Node) -> str | None:
    """The key that ``config.KEY``, ``getattr(config, "KEY")`` or ``.get("KEY")`` reads."""
    if node.type == "attribute":
        owner = text(field(node, "object"))
        return text(field(node, "attribute")) if owner.rpartition(".")[2].endswith("config") else None
    call = node.parent.parent if node.parent is not None else None
    if call is None or call.type != "call":
        return None
    callee = text(field(call, "function"))
    return string_value(node) if callee == "getattr" or callee.endswith((".get", "_value")) else None


def _retention(program: Program, checkpoint: Checkpoint) -> Told:
    """How far back each layer sees: its window without the token itself."""
    windows = QUESTIONS["layer-types"](program, checkpoint)
    if not isinstance(windows.outcome, Known) or not isinstance(windows.outcome.value, list):
        return windows
    reach = [window if window is None else window - 1 for window in windows.outcome.value]
    return replace(windows, outcome=Known(reach))


# -- where context K/V comes from ------------------------------------------------------


def _cache_drop(program: Program, checkpoint: Checkpoint) -> Told:
    """``Known([])`` when the context's keys are projected from the target's hidden states alone."""
    built = build(program, checkpoint)
    if isinstance(built, Unknown):
        return Told(outcome=NotKnown(str(built)))
    cls = built.attentions[0].cls
    forward = classes.class_attribute(built.interp, cls, "forward") if cls is not None else None
    if not isinstance(forward, FunctionValue):
        return Told(outcome=NotKnown("the reference's attention has no forward"))
    parameters = built.interp.local_bindings(forward).parameters
    context = next((name for name in parameters if "target" in name), None)
    if context is None:
        return Told(outcome=NotKnown("the reference's attention takes nothing from the target"))
    for node in descendants(field(forward.node, "body"), "call"):
        arguments = [text(a) for a in field(node, "arguments").named_children]
        if arguments == [context] and "k_proj" in text(field(node, "function")):
            role = "context keys are projected from the target's hidden states alone"
            return Told(outcome=Known([]), steps=(Step(forward.module.place(node), role),))
    return Told(outcome=NotKnown(f"no projection of {context} to keys was found"))


QUESTIONS: dict[str, Callable[[Program, Checkpoint], Told]] = {
    "target-layer-offset": _offset,
    "layer-types": _layer_values("sliding_window", "the reference gives the layer its window"),
    "in-block-causality": _layer_values("is_causal", "the reference decides whether the layer is causal"),
    "cache-drop": _cache_drop,
    "lookahead": query_tokens,
    "kv-retention": _retention,
    "head-sharing": draft_head,
    "rope": rotation,
    "target-capture": _offset,
    "config-coverage": _keys,
}
