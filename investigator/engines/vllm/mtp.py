"""How an MTP drafter starts: what ``SpeculativeConfig`` makes of the checkpoint's config.

An MTP drafter is mostly no checkpoint of its own: the engine takes the target's, rewrites its
config into that of a draft model (``hf_overrides`` of the draft's ``ModelConfig``), and tells by
the rewritten ``model_type`` whether it knows such drafters. ``__post_init__`` does all of it and is
followed as a whole, so that what a release knows is read from it and from nothing else.
"""

from dataclasses import dataclass

from investigator.checkpoint import MTP_METHOD, Checkpoint
from investigator.code import classes
from investigator.code.interpreter import Frame, Interpreter
from investigator.code.trace import Happening
from investigator.code.values import (
    BudgetSpent,
    ClassValue,
    FunctionValue,
    Instance,
    Raised,
    TracedList,
    Unknown,
    Value,
    find_unknown,
)
from investigator.engines.configs import config_object
from investigator.engines.interface import Step, Told
from investigator.engines.refusal import is_deliberate
from investigator.model import NotKnown, Refused, Unsupported

STARTS = "__post_init__"
MODEL = "ModelConfig"
OVERRIDES = "hf_overrides"
LENGTH = 32768
"""The target's context length, which a deployment always has; no answer depends on which."""


def is_mtp(checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint's config goes the way of MTP drafters (a speculators file has a converter)."""
    return checkpoint.method == MTP_METHOD and checkpoint.layout != "speculators"


@dataclass(frozen=True)
class Started:
    """The speculative config and the draft's Hugging Face config as the engine leaves them; ``told``:
    the answer to every question where it does not come that far."""

    speculative: Instance
    draft_config: Instance
    told: Told | None = None


def start(
    interp: Interpreter,
    checkpoint: Checkpoint,
    cls: ClassValue | None,
    model_cls: ClassValue | None,
    target: Instance,
    parallel: Instance,
    tokens: int,
) -> Started:
    """Follow ``SpeculativeConfig.__post_init__`` of ``cls`` for so many draft tokens."""
    raw = config_object(checkpoint.draft.normalised, "draft config", checkpoint.draft.complete)
    made = _Draft(interp, checkpoint, cls, model_cls, raw)
    speculative = Instance(
        cls,
        {
            "method": checkpoint.method,
            "model": checkpoint.draft.repo,
            "num_speculative_tokens": tokens,
            "target_model_config": Instance(
                target.cls,
                {**target.attributes, OVERRIDES: {}, "max_model_len": LENGTH},
                complete=False,
                label=target.label,
            ),
            "target_parallel_config": parallel,
            "draft_model_config": None,
            "parallel_drafting": False,
            "quantization": None,
            "revision": None,
            "code_revision": None,
            "max_model_len": None,
            "speculative_token_tree": None,
            "use_heterogeneous_vocab": False,
        },
        complete=False,
        label="speculative config",
    )
    told = _followed(interp, speculative, made)
    # What was called on this way is on no question's way; which keys were read is.
    trace = interp.trace
    trace.events[:] = [event for event in trace.events if event.kind is Happening.READ]
    if not isinstance(speculative.attributes["draft_model_config"], Instance):
        speculative.attributes["draft_model_config"] = made.model(raw)
    return Started(speculative, made.config, told)


def _followed(interp: Interpreter, speculative: Instance, made: "_Draft") -> Told | None:
    if speculative.cls is None:
        return Told(outcome=NotKnown("no class SpeculativeConfig was found"))
    post = classes.class_attribute(interp, speculative.cls, STARTS)
    if not isinstance(post, FunctionValue):
        return Told(outcome=NotKnown(f"{speculative.cls.name} has no {STARTS}"))
    before = interp.natives.get(MODEL)
    interp.natives[MODEL] = made
    try:
        interp.enter(post, (speculative,), {})
    except Raised as raised:
        return _stopped(interp, raised, made)
    except BudgetSpent as spent:
        return Told(outcome=NotKnown(f"how the engine starts an MTP drafter: {spent}"))
    finally:
        del interp.natives[MODEL]
        if before is not None:
            interp.natives[MODEL] = before
    if made.missing is not None:
        return Told(outcome=NotKnown(f"what the engine makes of the drafter's config: {made.missing}"))
    return None


def _stopped(interp: Interpreter, raised: Raised, made: "_Draft") -> Told:
    """The answer where starting ends in an error: of a drafter that the engine does not know, or another."""
    if not is_deliberate(interp.program, raised):
        return Told(outcome=NotKnown(f"following the start of an MTP drafter ended in {raised}"))
    steps = (Step(raised.stack[-1], "stops with an error"),)
    if raised.error.name != "NotImplementedError":
        return Told(outcome=Refused(str(raised)), steps=steps)
    kind = made.config.attributes.get("model_type")
    why = f"no MTP drafter of model_type {kind} is known here ({raised})"
    return Told(outcome=Unsupported(why), steps=steps)


@dataclass
class _Draft:
    """Stands in for the engine's ``ModelConfig``: makes the draft's, of the config as it is rewritten."""

    interp: Interpreter
    checkpoint: Checkpoint
    speculative_cls: ClassValue | None
    model_cls: ClassValue | None
    config: Instance
    missing: Unknown | None = None

    def __call__(self, interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """The draft's ``ModelConfig``."""
        override = kwargs.get(OVERRIDES)
        if override is None or isinstance(override, dict) or self.speculative_cls is None:
            return self.model(self.config)
        frame = Frame(interp.globals_of(self.speculative_cls.module))
        found = interp.call(frame, self.speculative_cls.node, override, (self.config,), {})
        if isinstance(found, Instance):
            self.config = found
        else:
            self.missing = find_unknown(found) or Unknown("the config as it is rewritten")
        return self.model(self.config)

    def model(self, config: Instance) -> Instance:
        """The ``ModelConfig`` of a draft with this config."""
        text = config.attributes.get("text_config")
        named = config.attributes.get("architectures")
        names = [name for name in named if isinstance(name, str)] if isinstance(named, (list, tuple)) else []
        return Instance(
            self.model_cls,
            {
                "hf_config": config,
                "hf_text_config": text if isinstance(text, Instance) else config,
                "architectures": TracedList(names),
                "model": self.checkpoint.draft.repo,
                "quantization": None,
                "max_model_len": LENGTH,
            },
            complete=False,
            label="draft model config",
        )
