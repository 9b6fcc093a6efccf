"""Hugging Face configs as SGLang hands them to its code: of the engine's own classes, where it has one."""

import re
from collections.abc import Callable, Mapping

from investigator.checkpoint import ModelConfig
from investigator.code import classes
from investigator.code.interpreter import Interpreter, Native
from investigator.code.program import Program
from investigator.code.values import ClassValue, FunctionValue, Instance, Value
from investigator.engines import finding
from investigator.engines.configs import config_object
from investigator.engines.sglang import roles
from investigator.model import Json

TRANSFORMERS = 5
"""The major version of Transformers that is taken for granted where a tree does not say which it needs."""
_PIN = re.compile(r"^transformers *[=~>]= *(\d+)", re.MULTILINE)


def transformers(program: Program) -> int | None:
    """The major version of Transformers that this release is pinned to; None: not known."""
    found = _PIN.search(program.requirement("transformers"))
    return int(found[1]) if found else None


def model_config(interp: Interpreter, model: ModelConfig, label: str) -> Instance:
    """A config as Hugging Face or the engine makes it: the engine's own class, where it has one
    for the model type, brings properties."""
    values = model.normalised
    if (transformers(interp.program) or TRANSFORMERS) >= 5:
        values = _rope_parameters(values)
    made = config_object(values, label, model.complete)
    for config, values in ((made, model.normalised), *_nested(made, model.normalised)):
        kind = values.get("model_type")
        config.cls = roles.config_class(interp, kind) if isinstance(kind, str) else None
        if config.cls is not None:
            _remember_properties(interp, config.cls)
        elif isinstance(kind, str):
            config.never = _of_another_type(interp, kind)
    return made


def _of_another_type(interp: Interpreter, kind: str) -> Callable[[ClassValue], bool]:
    """Whether a config class is of another model type than a config that says its own."""

    def tells(cls: ClassValue) -> bool:
        named = classes.class_attribute(interp, cls, "model_type")
        return isinstance(named, str) and named not in ("", kind)

    return tells


def _remember_properties(interp: Interpreter, cls: ClassValue) -> None:
    """Work a config's properties out once: they are functions of its keys, asked layer by layer."""
    for base in classes.mro(interp, cls):
        for method in finding.own_methods(interp, base) if isinstance(base, ClassValue) else ():
            if "property" in method.decorators:
                interp.natives[method.qualified_name] = _remembered(method)


def _rope_parameters(values: Mapping[str, Json]) -> Mapping[str, Json]:
    """A config's flat rotation keys as Transformers 5 hands them on: in one dictionary, under two names."""
    made = {
        key: _rope_parameters(value) if key == "text_config" and isinstance(value, Mapping) else value
        for key, value in values.items()
    }
    if "rope_theta" in made and made.get("rope_parameters") is None:
        scaling = made.get("rope_scaling")
        given = scaling if isinstance(scaling, Mapping) else {}
        parameters = {"rope_type": "default", **given, "rope_theta": made.pop("rope_theta")}
        made["rope_parameters"] = made["rope_scaling"] = parameters
    return made


def _nested(made: Instance, values: Mapping[str, Json]) -> list[tuple[Instance, Mapping[str, Json]]]:
    found = []
    for key, inner in made.attributes.items():
        part = values.get(key)
        if isinstance(inner, Instance) and isinstance(part, Mapping):
            found.append((inner, part))
    return found


def _remembered(method: FunctionValue) -> Native:
    values: dict[int, Value] = {}

    def handler(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        key = id(args[0])
        if key not in values:
            values[key] = interp.enter(method, args, kwargs)
        return values[key]

    return handler
