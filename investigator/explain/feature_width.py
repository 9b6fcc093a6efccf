"""``feature-width``: as many hidden states as the projection expects."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="feature-width",
    promise=(
        "The concatenated auxiliary hidden states are as wide as the drafter's projection: number of "
        "target layer ids × the target's hidden size."
    ),
    matters=(
        "The projection's columns belong to one layer each. If fewer layers are captured, or duplicates "
        "collapse, the features that arrive are shifted against the weights that read them: a shape error "
        "at best, and noise where something pads or cuts."
    ),
    drawing="""\
ids [1, 9, 17, 25, 33]   5 × 4096 = 20480

  layer 1 │ layer 9 │ layer 17 │ layer 25 │ layer 33        captured
  fc[:,0] │ fc[:,1] │ fc[:,2]  │ fc[:,3]  │ fc[:,4]         expected

  one id lost:  layer 1 │ layer 9 │ layer 25 │ layer 33 │ ?""",
    breaks=(
        "duplicate ids collapse into one captured state",
        "an id lies beyond the target's layers: a drafter paired with a smaller target",
        "the projection is sized from the draft's hidden size where the target's differs",
    ),
    see=(
        "an error at start-up that names two widths is the good case (vLLM raises since July 2026, "
        "vllm-project/vllm#48113)",
        "the report compares the width that arrives with the one in the checkpoint's tensors",
    ),
    repair=(
        "pair the drafter with the target that it was trained for",
        "keep ids distinct and inside the target's layers",
    ),
    keys=("target_layer_ids", "target_hidden_size"),
)
