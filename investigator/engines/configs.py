"""Hugging Face configs as the engines' code sees them: objects made of a checkpoint's own keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from investigator.checkpoint import ModelConfig
from investigator.code.values import ABSENT, Instance, Symbol, TracedDict, TracedList, Value

TEXT_CONFIG = "get_text_config"
TEXT = "text_config"
LAYERS = "num_hidden_layers"
NO_TARGET = "give the target's config with --target owner/name or path:DIR"
"""What decides a question that wants the target's class or the number of its layers."""
UPDATE = "update"


@dataclass(frozen=True)
class TextConfig(Symbol):
    """``config.get_text_config``: gives the config of the text model, or the config itself."""

    config: Instance = field(compare=False)

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """That config."""
        return self.config


@dataclass(frozen=True)
class Update(Symbol):
    """``config.update``: writes a mapping's keys over the config's own."""

    config: Instance = field(compare=False)

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """Nothing, once they are written."""
        if len(arguments) != 1 or keywords or not isinstance(arguments[0], Mapping):
            return NotImplemented
        for key, value in arguments[0].items():
            self.config.attributes[key] = traced(value, f"{self.config.label}.{key}")
        return None


def config_object(
    values: Mapping[str, Value], label: str, complete: bool, absent: frozenset[str] = frozenset()
) -> Instance:
    """A Hugging Face config: attributes for keys; nested configs (``*_config`` with layers of
    their own) become objects too, other mappings stay dicts, as Hugging Face does.

    ``complete`` False: only some of the file's keys are known, and of the rest those in ``absent`` are
    surely not there. ``label`` begins with whose the config is, and the option: ``draft config``.
    """
    attributes: dict[str, Value] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and key in ("text_config", "vision_config", "audio_config"):
            attributes[key] = config_object(value, f"{label}.{key}", complete)
        else:
            attributes[key] = traced(value, f"{label}.{key}")
    made = Instance(None, attributes, complete=complete, label=label, defaults=True)
    if not complete:
        made.advice = f"not all of its keys are known: give the whole file with --{label.split()[0]} path:DIR"
        # A file whose layers stand at its top does not nest them as well.
        without = absent | {TEXT} if LAYERS in attributes else absent
        made.made_by = lambda name: ABSENT if name in without else NotImplemented
    text = attributes.get(TEXT)
    attributes.setdefault(TEXT_CONFIG, TextConfig(text if isinstance(text, Instance) else made))
    attributes.setdefault(UPDATE, Update(made))
    return made


def architectures(config: ModelConfig | None) -> list[str]:
    """The architectures that a config's file names; empty where it names none, or is not known."""
    return names(config.raw.get("architectures")) if config is not None else []


def names(value: Value) -> list[str]:
    """The texts of a config's list; empty where it is none."""
    return (
        TracedList(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else []
    )


def traced(value: Value, label: str) -> Value:
    """A config's value that tells where it comes from, down to the items of what it holds."""
    if isinstance(value, Mapping):
        made = TracedDict({key: traced(item, f"{label}.{key}") for key, item in value.items()})
        made.label = label
        return made
    if isinstance(value, (list, tuple)):
        listed = TracedList(traced(item, label) for item in value)
        listed.label = label
        return listed
    return value
