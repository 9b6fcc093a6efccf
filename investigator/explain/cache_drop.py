"""``cache-drop``: the prefix cache keeps its last block for drafters that do not need it dropped."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="cache-drop",
    promise=(
        "The EAGLE rule 'drop the last matched prefix-cache block' is not applied to a drafter that "
        "writes its context K/V from the target's hidden states."
    ),
    matters=(
        "EAGLE's draft layer needs the hidden state before the first new token, so the engine recomputes "
        "the last matched block. DFlash writes the K/V of its whole context from captured states and "
        "needs no such step. The rule costs it one block a hit; on hybrid targets, where the smallest "
        "reusable unit is large, all of it: 0 hits in a million queried tokens were reported. The other way "
        "round, an EAGLE or MTP drafter needs the rule, or block hashes that cover the next token."
    ),
    drawing="""\
prompt            │ block │ block │ block │ block │ tail
in the cache      │   ✓   │   ✓   │   ✓   │   ✓   │
EAGLE's rule      │ reuse │ reuse │ reuse │ DROP  │ compute
needed here       │ reuse │ reuse │ reuse │ reuse │ compute

hybrid target     │  one unit of several blocks   │ → nothing is left""",
    breaks=(
        "a predicate that is true for every method of the EAGLE family (use_eagle) decides it, through "
        "the scheduler, the KV-cache manager and the coordinator (vLLM 0.20 to 0.32)",
        "no KV-cache group is marked as the drafter's, and the coordinator's fallback then marks every group",
        "marking the draft's own group looks like the repair and makes reuse drop to zero",
    ),
    see=(
        "send one long prompt twice: vllm:prefix_cache_hits_total stays at 0, or one block short, with "
        "the speculative config and grows without it",
        "time to first token of a repeated prompt does not fall",
        "dormant while prefix caching is off, as it is by default for hybrid targets in earlier releases",
    ),
    repair=(
        "vLLM 0.33 and later except dflash from the rule",
        "0.30 to 0.32 have a switch: disable_eagle_block_drop in the speculative config",
        "before that apply the patch that the run writes: a predicate of its own, read once in the "
        "scheduler and used in all four places",
    ),
    keys=("disable_eagle_block_drop",),
    seen_in="vllm-project/vllm#40898 (requires_eagle_cache_drop)",
)
