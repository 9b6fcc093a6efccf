"""``layer-types``: each draft layer attends as far as it was trained to."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="layer-types",
    promise=(
        "Each draft layer gets its own window from layer_types and sliding_window; a drafter that mixes "
        "sliding-window and full attention is supported, or refused with an error that says so, and never "
        "run as all-full."
    ),
    matters=(
        "A layer that was trained to see its last 2,048 tokens has never met the ones before. Given all "
        "of them, it attends to noise. Below the window nothing changes; beyond it the acceptance length "
        "falls, down to near random: with prompts 16 times the window a tiny pair kept 1.03 of 2.89, and "
        "Qwen3.6-27B in a public measurement 4.49 of 7.76 at 16K of context."
    ),
    drawing="""\
layer_types    sliding  sliding  sliding  sliding  full      window 2048

trained        ░░░░░▓▓  ░░░░░▓▓  ░░░░░▓▓  ░░░░░▓▓  ▓▓▓▓▓▓▓   ▓ attended to
run all-full   ▓▓▓▓▓▓▓  ▓▓▓▓▓▓▓  ▓▓▓▓▓▓▓  ▓▓▓▓▓▓▓  ▓▓▓▓▓▓▓   ░ never seen
               ◀─ context, oldest first ─ block ▶            in training""",
    breaks=(
        "the attention of the draft layers is built without a per-layer window and the keys are read "
        "nowhere (vLLM 0.20 to 0.24)",
        "layer_types is indexed by the number in a layer's name, which counts on from the target's layers",
        "the window falls back to the cache config's, so that a full draft layer inherits the target's "
        "window",
        "the window is put into the KV-cache spec as well, and context that a layer still needs is "
        "recycled: an acceptance length of 1.34 instead of 5.95",
    ),
    see=(
        "fine with short prompts, low with long ones: compare the acceptance length below and beyond the "
        "window",
        "per-position acceptance collapses from position 1 on (16 %, 2 %, 0 …) in long conversations",
    ),
    repair=(
        "vLLM 0.26 and later run mixed drafters on model runner V2, chosen automatically; V1 is refused. "
        "0.25 refuses them on both",
        "on 0.20 to 0.24 apply the patch that the run writes: the window reaches the attention, and the "
        "layer still gets full KV allocation",
        "keep prompts shorter than the window until then",
    ),
    keys=(
        "layer_types",
        "sliding_window",
        "use_sliding_window",
        "max_window_layers",
        "use_swa",
        "swa_window_size",
    ),
    seen_in="vllm-project/vllm#40898",
)
