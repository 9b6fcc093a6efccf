"""``norm-epsilon``: the number that a norm adds before it divides."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="norm-epsilon",
    promise="Each norm of the draft model adds the epsilon of the drafter's config (rms_norm_eps).",
    matters=(
        "An RMS norm divides by sqrt(mean square + epsilon). Training fixes the epsilon; an engine that "
        "makes a norm without handing it on gets its norm class's default. Where activations are small "
        "the two differ by a factor, in every layer and for every token."
    ),
    drawing="""\
                    x
norm(x)  =  ────────────────── · weight
            √(mean(x²) + eps)
                          └── config: 1e-05     class default: 1e-06""",
    breaks=(
        "a norm that is made without its epsilon: right for drafters with the class's default alone",
        "a rewritten draft model that hands the epsilon to its layers and not to the norm of the target's "
        "features",
    ),
    see=(
        "a drafter whose config has another epsilon than 1e-06 is accepted a little less everywhere",
        "one whose config has 1e-06 is accepted as published, on the same engine",
    ),
    repair=("hand config.rms_norm_eps to the norm that the finding quotes",),
    keys=("rms_norm_eps",),
)
