"""Hugging Face configs as vLLM hands them to its code: the drafter's by way of its converters."""

from collections.abc import Mapping

from investigator.checkpoint import Checkpoint, ModelConfig
from investigator.code.interpreter import Interpreter
from investigator.code.values import Instance, Value
from investigator.engines.configs import config_object, traced
from investigator.engines.vllm import roles

CONVERTERS = "vllm/transformers_utils/configs/speculators/algos.py"
LAYER_KEYS = frozenset(
    {
        "aux_hidden_state_layer_ids",
        "dspark_target_layer_ids",
        "eagle_aux_hidden_state_layer_ids",
        "eagle_config",
        "layer_ids",
        "target_layer_ids",
    }
)
"""Keys that name target layers, in any layout that an engine reads."""


def draft_config(interp: Interpreter, checkpoint: Checkpoint) -> Instance:
    """The drafter's config as this engine hands it to its code."""
    draft = checkpoint.draft
    values: Mapping[str, Value] = draft.normalised
    if checkpoint.layout == "speculators":
        values = _converted(interp, draft)
    # A file that names its layers in one layout does not name them in another one too.
    other = LAYER_KEYS if checkpoint.target_layer_ids is not None else frozenset()
    return config_object(values, "draft config", draft.complete, other)


def _converted(interp: Interpreter, draft: ModelConfig) -> Mapping[str, Value]:
    """A speculators file as the engine's own converter for its method leaves it."""
    inner = draft.normalised.get("transformer_layer_config")
    converted: dict[str, Value] = dict(inner) if isinstance(inner, Mapping) else {}
    kind = draft.raw.get("speculators_model_type")
    for module in interp.program.mentioning([f'("{kind}")', "pre_trained_config"], [CONVERTERS]):
        for function in roles.functions(interp, module):
            if any(d.endswith((f'("{kind}")', f"('{kind}')")) for d in function.decorators):
                given = {"config_dict": dict(draft.raw), "pre_trained_config": converted}
                interp.enter(function, (), given)
                return converted
    return converted


def gather_rope(config: Instance) -> None:
    """Add ``rope_parameters``, as Transformers makes it of the flat keys before an engine sees it."""
    attributes = config.attributes
    if attributes.get("rope_parameters") is None and attributes.get("rope_theta") is not None:
        scaling = attributes.get("rope_scaling")
        made = {"rope_type": "default", **(scaling if isinstance(scaling, dict) else {})}
        label = f"{config.label}.rope_parameters"
        attributes["rope_parameters"] = traced({**made, "rope_theta": attributes["rope_theta"]}, label)


def target_window(text_config: Instance) -> Value:
    """The window that all of the target's layers share, as ``CacheConfig`` holds it; else None."""
    window = text_config.attributes.get("sliding_window")
    if window is None:
        return None
    if text_config.attributes.get("use_sliding_window") is False:
        return None
    types = text_config.attributes.get("layer_types")
    if isinstance(types, list) and any(kind != "sliding_attention" for kind in types):
        return None
    return window
