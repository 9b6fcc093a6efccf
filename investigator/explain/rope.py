"""``rope``: the draft's own rotation of positions."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="rope",
    promise=(
        "The draft layers rotate queries and keys with the base, the share of dimensions, the scaling and "
        "the layout that the drafter's own config gives."
    ),
    matters=(
        "Rotary embeddings tell the drafter how far apart two tokens are. With another base or layout "
        "near tokens look far, the more the longer the context. Target and drafter may differ in all of "
        "it, so the target's values are not the drafter's."
    ),
    drawing="""\
layout     halves (NeoX)                 pairs (interleaved)
           x0 x1 x2 x3 │ x4 x5 x6 x7     x0 x1 │ x2 x3 │ x4 x5 │ x6 x7
rotates    x0 with x4, x1 with x5, …     x0 with x1, x2 with x3, …

the same numbers, rotated the other way, are other keys""",
    breaks=(
        "the draft's layout is overwritten with the target's (vLLM 0.28.0 alone)",
        "the engine has one rotary embedding for all layers that ask with the same settings, and the "
        "target writes its own layout into it (vLLM beside Ernie 4.5)",
        "rope_theta is looked for at the top level where the newer layout nests it in rope_parameters, "
        "and a default base is used",
        "a share of rotated dimensions (partial_rotary_factor) is ignored, or scaling for long contexts "
        "is applied to one of the two models only",
    ),
    see=(
        "acceptance decays early and falls further as contexts grow",
        "the report shows base, share, scaling and layout of both sides",
    ),
    repair=(
        "take the patch that a run writes for it, or another release, where a drafter's layout differs from "
        "its target's (vLLM 0.28.0)",
        "where draft and target share one rotary embedding, give the drafter's config a larger "
        "max_position_embeddings",
        "write rope_parameters in the layout that the engine's Transformers version reads",
    ),
    keys=("rope_theta", "rope_parameters"),
)
