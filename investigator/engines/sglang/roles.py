"""Finding things in SGLang by the role they play. Paths are hints: they save reading, no more."""

import re
from collections.abc import Iterator

from investigator.code.classes import own_attribute
from investigator.code.interpreter import Interpreter
from investigator.code.values import ClassValue
from investigator.engines.finding import mentions

MODELS = "sglang/srt/models/"
"""The package whose modules the registry imports, each for its ``EntryClass``."""
CONFIGS = "sglang/srt/configs/"
ENTRY = "EntryClass"
TYPE = "model_type"
"""The attribute by which a config class says what models it is for."""
HINTS: tuple[str, ...] = (
    "sglang/kernels/fused_op.py",
    "sglang/kernels/ops/attention/fused_qk_rmsnorm_rope_gate.py",
    "sglang/kernels/ops/elementwise/elementwise.py",
    "sglang/kernels/ops/layernorm/elementwise.py",
    "sglang/srt/arg_groups/fields/memory.py",
    "sglang/srt/arg_groups/model_override_base.py",
    "sglang/srt/arg_groups/overrides.py",
    "sglang/srt/configs/model_config.py",
    "sglang/srt/configs/qwen3_5.py",
    "sglang/srt/configs/qwen3_next.py",
    "sglang/srt/configs/qwen3_vl.py",
    "sglang/srt/distributed/__init__.py",
    "sglang/srt/distributed/parallel_state.py",
    "sglang/srt/distributed/utils.py",
    "sglang/srt/environ.py",
    "sglang/srt/eplb/expert_distribution.py",
    "sglang/srt/layers/attention/dsa/utils.py",
    "sglang/srt/layers/attention/nsa/utils.py",
    "sglang/srt/layers/aux_hidden_states.py",
    "sglang/srt/layers/communicator.py",
    "sglang/srt/layers/cp/base.py",
    "sglang/srt/layers/cp/utils.py",
    "sglang/srt/layers/dp_attention.py",
    "sglang/srt/layers/elementwise.py",
    "sglang/srt/layers/flashinfer_comm_fusion.py",
    "sglang/srt/layers/fused_qk_rmsnorm_rope_gate.py",
    "sglang/srt/layers/layer_boundary/adapters/lora.py",
    "sglang/srt/layers/layer_boundary/contracts.py",
    "sglang/srt/layers/layer_boundary/layout.py",
    "sglang/srt/layers/layer_boundary/ops.py",
    "sglang/srt/layers/layer_boundary/output.py",
    "sglang/srt/layers/layer_boundary/residual/__init__.py",
    "sglang/srt/layers/layer_boundary/residual/access.py",
    "sglang/srt/layers/layer_boundary/residual/batch.py",
    "sglang/srt/layers/layer_boundary/residual/stream.py",
    "sglang/srt/layers/layer_boundary/stage.py",
    "sglang/srt/layers/layernorm.py",
    "sglang/srt/layers/layernorm_sp.py",
    "sglang/srt/layers/linear.py",
    "sglang/srt/layers/moe/qwen35_flashinfer_fusion.py",
    "sglang/srt/layers/radix_attention.py",
    "sglang/srt/layers/rotary_embedding/__init__.py",
    "sglang/srt/layers/rotary_embedding/factory.py",
    "sglang/srt/layers/utils/__init__.py",
    "sglang/srt/layers/utils/cp_utils.py",
    "sglang/srt/layers/utils/multi_platform.py",
    "sglang/srt/lora/layers.py",
    "sglang/srt/managers/scheduler.py",
    "sglang/srt/mem_cache/kv_cache_builder.py",
    "sglang/srt/mem_cache/kv_cache_dtype.py",
    "sglang/srt/model_executor/forward_batch_info.py",
    "sglang/srt/model_executor/model_runner.py",
    "sglang/srt/model_executor/model_runner_components/attention_backend_setup.py",
    "sglang/srt/model_executor/model_runner_components/spec_aux_hidden_state.py",
    "sglang/srt/model_executor/model_runner_kv_cache_mixin.py",
    "sglang/srt/models/dflash.py",
    "sglang/srt/models/qwen.py",
    "sglang/srt/models/qwen2.py",
    "sglang/srt/models/qwen2_moe.py",
    "sglang/srt/models/qwen3.py",
    "sglang/srt/models/qwen3_5.py",
    "sglang/srt/models/qwen3_5_mtp.py",
    "sglang/srt/models/qwen3_5_text.py",
    "sglang/srt/models/qwen3_vl.py",
    "sglang/srt/runtime_context.py",
    "sglang/srt/server_args.py",
    "sglang/srt/speculative/base_spec_worker.py",
    "sglang/srt/speculative/dflash_utils.py",
    "sglang/srt/speculative/dflash_worker.py",
    "sglang/srt/speculative/dflash_worker_v2.py",
    "sglang/srt/speculative/spec_info.py",
    "sglang/srt/utils/__init__.py",
    "sglang/srt/utils/common.py",
    "sglang/srt/utils/hf_transformers/__init__.py",
    "sglang/srt/utils/hf_transformers/common.py",
    "sglang/srt/utils/hf_transformers_utils.py",
)
"""Files that a run on any of the known releases reads; brought near in one go."""


def registered(interp: Interpreter, architecture: str) -> ClassValue | None:
    """The model class that the registry gives for an architecture: an ``EntryClass`` of that name."""
    needles = [f"class {architecture}(", ENTRY]
    for paths in _places(interp, MODELS, architecture):
        for module in interp.program.among(needles, paths):
            entries = interp.global_name(module, ENTRY)
            for cls in entries if isinstance(entries, list | tuple) else [entries]:
                if isinstance(cls, ClassValue) and cls.name == architecture:
                    return cls
    return None


def config_class(interp: Interpreter, model_type: str) -> ClassValue | None:
    """The engine's own config class for a model type, where it has one."""
    for path in _likely(interp, CONFIGS, model_type):
        for module in interp.program.among([TYPE, f'"{model_type}"'], [path]):
            for name, found in module.symbols.items():
                if found[-1].node.type == "class_definition" and mentions(found[-1].node, TYPE):
                    value = interp.global_name(module, name)
                    if isinstance(value, ClassValue) and own_attribute(interp, value, TYPE) == model_type:
                        return value
    return None


def _places(interp: Interpreter, folder: str, name: str) -> Iterator[list[str]]:
    """The files of a folder, those first that are called like ``name``."""
    likely = _likely(interp, folder, name)
    yield likely
    yield [path for path in interp.program.files_in(folder) if path not in likely]


def _likely(interp: Interpreter, folder: str, name: str) -> list[str]:
    """The files of a folder whose name begins like ``name``, the longest likeness first."""
    wanted = _squeezed(name)
    found = []
    for path in interp.program.files_in(folder):
        stem = _squeezed(path[len(folder) : -len(".py")])
        common = len(_common(stem, wanted))
        if common >= 4 and (common == len(stem) or common >= 6):
            found.append((-common, len(stem), path))
    return [path for *_, path in sorted(found)[:8]]


def _squeezed(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _common(one: str, two: str) -> str:
    length = next(
        (i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two))
    )
    return one[:length]
