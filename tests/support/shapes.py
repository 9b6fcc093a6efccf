"""Real releases of vLLM in other shapes: rewritten so that they do what they did."""

from tree_sitter import Node

from investigator.code.syntax import field, named, text
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


def index_loops(files: Files) -> dict[str, bytes]:
    """The shift is a loop over places, in a lambda that is handed the ids."""

    def looped(node: Node) -> str | None:
        body = field(node, "body")
        if '"target_layer_ids"' not in text(node) or body.type != "binary_operator":
            return None
        ids = text(named(node)[1]).partition(" in ")[2]
        return f"(lambda given: [given[place] + 1 for place in range(len(given))])({ids})"

    return mutator.edit_nodes(files, RUNNER, "list_comprehension", looped)


def behind_a_lambda(files: Files) -> dict[str, bytes]:
    """What decides a layer's window is called through a lambda that takes anything."""

    def called(node: Node) -> str | None:
        if text(field(node, "function")) != "_resolve_layer_attention":
            return None
        return f"(lambda *given: _resolve_layer_attention(*given)){text(field(node, 'arguments'))}"

    return mutator.edit_nodes(files, DRAFT, "call", called)


def handed_on_by_a_package(files: Files) -> dict[str, bytes]:
    """The draft's attention comes by way of a package that hands it on."""
    wanted = "from vllm.model_executor.layers.attention import Attention"

    def other(node: Node) -> str | None:
        return f"from {MODELS.replace('/', '.')}.handed_on import Attention" if text(node) == wanted else None

    changed = mutator.edit_nodes(files, DRAFT, "import_from_statement", other)
    return {**changed, f"{MODELS}/handed_on/__init__.py": f"{wanted} as Attention\n".encode()}
