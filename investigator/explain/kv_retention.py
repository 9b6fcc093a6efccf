"""``kv-retention``: what a layer still needs stays in the KV cache."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="kv-retention",
    promise="Draft context K/V that lies inside what a draft layer still attends to is not recycled.",
    matters=(
        "An engine frees the blocks that a sliding window has passed. For a drafter 'passed' must be "
        "counted from the last processed token, not from the end of the block of mask tokens that may be "
        "rejected. Recycled blocks hold another request's K/V: the drafter reads it without an error. An "
        "acceptance length of 1.34 instead of 5.95 was measured on Qwen3.5-9B."
    ),
    drawing="""\
                  processed │ block
tokens      … 4 5 6 7 8 9   │ m m m m     window of 4, four mask tokens
needed            6 7 8 9   │ m m m m     from the last processed token
kept                        │ m m m m     from the end of the block
                  ▲ ▲ ▲ ▲
                  freed, and soon another request's""",
    breaks=(
        "the draft layer's window stands in its KV-cache spec, and the planner frees what lies behind it "
        "(0.25 can, with async scheduling)",
        "the boundary is computed from scheduled tokens, the mask tokens among them",
        "draft and target share a KV-cache group whose manager follows the target's rule",
    ),
    see=(
        "the first requests after a start are fine, later ones are not: recycled blocks are empty at first",
        "short prompts are fine; acceptance collapses once the context passes the window",
    ),
    repair=(
        "keep full KV allocation for draft layers and apply the window in the attention alone",
        "vLLM 0.26 and later compute the boundary from processed tokens",
    ),
    keys=("sliding_window", "layer_types"),
    seen_in="vllm-project/vllm#50169",
)
