"""``target-layer-offset``: from an id in the config to a hidden state of the target."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="target-layer-offset",
    promise=(
        "An id k in target_layer_ids taps the output of the target model's decoder layer k, which is "
        "hidden_states[k + 1] in Hugging Face's numbering; order and number of the ids are kept."
    ),
    matters=(
        "The drafter's only view of the context is a projection of a few auxiliary hidden states. One "
        "layer too early is a slightly older thought of the target: nothing crashes, the output stays "
        "correct, and each position accepts a little less. Qwen3-8B on MT-Bench: an acceptance length of "
        "3.92 to 4.03 instead of 4.11 to 4.16. On a small pair trained for the purpose, 2.01 instead of "
        "3.12."
    ),
    drawing="""\
target model      embed ──▶ layer 0 ──▶ layer 1 ──▶ layer 2 ──▶ …
hidden_states[ ]        0           1           2           3
                                                ▲
id 1 means the output of layer 1  ──────────────┘  hidden_states[1 + 1]
taken without the shift it taps hidden_states[1], the output of layer 0""",
    breaks=(
        "the ids are handed on as they are to a capture that counts 'the stream after n layers' (vLLM "
        "0.20 and 0.21, model runner V1)",
        "one list, two conventions: the speculators layout counts from the embedding and is right without "
        "the shift, the authors' layout is not; a shift for both breaks one of them",
        "a raw EAGLE key (eagle_aux_hidden_state_layer_ids) beside the authors' key wins and is not shifted",
        "ids are sorted and duplicates dropped, where the reference concatenates them in the config's order",
    ),
    see=(
        "the report shows both sides as 'config id → hidden_states index': k → k + 1 is kept, k → k is "
        "broken",
        "the acceptance length is a few per cent low on every text; only a comparison with the reference "
        "or with a patched engine shows it, since benchmarks differ by more",
    ),
    repair=(
        "vLLM 0.22 and later add the one for the authors' layout (vllm-project/vllm#40727)",
        "on 0.20 and 0.21 apply the patch that the run writes; it adds the one in the runner's helper and "
        "leaves the speculators layout alone",
    ),
    keys=("target_layer_ids", "aux_hidden_state_layer_ids", "eagle_aux_hidden_state_layer_ids"),
    seen_in="vllm-project/vllm#40727",
)
