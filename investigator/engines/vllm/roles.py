"""Finding things in vLLM by the role they play. Paths are hints: they save reading, no more."""

from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from investigator.code import classes
from investigator.code.interpreter import Interpreter
from investigator.code.program import Module
from investigator.code.syntax import Place, descendants, field, named, string_value
from investigator.code.values import ClassValue, Unknown, Value
from investigator.engines.configs import NO_TARGET
from investigator.engines.finding import at_work, calls, class_named, functions, methods

MODELS = "vllm/model_executor/models"
REGISTRY = f"{MODELS}/registry.py"
HINTS = (
    "vllm/compilation/decorators.py",
    "vllm/config/__init__.py",
    "vllm/config/attention.py",
    "vllm/config/aux_output.py",
    "vllm/config/cache.py",
    "vllm/config/compilation.py",
    "vllm/config/load.py",
    "vllm/config/model.py",
    "vllm/config/multimodal.py",
    "vllm/config/observability.py",
    "vllm/config/parallel.py",
    "vllm/config/scheduler.py",
    "vllm/config/speculative.py",
    "vllm/config/utils.py",
    "vllm/config/vllm.py",
    "vllm/distributed/__init__.py",
    "vllm/distributed/parallel_state.py",
    "vllm/distributed/utils.py",
    "vllm/engine/arg_utils.py",
    "vllm/envs.py",
    "vllm/logger.py",
    "vllm/lora/layers/base.py",
    "vllm/model_executor/custom_op.py",
    "vllm/model_executor/layers/attention/__init__.py",
    "vllm/model_executor/layers/attention/attention.py",
    "vllm/model_executor/layers/attention_layer_base.py",
    "vllm/model_executor/layers/fused_moe/utils.py",
    "vllm/model_executor/layers/layernorm.py",
    "vllm/model_executor/layers/linear.py",
    "vllm/model_executor/layers/logits_processor.py",
    "vllm/model_executor/layers/rotary_embedding/__init__.py",
    "vllm/model_executor/layers/vocab_parallel_embedding.py",
    "vllm/model_executor/model_loader/__init__.py",
    "vllm/model_executor/model_loader/utils.py",
    "vllm/model_executor/models/__init__.py",
    "vllm/model_executor/models/interfaces.py",
    "vllm/model_executor/models/qwen2.py",
    "vllm/model_executor/models/qwen3.py",
    "vllm/model_executor/models/qwen3_5.py",
    "vllm/model_executor/models/qwen3_dflash.py",
    "vllm/model_executor/models/qwen3_next.py",
    "vllm/model_executor/models/qwen3_vl.py",
    "vllm/model_executor/models/registry.py",
    "vllm/model_executor/models/utils.py",
    "vllm/transformers_utils/config.py",
    "vllm/transformers_utils/configs/speculators/__init__.py",
    "vllm/transformers_utils/configs/speculators/algos.py",
    "vllm/transformers_utils/configs/speculators/base.py",
    "vllm/transformers_utils/deepseek_v4_utils.py",
    "vllm/utils/math_utils.py",
    "vllm/utils/torch_utils.py",
    "vllm/v1/attention/backend.py",
    "vllm/v1/attention/backends/flash_attn.py",
    "vllm/v1/attention/selector.py",
    "vllm/v1/core/kv_cache_coordinator.py",
    "vllm/v1/core/kv_cache_manager.py",
    "vllm/v1/core/kv_cache_planning.py",
    "vllm/v1/core/kv_cache_utils.py",
    "vllm/v1/core/sched/interface.py",
    "vllm/v1/core/sched/scheduler.py",
    "vllm/v1/core/single_type_kv_cache_manager.py",
    "vllm/v1/kv_cache_interface.py",
    "vllm/v1/kv_cache_spec_registry.py",
    "vllm/v1/spec_decode/dflash.py",
    "vllm/v1/spec_decode/llm_base_proposer.py",
    "vllm/v1/spec_decode/utils.py",
    "vllm/v1/worker/ec_connector_model_runner_mixin.py",
    "vllm/v1/worker/gpu/attn_utils.py",
    "vllm/v1/worker/gpu/cp_utils.py",
    "vllm/v1/worker/gpu/dp_utils.py",
    "vllm/v1/worker/gpu/input_batch.py",
    "vllm/v1/worker/gpu/model_runner.py",
    "vllm/v1/worker/gpu/spec_decode/__init__.py",
    "vllm/v1/worker/gpu/spec_decode/dflash/speculator.py",
    "vllm/v1/worker/gpu/spec_decode/dflash/utils.py",
    "vllm/v1/worker/gpu/spec_decode/eagle/eagle3_utils.py",
    "vllm/v1/worker/gpu/spec_decode/eagle/utils.py",
    "vllm/v1/worker/gpu/spec_decode/speculator.py",
    "vllm/v1/worker/gpu/spec_decode/utils.py",
    "vllm/v1/worker/gpu/states.py",
    "vllm/v1/worker/gpu_model_runner.py",
    "vllm/v1/worker/gpu_worker.py",
    "vllm/v1/worker/kv_connector_model_runner_mixin.py",
    "vllm/v1/worker/lora_model_runner_mixin.py",
    "vllm/v1/worker/worker_base.py",
)
"""Files that a run on any of the known releases reads; brought near in one go."""


