"""``config-coverage``: no key that matters goes unread."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="config-coverage",
    promise="Every key that the reference reads and this checkpoint sets is read on the engine's path.",
    matters=(
        "A key that nobody reads is a promise that nobody keeps. An engine accepts unknown keys silently, "
        "so a new drafter with a new key runs on an old engine as if the key were not there. This "
        "contract finds the faults that have no contract of their own yet."
    ),
    drawing="""\
reference target_layer_ids  layer_types  sliding_window  mask_token_id
config    target_layer_ids  layer_types  sliding_window  mask_token_id
engine    target_layer_ids       –             –         mask_token_id
                                 ▲             ▲
                      set, needed, and read by nobody""",
    breaks=(
        "the engine's model class was written for an earlier checkpoint layout",
        "a value is read and then dropped on the way to its use: reading is not yet using",
        "block_size and num_target_layers are not used for dflash by any vLLM release so far; the block "
        "length is num_speculative_tokens + 1, which the user sets",
        "plain DFlashDraftModel ignores input_embedding_scale, output_multiplier and "
        "final_logit_softcapping up to vLLM 0.33",
    ),
    see=(
        "the report lists the keys that are set and unread, with where the reference reads them",
        "absence is decided along the whole path from the config to the layers, not in one file",
    ),
    repair=(
        "take a release that reads the key ('investigate timeline' shows since when)",
        "where a key stands for a setting, set it by hand: num_speculative_tokens = block_size - 1",
    ),
    keys=(
        "block_size",
        "num_target_layers",
        "input_embedding_scale",
        "output_multiplier",
        "final_logit_softcapping",
    ),
)
