"""The machine that the case takes for granted: one CUDA GPU, one rank."""

from investigator.code.interpreter import Native
from investigator.code.values import Instance, Symbol, Value
from investigator.engines.sglang.states import Does

CONSTANTS: dict[str, Value] = {
    "_is_cuda": True,
    "_is_cpu": False,
    "_is_hip": False,
    "_is_npu": False,
    "_is_xpu": False,
    "_is_musa": False,
    "_use_aiter": False,
    "_is_gfx95_supported": False,
    "_is_cpu_amx_available": False,
}
"""Module-level names that say what the machine is: one CUDA GPU."""


def _fixed(**attributes: Value) -> Native:
    """A function that gives an object with these attributes."""
    return lambda *_: Instance(None, dict(attributes), complete=False)


class _NoBackend(Symbol):
    """How experts talk between ranks where there is one: not at all."""

    def attribute(self, name: str) -> Value:
        """``is_deepep`` and its like."""
        return Does(lambda *_: name == "is_none") if name.startswith("is_") else NotImplemented


_RANK: dict[str, Value] = {
    "is_first_rank": True,
    "is_last_rank": True,
    "world_size": 1,
    "rank_in_group": 0,
    "rank": 0,
}
_PARALLEL: dict[str, Value] = {
    "tp_size": 1,
    "tp_rank": 0,
    "pp_size": 1,
    "pp_rank": 0,
    "dp_size": 1,
    "attn_tp_size": 1,
    "attn_tp_rank": 0,
    "attn_dp_size": 1,
    "attn_dcp_size": 1,
    "moe_ep_size": 1,
    "enable_dp_lm_head": False,
    "enable_dp_attention": False,
}


def _parallel() -> Value:
    groups = {name: Instance(None, dict(_RANK), complete=False) for name in ("pp_group", "tp_group")}
    return Instance(None, {**_PARALLEL, **groups}, complete=False)


NATIVES: dict[str, Native] = {
    "get_pp_group": _fixed(**_RANK),
    "get_tp_group": _fixed(**_RANK),
    "get_attention_tp_group": _fixed(**_RANK),
    "get_parallel": lambda *_: _parallel(),
    "get_forward": _fixed(sp_active=False),
    "get_attn_tp_context": _fixed(
        input_scattered=False, is_dsa=False, is_nsa=False, allow_input_scattered=False
    ),
    "get_moe_a2a_backend": lambda *_: _NoBackend(),
    "get_tensor_model_parallel_world_size": lambda *_: 1,
    "get_tensor_model_parallel_rank": lambda *_: 0,
    "get_attention_tp_size": lambda *_: 1,
    "get_attention_tp_rank": lambda *_: 0,
    "get_attention_dp_size": lambda *_: 1,
    "get_moe_expert_parallel_world_size": lambda *_: 1,
    "is_dp_attention_enabled": lambda *_: False,
    **dict.fromkeys(
        (
            "dsa_use_prefill_cp",
            "nsa_use_prefill_cp",
            "mla_use_prefill_cp",
            "is_cp_v2_active",
            "is_dsa_enable_prefill_cp",
            "is_nsa_enable_prefill_cp",
            "is_mla_prefill_cp_enabled",
            "is_prefill_context_parallel_enabled",
            "is_context_parallel_extend",
        ),
        lambda *_: False,
    ),
    "get_platform_worker_cls": lambda *_: None,  # only other platforms bring workers of their own
    "is_npu": lambda *_: False,
    "is_hip": lambda *_: False,
    "is_cpu": lambda *_: False,
    "is_xpu": lambda *_: False,
    "is_musa": lambda *_: False,
    "is_cuda": lambda *_: True,
}
