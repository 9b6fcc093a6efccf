"""A release in another shape: what finds things by path or by text loses them, and nothing else changes."""

from pathlib import Path

from tests.support import mutator

MODELS = "vllm/model_executor/models"
RUNNER = "vllm/v1/worker/gpu_model_runner.py"
SECOND = "vllm/v1/worker/gpu/spec_decode/eagle/eagle3_utils.py"
RENAMED = {
    RUNNER: "vllm/v1/worker/main_runner.py",
    SECOND: "vllm/v1/worker/gpu/spec_decode/eagle/taps.py",
    "vllm/v1/core/sched/scheduler.py": "vllm/v1/core/sched/scheduling.py",
    "vllm/config/vllm.py": "vllm/config/whole.py",
}
MOVED = {
    (RUNNER, "_get_eagle3_aux_layers_from_config"): "vllm/v1/worker/layer_ids.py",
    (SECOND, "get_eagle3_aux_layers_from_config"): "vllm/v1/worker/gpu/layer_ids.py",
}


def files(tree: Path) -> dict[str, bytes]:
    """The Python files of an unpacked release, helpers moved to files of their own, modules renamed."""
    found = {path.relative_to(tree).as_posix(): path.read_bytes() for path in tree.rglob("*.py")}
    for (path, function), new in MOVED.items():
        found = mutator.move_function(found, path, function, new)
    return mutator.rename_modules(found, RENAMED)
