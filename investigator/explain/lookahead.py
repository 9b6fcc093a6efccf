"""``lookahead``: KV-cache slots for every query token of a draft."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="lookahead",
    promise=(
        "The scheduler reserves lookahead slots for num_speculative_tokens + 1 query tokens, on a "
        "request's first scheduling too."
    ),
    matters=(
        "The drafter's pass writes K/V for its anchor and every mask token. A slot that was not reserved "
        "belongs to somebody else: at the end of a prefix-cache hit that is a block shared with other "
        "requests. It is overwritten, and those requests go wrong slowly and far from the cause. An MTP "
        "drafter runs once over the scheduled tokens and once more for each further draft token: it needs "
        "one slot for each of those, num_speculative_tokens - 1."
    ),
    drawing="""\
num_speculative_tokens = 3        queries of one draft:  a m m m   (4)

reserved        │ p p p p │ p p a m │ m . . .     room for 3 + 1
too few         │ p p p p │ p p a m │             the last ones fall into
                                      m m ──▶     a block that others share
                ◀─ shared prefix ──▶""",
    breaks=(
        "num_lookahead_tokens is num_speculative_tokens, as for drafters that propose one token a pass "
        "(vLLM 0.20 to 0.22)",
        "it is 0 when a request is first scheduled, while prefill and the first draft share that step",
    ),
    see=(
        "output lengths or qualities drift under concurrency with prefix caching on, and are fine without",
        "acceptance is cut off at the positions whose slots were missing",
    ),
    repair=(
        "vLLM 0.23 and later reserve one more, on the first scheduling too (from 0.28 as a property of "
        "VllmConfig)",
        "until then switch prefix caching off (--no-enable-prefix-caching), or apply the patch that the "
        "run writes",
    ),
    seen_in="vllm-project/vllm#42971",
)
