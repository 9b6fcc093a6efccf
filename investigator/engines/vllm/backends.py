"""The attention backend that a deployment names, and whether it can run this drafter at all.

A drafted block is attended to without causality. The engine checks the backend that it was told of
when attention layers are made, and stops at one whose class has no such attention.
"""

from investigator.code import classes
from investigator.code.interpreter import Frame
from investigator.code.syntax import descendants, text
from investigator.code.syntax import field as child
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
from investigator.engines.deployment import Deployment
from investigator.engines.interface import Step
from investigator.engines.vllm.world import Session

FLAGS = ("--attention-backend", "--attention-config.backend")
BACKENDS = "AttentionBackendEnum"
REGISTRY = "vllm/v1/attention/backends/registry.py"
SUPPORTS = "supports_non_causal"
BUILDER = "get_builder_cls"
WINDOW = "window"
FLASH = "FLASH_ATTN"


def named(deployment: Deployment) -> str | None:
    """The backend that the deployment names, by the engine's name for it; None where it names none."""
    return next((deployment[flag].upper() for flag in FLAGS if deployment.get(flag)), None)


def without_causality(session: Session, name: str) -> tuple[bool | Unknown, Step | None]:
    """Whether a backend has attention that is not causal, and the line that says so."""
    interp = session.interp
    found = _class_of(session, name)
    if isinstance(found, Unknown):
        return found, None
    method = classes.class_attribute(interp, found, SUPPORTS)
    if not isinstance(method, FunctionValue):
        return Unknown(f"{found.name} has no {SUPPORTS}"), None
    step = Step(method.module.place(method.node), f"what {name} says of attention that is not causal")
    try:
        answer = interp.truth(interp.enter(method, (found,), {}))
    except (Raised, BudgetSpent) as stopped:
        return Unknown(f"{found.name}.{SUPPORTS}: {stopped}"), step
    return (answer if answer is not None else Unknown(f"{found.name}.{SUPPORTS} is not decided")), step


def stops_at_windows(session: Session, name: str) -> Step | None:
    """Where a backend's metadata builder may stop at layers with a window as it is made; None where it
    does not. As FlashInfer's of vLLM 0.25 to 0.29 on GPUs of capability 9.0: which GPU is not known."""
    interp = session.interp
    found = _class_of(session, name)
    getter = classes.class_attribute(interp, found, BUILDER) if isinstance(found, ClassValue) else None
    if not isinstance(getter, FunctionValue):
        return None
    try:
        builder = interp.enter(getter, (), {})
    except (Raised, BudgetSpent):
        return None
    made = classes.class_attribute(interp, builder, "__init__") if isinstance(builder, ClassValue) else None
    if not isinstance(made, FunctionValue):
        return None
    for node in descendants(child(made.node, "body"), "if_statement"):
        stops = any(part.type == "raise_statement" for part in child(node, "consequence").named_children)
        if stops and WINDOW in text(child(node, "condition")):
            return Step(made.module.place(child(node, "condition")), f"where {name} stops at windows")
    return None


def _class_of(session: Session, name: str) -> ClassValue | Unknown:
    """The class of a backend, by the path that the enumeration gives for its name."""
    interp = session.interp
    backends = session.class_named(BACKENDS, REGISTRY)
    if backends is None:
        return Unknown(f"no {BACKENDS} was found")
    frame = Frame(interp.globals_of(backends.module))
    member = interp.attribute_or_missing(frame, backends.node, backends, name)
    path = _value(member)
    if not isinstance(path, str) or "." not in path:
        return find_unknown(path) or Unknown(f"the engine knows no attention backend {name}")
    module, _, cls = path.rpartition(".")
    found = session.class_named(cls, f"{module.replace('.', '/')}.py")
    return found or Unknown(f"no class {cls} was found for the attention backend {name}")


def _value(member: Value) -> Value:
    return member.attributes.get("value") if isinstance(member, Instance) else member