@dataclass(frozen=True)
class Entry:
    """What the registry says about one architecture: a module's name and a class's, and where."""

    module: str
    cls: str
    place: Place


def registered(interp: Interpreter, architecture: str) -> ClassValue | None:
    """The model class that the registry gives for an architecture's name."""
    for module in interp.program.mentioning([f'"{architecture}"', "_MODELS"], [REGISTRY]):
        entry = interp.program.derived(module, "registry", _registry).get(architecture)
        if entry is not None:
            cls = _model_class(interp, module, entry.module, entry.cls)
            if cls is not None:
                return cls
    return None


def draft_registry(interp: Interpreter, method: str) -> dict[str, Entry]:
    """The registry's draft models of a speculative method, which their names begin with."""
    found: dict[str, Entry] = {}
    for module in interp.program.mentioning(["_MODELS", "DraftModel"], [REGISTRY]):
        for name, entry in interp.program.derived(module, "registry", _registry).items():
            if method in name.lower():
                found.setdefault(name, entry)
    return found


def _registry(module: Module) -> dict[str, Entry]:
    """Architecture -> entry, from the dict literals of a registry's file."""
    found: dict[str, Entry] = {}
    for pair in descendants(module.file.root, "pair"):
        name, where = string_value(field(pair, "key")), _module_and_class(field(pair, "value"))
        if name is not None and where is not None:
            found.setdefault(name, Entry(*where, module.place(pair)))
    return found


def _module_and_class(node: Node) -> tuple[str, str] | None:
    if node.type == "tuple":
        parts = [string_value(part) for part in named(node)]
        if len(parts) >= 2 and parts[0] is not None and parts[1] is not None:
            return parts[0], parts[1]
    return None


def _model_class(interp: Interpreter, registry: Module, module: str, name: str) -> ClassValue | None:
    here = registry.package
    for dotted in (f"{here}.{module}", module, f"vllm.{module}"):
        found = interp.program.module(dotted)
        if found is not None:
            value = interp.global_name(found, name)
            if isinstance(value, ClassValue):
                return value
    return class_named(interp, name, "")


def architecture_flag(interp: Interpreter, architectures: Sequence[str], flag: str) -> Value:
    """A class-level flag (``is_hybrid``) of the first architecture that the registry knows."""
    for architecture in architectures:
        cls = registered(interp, architecture)
        if cls is not None:
            value = classes.class_attribute(interp, cls, flag)
            return False if value is NotImplemented else value
    return Unknown(f"{flag}: the target's architecture is not known; {NO_TARGET}")


__all__ = [
    "HINTS",
    "Entry",
    "architecture_flag",
    "at_work",
    "calls",
    "class_named",
    "draft_registry",
    "functions",
    "methods",
    "registered",
]
