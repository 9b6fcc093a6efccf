"""The object that proposes drafts: which class a runner makes it of, followed from the worker.

The worker makes a model runner, by the flag that chooses it; the runner makes a drafter, by
the speculative method; the drafter's ``propose`` runs the draft model. Runner and drafter are
worked out attribute by attribute (:mod:`investigator.code.lazy`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from investigator.code import classes, lazy
from investigator.code.interpreter import Frame, Interpreter
from investigator.code.program import Module, Program
from investigator.code.syntax import asked_for, descendants, field, text
from investigator.code.values import ClassValue, FunctionValue, Instance, Unknown, Value, find_unknown
from investigator.engines.vllm import roles
from investigator.engines.vllm.world import Session, World
from investigator.model import Runner

WORKER = "vllm/v1/worker/gpu_worker.py"
MULTIMODAL = "vllm/config/multimodal.py"
SECOND_PACKAGE = "vllm/v1/worker/gpu/"
"""Where the second runner's package is when the worker does not tell."""
RUNNER = "model_runner"
PROPOSE = "propose"
RUNS = "execute_model"
SET_GROUPS = "set_attn"
"""V2: the method that tells a drafter which KV-cache groups there are."""
MODEL_LENGTH = 32768
"""A context length, which a deployment always has; no answer depends on which."""


def model_runner(session: Session) -> Value:
    """The runner that the worker makes in this session's world; its attributes on demand."""
    interp = session.interp
    interp.made_on_demand = _is_on_demand(session)
    interp.natives["replace"] = _replace
    if session.model_config.attributes["is_multimodal_model"] is True:
        cls = session.class_named("MultiModalConfig", MULTIMODAL)
        made = Instance(cls, {}, complete=False, label="multimodal config")
        session.model_config.attributes["multimodal_config"] = made
    session.model_config.attributes.setdefault("max_model_len", MODEL_LENGTH)
    worker = session.class_named("Worker", WORKER)
    if worker is None:
        return Unknown("no class Worker that makes a model runner was found")
    made = lazy.instance(interp, worker, session.supply, label="worker")
    value: Value = Unknown(f"{worker.name} makes no {RUNNER}")
    for acting in (a for far in (False, True) for a in roles.at_work(interp, worker, far=far)):
        method, names = acting.function, {acting.name: made}
        supply = lazy.supply_through(interp, acting, made, session.supply)
        for node in interp.local_bindings(method).assigned.get(f"{acting.name}.{RUNNER}", ()):
            right = node.child_by_field_name("right")
            if right is None or lazy.reached_through(interp, acting, node, made, session.supply) is False:
                continue
            value = lazy.value_at(interp, method, right, made, supply, names=names)
            if isinstance(value, Instance) and value.cls is not None:
                value.label = "model runner"
                return value
    return value


def belongs(session: Session, module: Module, runner: Runner) -> bool:
    """Whether a module is part of a runner: the second one has a package of its own."""
    package = session.interp.program.shared(
        f"second package {session.world.identity}", lambda program: _package(session.world, program)
    )
    return module.path.startswith(package) is (runner is Runner.V2)


def _package(world: World, program: Program) -> str:
    """The folder of the class that the worker makes its second runner of, with a slash behind."""
    made = model_runner(replace(world, program=program).start(Runner.V2))
    if isinstance(made, Instance) and made.cls is not None:
        return made.cls.module.path.rpartition("/")[0] + "/"
    return SECOND_PACKAGE


def drafter(session: Session) -> Value:
    """What the runner proposes drafts with: an object whose attributes come on demand."""
    runner = model_runner(session)
    if not isinstance(runner, Instance) or runner.cls is None:
        return find_unknown(runner) or Unknown("the model runner")
    interp = session.interp
    frame = Frame(interp.globals_of(runner.cls.module))
    missing: Unknown | None = None
    for name in _proposers(session, runner.cls):
        value = interp.attribute_or_missing(frame, runner.cls.node, runner, name)
        if isinstance(value, Instance) and value.cls is not None and _has(session, value.cls, PROPOSE):
            value.label = "drafter"
            return value
        missing = missing or find_unknown(value)
    return missing or Unknown(f"{runner.cls.name} makes nothing that proposes drafts")


def _proposers(session: Session, cls: ClassValue) -> Iterator[str]:
    """Attributes ``x`` of a runner on which its methods, or else what they hand it to, call
    ``self.x.propose(...)``."""
    own = [m for m in roles.methods(session.interp, cls) if any(roles.calls(m, PROPOSE))]
    acting = [lazy.Acting(m, session.interp.local_bindings(m).first) for m in own]
    found = dict.fromkeys(_proposing(session, acting))
    for far in (False, True):
        found = found or dict.fromkeys(_proposing(session, roles.at_work(session.interp, cls, far=far)))
    return iter(found)


def _proposing(session: Session, functions: Iterable[lazy.Acting]) -> Iterator[str]:
    for acting in functions:
        names = session.interp.local_bindings(acting.function).called(acting.name)
        for call in roles.calls(acting.function, PROPOSE):
            proposer = asked_for(field(call, "function"))
            for node in descendants(proposer[0], "attribute", "call") if proposer is not None else ():
                asked = asked_for(node)
                if asked is not None and text(asked[0]) in names:
                    yield asked[1]


def _replace(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:  # noqa: ARG001
    """``replace(config, key=value, ...)``: a copy with some fields changed."""
    config = args[0] if args else None
    if not isinstance(config, Instance):
        return find_unknown(config) or Unknown("a changed copy of what is not an object")
    return replace(config, attributes={**config.attributes, **kwargs})


def _is_on_demand(session: Session) -> Callable[[ClassValue], bool]:
    return lambda cls: _has(session, cls, PROPOSE) or _has(session, cls, RUNS)


def _has(session: Session, cls: ClassValue, method: str) -> bool:
    return isinstance(classes.class_attribute(session.interp, cls, method), FunctionValue)
