"""The machine that the case takes for granted: one CUDA GPU, one rank."""

from dataclasses import dataclass

from investigator.code.interpreter import Native
from investigator.code.values import External, Instance, Symbol, Value

_IS = {"is_cuda": True, "is_cuda_alike": True} | dict.fromkeys(
    (
        "is_rocm",
        "is_xpu",
        "is_cpu",
        "is_tpu",
        "is_hpu",
        "is_neuron",
        "is_mps",
        "is_out_of_tree",
        "is_unspecified",
    ),
    False,
)


@dataclass(frozen=True)
class CudaPlatform(Symbol):
    """vLLM's ``current_platform``; it knows what it is, and nothing of what it can do."""

    def attribute(self, name: str) -> Value:
        """``is_cuda`` and its like; anything else is unknown."""
        return _Always(_IS[name]) if name in _IS else NotImplemented


@dataclass(frozen=True)
class _Always(Symbol):
    value: bool

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The same, whatever it is asked."""
        return self.value


def _one(*_: Value) -> Value:
    return 1


def _zero(*_: Value) -> Value:
    return 0


def _only_rank(*_: Value) -> Value:
    return Instance(
        None,
        {"is_first_rank": True, "is_last_rank": True, "world_size": 1, "rank_in_group": 0, "rank": 0},
        complete=False,
        label=None,
    )


CONSTANTS: dict[str, Value] = {
    "HAS_TRITON": True,
    "current_platform": CudaPlatform(),
    # Nothing of these decides an answer; following them would only read more files.
    **{name: External(name) for name in ("MULTIMODAL_REGISTRY", "set_model_tag", "triton")},
}
NATIVES: dict[str, Native] = {
    "get_tensor_model_parallel_world_size": _one,
    "get_tensor_model_parallel_rank": _zero,
    "get_pp_group": _only_rank,
    "get_tp_group": _only_rank,
    "has_triton": lambda *_: True,
    "importlib.metadata.entry_points": lambda *_: [],
    "torch.nn.Parameter": lambda *_: Instance(None, {}, complete=False),  # surely something
}
