"""The platform that the case takes for granted: one CUDA GPU."""

from dataclasses import dataclass

from investigator.code.values import Symbol, Value

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
