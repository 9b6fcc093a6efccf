"""Trees that a repair does not know its way in are left alone, and the report gets the reason."""

import pytest

from investigator.code.program import Program
from investigator.patches.repairs import CannotRepair, repair
from tests.patches import miniature
from tests.patches.test_repairs import SWITCHED, SWITCHED_SCHEDULER

BUILT = """\
        self.kv_cache_manager = KVCacheManager(
            groups,
            use_eagle=self.use_eagle,
        )
"""
DECIDED = """\
            if speculative_config.use_eagle():
                self.use_eagle = True
"""
CHOSEN = """\
                self.num_lookahead_tokens = self.num_spec_tokens
            if speculative_config.uses_draft_model():
                self.num_lookahead_tokens = self.num_spec_tokens
"""
ASKS = """\
    def metadata(self):
        config = self.draft_model_config.hf_config
        dflash_config = getattr(config, "dflash_config", None) or {}
        self.is_causal = dflash_config.get("causal", False)
        made = CommonAttentionMetadata(num_reqs=1, causal=self.is_causal)
"""
METADATA = """\
    def metadata(self):
        made = CommonAttentionMetadata(
            num_reqs=1,
            causal=False,  # blocks are never causal
        )
"""
ASSIGNED = 'self.is_causal = dflash_config.get("causal", False)'
"""Where the proposer asks for the inner key."""

KEPT = """\
        self.attn = Attention(
            num_heads,
            prefix=f"{prefix}.attn",
        )
"""

SHAPES: dict[str, tuple[str, str, str, str, str]] = {
    "two managers": ("cache-drop", "scheduler", BUILT, BUILT * 2, "the scheduler builds 2 KV-cache managers"),
    "a flag that is no field": (
        "cache-drop",
        "scheduler",
        "use_eagle=self.use_eagle",
        "use_eagle=speculative_config.use_eagle()",
        "the KV-cache manager's flag is not a field of the scheduler",
    ),
    "a flag that no predicate decides": (
        "cache-drop",
        "scheduler",
        DECIDED,
        "            if True:\n                self.use_eagle = groups\n",
        "what sets self.use_eagle is not one predicate of the speculative config",
    ),
    "a predicate of a base": (
        "cache-drop",
        "scheduler",
        "speculative_config.use_eagle()",
        "speculative_config.drops()",
        "the speculative config has no drops of its own",
    ),
    "lookahead without a choice": (
        "lookahead",
        "scheduler",
        "            if speculative_config.use_eagle():\n                self.use_eagle = True\n" + CHOSEN,
        "",
        "the scheduler does not choose its lookahead by the speculative method",
    ),
    "a choice by a field": (
        "lookahead",
        "scheduler",
        "if speculative_config.uses_draft_model():",
        "if block_size:",
        "the scheduler does not ask the speculative config for its method",
    ),
    "steps that only load": (
        "lookahead",
        "scheduler",
        "            delay_cache_blocks=load_kv_async,\n",
        "",
        "the scheduler does not say which steps only load K/V",
    ),
    "two attentions": (
        "layer-types",
        "qwen3_dflash",
        "        self.num_heads = num_heads\n",
        "        self.other = Attention(num_heads)\n",
        "DFlashAttention builds 2 attention layers",
    ),
    "an attention in a list": (
        "layer-types",
        "qwen3_dflash",
        KEPT,
        "        self.attns = [Attention(num_heads)]\n",
        "DFlashAttention does not keep its attention layer in an attribute",
    ),
    "no cache spec": (
        "layer-types",
        "attention",
        "def get_kv_cache_spec(self)",
        "def spec(self)",
        "the attention layer does not describe its KV cache itself",
    ),
    "an implementation that comes later": (
        "layer-types",
        "attention",
        "        self.impl = Impl(window)\n",
        "",
        "the attention layer builds its implementation later than itself",
    ),
    "a planner that asks for something else": (
        "layer-types",
        "attention",
        '        if self.sliding_window is not None:\n            return ("sliding", self.sliding_window)\n',
        "",
        "the KV-cache planner does not ask the attention layer for its window",
    ),
    "nobody assumes": (
        "in-block-causality",
        "dflash",
        "            causal=False,  # blocks are never causal\n",
        "",
        "no place assumes or asks whether a draft block is causal",
    ),
    "a proposer without a start": (
        "in-block-causality",
        "dflash",
        "        super().__init__(draft_model_config)\n        self.mask = 0\n",
        "        self.draft_model_config = draft_model_config\n",
        "DFlashProposer does not start in the way this repair knows",
    ),
    "an inner key as an argument": (
        "in-block-causality",
        "dflash",
        METADATA,
        ASKS.replace(ASSIGNED, 'print(dflash_config.get("causal", False))').replace(
            "=self.is_causal)", "=True)"
        ),
        "metadata reads causal in a way that leaves no room for another key",
    ),
    "an inner key over two lines": (
        "in-block-causality",
        "dflash",
        METADATA,
        ASKS.replace('"causal", False)', '\n            "causal", False)'),
        "metadata reads causal over more than one line",
    ),
    "an inner config of unknown origin": (
        "in-block-causality",
        "dflash",
        METADATA + miniature.PROPOSER.partition(METADATA)[2],
        ASKS.replace('getattr(config, "dflash_config", None) or {}', "config.dflash_config"),
        "metadata does not take dflash_config from the draft config",
    ),
    "no function reads both keys": (
        "target-layer-offset",
        "gpu_model_runner",
        '"eagle_aux_hidden_state_layer_ids"',
        '"other"',
        "no function reads both target_layer_ids and eagle_aux_hidden_state_layer_ids",
    ),
}


@pytest.mark.parametrize(("contract", "file", "old", "new", "reason"), SHAPES.values(), ids=SHAPES)
def test_an_unfamiliar_tree_is_left_alone(contract: str, file: str, old: str, new: str, reason: str) -> None:
    path, before = next((p, t) for p, t in miniature.FILES.items() if p.endswith(f"/{file}.py"))
    assert old in before
    tree = miniature.tree({**miniature.FILES, path: before.replace(old, new)})

    found = repair(Program(tree), miniature.fault(contract, is_causal=True))

    assert isinstance(found, CannotRepair)
    assert found.reason == reason
    assert found.instead


def test_a_switch_with_another_condition_is_left_alone() -> None:
    other = SWITCHED.replace("self.use_eagle() and", "self.use_eagle() or")
    assert other != SWITCHED

    found = repair(
        Program(miniature.tree(speculative=other, scheduler=SWITCHED_SCHEDULER)),
        miniature.fault("cache-drop"),
    )

    assert isinstance(found, CannotRepair)
    assert found.reason.endswith("is not use_eagle() and further conditions")


def test_a_drafter_without_windows_has_none_to_give() -> None:
    found = repair(Program(miniature.tree()), miniature.fault("layer-types", layer_types=None))

    assert isinstance(found, CannotRepair)
    assert found.reason == "this drafter names no window for its layers"
