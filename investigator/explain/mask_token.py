"""``mask-token``: the token that stands where a proposal is wanted."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="mask-token",
    promise="Every open position of the block is filled with the mask token that the drafter was trained on.",
    matters=(
        "The block that the drafter completes is one anchor and a row of mask tokens. Its weights know "
        "that one embedding as 'predict me'. Another id is read as an ordinary word, and the drafter "
        "continues a sentence of such words instead."
    ),
    drawing="""\
one draft        anchor   [mask]   [mask]   [mask]     mask_token_id 248070
                   │        │        │        │
proposes           –        t1       t2       t3

another id        The      pad      pad      pad       → near random""",
    breaks=(
        "the id is taken from the tokenizer or a default instead of dflash_config.mask_token_id",
        "the id lies beyond the target's embedding table, which the drafter shares, and wraps or reads "
        "padding",
        "the checkpoint brings the mask's embedding beside its weights (mask_embedding), and the engine "
        "does not load it",
    ),
    see=(
        "position 1 is accepted now and then (the anchor stands beside it), the rest almost never",
        "the report names the id that fills the block and the key it came from",
    ),
    repair=(
        "set mask_token_id in the drafter's config to the id it was trained with",
        "take a release that loads the mask's embedding where the checkpoint brings one (vLLM 0.25 and "
        "later)",
    ),
    keys=("mask_token_id", "mask_embedding"),
)
