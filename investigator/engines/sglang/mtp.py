"""How an MTP drafter starts: what SGLang makes of the algorithm's name and of the checkpoint's config.

``NEXTN`` is another name for an algorithm of the EAGLE family, which one may rest on the drafter.
The draft's ``ModelConfig`` rewrites the config of a model that drafts for itself into that of its
MTP class. Both are followed, so that what a release knows is read from it and from nothing else.
"""

from collections.abc import Iterator

from investigator.checkpoint import MTP_METHOD, MTP_OWN, Checkpoint
from investigator.code import classes
from investigator.code.interpreter import Interpreter
from investigator.code.syntax import descendants, field, text
from investigator.code.trace import Happening
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    FunctionValue,
    Instance,
    Raised,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines import finding
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import stopped
from investigator.model import NotKnown, Unsupported

ALIAS = '"NEXTN"'
ALIASES = ("sglang/srt/arg_groups/speculative_hook.py", "sglang/srt/server_args.py")
ALGORITHM = "speculative_algorithm"
MTP_LAYERS = "whether one MTP layer runs for all steps or one for each is not followed: the server chooses"
REWRITTEN = "architectures[0]"
"""What the draft's ``ModelConfig`` assigns to when it rewrites a config."""


def is_mtp(checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint's config goes the way of MTP drafters."""
    return checkpoint.method == MTP_METHOD and checkpoint.layout != "speculators"


def algorithm(interp: Interpreter, name: str, draft_config: Instance, path: str) -> Value:
    """The algorithm that a name of ``--speculative-algorithm`` stands for beside this drafter."""
    for module in interp.program.mentioning([ALIAS], ALIASES):
        for function in finding.functions(interp, module):
            if not finding.mentions(function.node, ALIAS):
                continue
            if ALGORITHM in interp.local_bindings(function).parameters:
                return _resolved(interp, function, name, draft_config, path)
            for value in _replacements(function):
                return value
    return Unknown(f"what {name} stands for was not found")


def _resolved(
    interp: Interpreter, function: FunctionValue, name: str, draft_config: Instance, path: str
) -> Value:
    given: dict[str, Value] = {ALGORITHM: name, "speculative_draft_model_path": path}
    local = interp.local_bindings(function)
    arguments = {
        parameter: given.get(parameter, Unknown(f"argument {parameter} of {function.name}"))
        for parameter in local.parameters
        if parameter in given or parameter not in local.defaults
    }
    interp.natives["get_config"] = lambda *_: draft_config
    try:
        return interp.enter(function, (), arguments)
    finally:
        del interp.natives["get_config"]


def _replacements(function: FunctionValue) -> Iterator[str]:
    """Names that a function puts in the alias's place: ``if x == "NEXTN": x = "..."``."""
    for node in descendants(field(function.node, "body"), "if_statement"):
        if ALIAS not in text(field(node, "condition")):
            continue
        for assignment in descendants(field(node, "consequence"), "assignment"):
            right = assignment.child_by_field_name("right")
            if text(field(assignment, "left")).endswith(ALGORITHM) and right is not None:
                yield text(right).strip("\"'")


def start(interp: Interpreter, checkpoint: Checkpoint, model_config: Instance, name: Value) -> Told | None:
    """Rewrite the config of the draft's ``ModelConfig``, as its class does; the answer to every question
    where that does not come to a draft model."""
    if model_config.cls is None:
        return Told(outcome=NotKnown("no class ModelConfig was found"))
    model_config.attributes.update({"is_draft_model": True, ALGORITHM: name})
    steps: list[Step] = []
    try:
        for method in _rewriting(interp, model_config.cls):
            interp.enter(method, (model_config,), {})
            steps.append(
                Step(method.module.place(field(method.node, "name")), "rewrites configs of drafters")
            )
    except Raised as raised:
        outcome = stopped(interp.program, raised, "following the start of an MTP drafter")
        return Told(outcome=outcome, steps=(Step(raised.stack[-1], "stops with an error"),))
    except BudgetSpent as spent:
        return Told(outcome=NotKnown(f"how the engine starts an MTP drafter: {spent}"))
    # What was called on this way is on no question's way; which keys were read is.
    interp.trace.events[:] = [event for event in interp.trace.events if event.kind is Happening.READ]
    config = model_config.attributes["hf_config"]
    named = config.attributes.get("architectures") if isinstance(config, Instance) else None
    if (missing := find_unknown(named)) is not None or not isinstance(named, list) or not named:
        return Told(outcome=NotKnown(f"what the config is rewritten to: {missing or named}"))
    own = checkpoint.draft.raw.get("architectures")
    if checkpoint.layout == MTP_OWN and isinstance(own, list) and named[:1] == own[:1]:
        why = f"no config of architecture {named[0]} is rewritten to an MTP drafter's here"
        return Told(outcome=Unsupported(why), steps=tuple(steps))
    return None


def _rewriting(interp: Interpreter, cls: ClassValue) -> Iterator[FunctionValue]:
    """The methods that rewrite architectures, of the class and of those that it is made from."""
    for base in classes.mro(interp, cls):
        for method in finding.methods(interp, base) if isinstance(base, ClassValue) else ():
            if finding.mentions(method.node, REWRITTEN):
                lefts = (field(n, "left") for n in descendants(field(method.node, "body"), "assignment"))
                if any(text(left).endswith(REWRITTEN) for left in lefts):
                    yield method
