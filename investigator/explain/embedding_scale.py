"""``embedding-scale``: embeddings as large as the drafter knows them."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="embedding-scale",
    promise="Input embeddings and output logits are scaled as the drafter's config says.",
    matters=(
        "Some model families multiply embeddings by a constant, and the drafter uses the target's table. "
        "A missing factor leaves the anchor and the mask tokens too small or too large beside the "
        "projected features, and every position is proposed from a distorted mixture."
    ),
    drawing="""\
token id ──▶ embedding table ──▶ × input_embedding_scale ──┐
                                                           ├──▶ draft layers
hidden states of the target ──▶ projection ────────────────┘

draft layers ──▶ head ──▶ × output_multiplier ──▶ softcap ──▶ proposal
                          (order-keeping: greedy proposals stay the same)""",
    breaks=(
        "input_embedding_scale is not read by plain DFlashDraftModel up to vLLM 0.33",
        "the factor is applied twice: in the target's embedding module, which is shared, and again in the "
        "drafter",
        "output_multiplier and final_logit_softcapping are ignored; both keep the order of logits, so "
        "greedy drafts do not change and sampled ones do",
    ),
    see=(
        "every position accepts somewhat less than with the reference; no position stands out",
        "the report shows the factor on each side, and whether the shared module applies one already",
    ),
    repair=("use a model class that reads the key, or fold the factor into the checkpoint's weights",),
    keys=("input_embedding_scale", "output_multiplier", "final_logit_softcapping"),
)
