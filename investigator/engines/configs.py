"""Hugging Face configs as the engines' code sees them: objects made of a checkpoint's own keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from investigator.code.values import Instance, Symbol, TracedDict, TracedList, Value

TEXT_CONFIG = "get_text_config"


@dataclass(frozen=True)
class TextConfig(Symbol):
    """``config.get_text_config``: gives the config of the text model, or the config itself."""

    config: Instance = field(compare=False)

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """That config."""
        return self.config


def config_object(values: Mapping[str, Value], label: str, complete: bool) -> Instance:
    """A Hugging Face config: attributes for keys; nested configs (``*_config`` with layers of
    their own) become objects too, other mappings stay dicts, as Hugging Face does."""
    attributes: dict[str, Value] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and key in ("text_config", "vision_config", "audio_config"):
            attributes[key] = config_object(value, f"{label}.{key}", complete)
        else:
            attributes[key] = traced(value, f"{label}.{key}")
    made = Instance(None, attributes, complete=complete, label=label, defaults=True)
    text = attributes.get("text_config")
    attributes.setdefault(TEXT_CONFIG, TextConfig(text if isinstance(text, Instance) else made))
    return made


def traced(value: Value, label: str) -> Value:
    if isinstance(value, Mapping):
        made = TracedDict({key: traced(item, f"{label}.{key}") for key, item in value.items()})
        made.label = label
        return made
    if isinstance(value, (list, tuple)):
        listed = TracedList(traced(item, label) for item in value)
        listed.label = label
        return listed
    return value
