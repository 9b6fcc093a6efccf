"""``target-capture``: the target model really hands out the hidden states asked for."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="target-capture",
    promise="The target model's class captures the hidden state after each layer that the drafter's ids "
    "name.",
    matters=(
        "Capturing is written into each target class by hand: a loop over the layers that keeps some of "
        "the states. A loop that ends before the last layer, or a class that lacks the interface, cannot "
        "serve every id. The drafter then gets fewer states, or none."
    ),
    drawing="""\
for n, layer in enumerate(layers):
    if n in wanted: keep(state)      ◀─ before the layer: n = 1 … last
    state = layer(state)
                                     ◀─ after the loop: n = number of layers
                                        is never kept unless written here""",
    breaks=(
        "the state after the last layer is never captured (deepseek_v2 up to vLLM 0.24, deepseek_v32 still)",
        "a class takes the states before each layer where another takes them after it: one off, for that "
        "target only",
        "a text-only class skips the setter that sorts the ids and removes duplicates",
        "a class without the capture interface: DFlash raises, which is the right answer",
    ),
    see=(
        "a drafter that works with one target family and not with another on the same engine",
        "an error about auxiliary hidden states at start-up, or widths that do not fit",
    ),
    repair=(
        "take a release whose target class captures that layer",
        "apply the patch that the run writes, where it writes one",
    ),
    keys=("target_layer_ids",),
)
