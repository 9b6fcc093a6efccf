"""A reference's draft model, built with the checkpoint's config: its layers' attentions, itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from investigator.checkpoint import Checkpoint
from investigator.code.interpreter import Interpreter
from investigator.code.program import Program
from investigator.code.values import ClassValue, Instance, Unknown, Value
from investigator.engines.configs import config_object
from investigator.model import Json


@dataclass(frozen=True)
class DraftModel:
    """The model as its ``__init__`` leaves it, and the attentions of its layers in order."""

    interp: Interpreter
    model: Instance
    attentions: tuple[Instance, ...]


def build(program: Program, checkpoint: Checkpoint) -> DraftModel | Unknown:
    """Build the reference's draft model. Raises Raised or BudgetSpent."""
    names = checkpoint.draft.raw.get("architectures")
    architectures = [n for n in names if isinstance(n, str)] if isinstance(names, list | tuple) else []
    for name in [*architectures, "DFlashDraftModel"]:
        for module in program.search([f"class {name}("]):
            interp = Interpreter(program)
            cls = interp.global_name(module, name)
            if not isinstance(cls, ClassValue):
                continue
            config = config_object(_config(checkpoint), "draft config", checkpoint.draft.complete)
            model = interp.construct(cls, (config,), {}, None)
            found = tuple(_holding(model, ("sliding_window",)))
            if found and isinstance(model, Instance):
                return DraftModel(interp, model, found)
    return Unknown(f"no draft model class {' or '.join(architectures) or 'DFlashDraftModel'} was found")


def _config(checkpoint: Checkpoint) -> Mapping[str, Json]:
    """The config in the layout that the reference reads; a speculators file is laid out anew."""
    values = checkpoint.draft.normalised
    inner = values.get("transformer_layer_config")
    if checkpoint.layout != "speculators" or not isinstance(inner, Mapping):
        return values
    named: dict[str, Json] = {"mask_token_id": checkpoint.mask_token_id}
    if checkpoint.target_layer_ids is not None:
        named["target_layer_ids"] = list(checkpoint.target_layer_ids)
    return {
        **inner,
        "dflash_config": named,
        "block_size": checkpoint.block_size,
        "num_target_layers": checkpoint.num_target_layers,
    }


def _holding(model: Value, wanted: tuple[str, ...]) -> Iterator[Instance]:
    """The objects below a model that keep these attributes, in the order of the layers."""
    stack, seen = [model], set()
    while stack:
        value = stack.pop(0)
        if isinstance(value, (list, tuple)):
            stack[:0] = list(value)
        elif isinstance(value, Instance) and id(value) not in seen and value.label is None:
            seen.add(id(value))
            if all(name in value.attributes for name in wanted):
                yield value
            else:
                stack[:0] = list(value.attributes.values())
