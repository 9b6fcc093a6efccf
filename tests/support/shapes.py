"""Real releases of vLLM in other shapes: rewritten so that they do what they did."""

from investigator.code.syntax import text
from tests.support import mutator
from tests.support.mutator import Files

RUNNER = "vllm/v1/worker/gpu_model_runner.py"
SECOND = "vllm/v1/worker/gpu/spec_decode/eagle/eagle3_utils.py"
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
COORDINATOR = "vllm/v1/core/kv_cache_coordinator.py"
SPECULATIVE = "vllm/config/speculative.py"
CONFIG = "vllm/config/vllm.py"
MODELS = "vllm/model_executor/models"
DRAFT = f"{MODELS}/qwen3_dflash.py"
INTERFACES = f"{MODELS}/interfaces.py"
FIRST_HELPER = "_get_eagle3_aux_layers_from_config"
SECOND_HELPER = "get_eagle3_aux_layers_from_config"

DECISIVE = (
    RUNNER,
    SECOND,
    SCHEDULER,
    COORDINATOR,
    SPECULATIVE,
    CONFIG,
    INTERFACES,
    "vllm/v1/core/kv_cache_manager.py",
    "vllm/v1/core/kv_cache_utils.py",
    "vllm/v1/core/single_type_kv_cache_manager.py",
    "vllm/v1/kv_cache_interface.py",
    "vllm/model_executor/layers/attention/attention.py",
    "vllm/v1/spec_decode/llm_base_proposer.py",
    "vllm/v1/spec_decode/dflash.py",
    "vllm/v1/worker/gpu_worker.py",
    "vllm/engine/arg_utils.py",
)


def modules_renamed(files: Files) -> dict[str, bytes]:
    """The modules that decide are called otherwise."""

    def new(path: str) -> str:
        folder, _, name = path.rpartition("/")
        return f"{folder}/other_{name}"

    return mutator.rename_modules(files, {path: new(path) for path in DECISIVE if path in files})


def package_renamed(files: Files) -> dict[str, bytes]:
    """The second runner's package is called otherwise."""
    old, new = "vllm/v1/worker/gpu/", "vllm/v1/worker/second/"
    return mutator.rename_modules(
        files, {path: path.replace(old, new) for path in files if path.startswith(old)}
    )


def draft_model_renamed(files: Files) -> dict[str, bytes]:
    """The draft model's module too; the registry names it by a string."""
    renamed = mutator.rename_modules(files, {DRAFT: f"{MODELS}/block_draft.py"})
    return mutator.edit_nodes(
        renamed,
        f"{MODELS}/registry.py",
        "string",
        lambda node: '"block_draft"' if text(node) == '"qwen3_dflash"' else None,
    )


def helpers_moved(files: Files) -> dict[str, bytes]:
    """The helpers that decide stand in modules of their own."""
    moved = mutator.move_function(files, RUNNER, FIRST_HELPER, "vllm/v1/worker/taps.py")
    moved = mutator.move_function(moved, SECOND, SECOND_HELPER, "vllm/v1/worker/gpu/taps.py")
    return mutator.move_function(moved, SPECULATIVE, "use_eagle", "vllm/config/predicates.py")


def helper_written_out(files: Files) -> dict[str, bytes]:
    """The first runner's helper is written out where it is called."""
    return mutator.inline_function(files, RUNNER, FIRST_HELPER)


def locals_renamed(files: Files) -> dict[str, bytes]:
    """Variables of the functions that decide are called otherwise."""
    renamed = dict(files)
    for path, function in (
        (RUNNER, FIRST_HELPER),
        (SECOND, SECOND_HELPER),
        (SCHEDULER, "Scheduler.__init__"),
        (SCHEDULER, "Scheduler.schedule"),
        (COORDINATOR, "KVCacheCoordinator.__init__"),
        (COORDINATOR, "get_kv_cache_coordinator"),
        (DRAFT, "DFlashQwen3Attention.__init__"),
        (DRAFT, "DFlashQwen3DecoderLayer.__init__"),
    ):
        renamed = mutator.rename_locals(renamed, path, function)
    return renamed


def everything(files: Files) -> dict[str, bytes]:
    """All of these at once, but the helper is not written out."""
    return modules_renamed(package_renamed(draft_model_renamed(helpers_moved(locals_renamed(files)))))
