"""Config keys of drafters: what each means and who reads it, in which vLLM releases.

Releases were looked through from 0.20.0 to 0.33.0; 'and later' ends there.
"""

from investigator.explain.explanation import KeyExplanation

KEYS: tuple[KeyExplanation, ...] = (
    KeyExplanation(
        key="target_layer_ids",
        meaning="The target's decoder layers whose outputs the drafter reads, counted from 0, in "
        "dflash_config.",
        readers=(
            "both references: hidden_states[id + 1], in the config's order",
            "vLLM's runner, with one added from 0.22 on (V1) and from 0.24 on (V2, its first release with "
            "dflash)",
            "vLLM's draft model, for the width of the projection",
        ),
        contracts=("target-layer-offset", "feature-width", "target-capture", "silent-default"),
        other_names=("aux_hidden_state_layer_ids (speculators layout, one higher)",),
    ),
    KeyExplanation(
        key="aux_hidden_state_layer_ids",
        meaning="The same layers in the speculators layout, counted the EAGLE way: the embedding is 0, "
        "so each is one more.",
        readers=(
            "vLLM's conversion of speculators configs, which stores id - 1 as target_layer_ids from 0.22 on",
        ),
        contracts=("target-layer-offset", "silent-default"),
        other_names=("target_layer_ids (one lower)",),
    ),
    KeyExplanation(
        key="eagle_aux_hidden_state_layer_ids",
        meaning="EAGLE-3's key for captured states, taken as it is. Beside target_layer_ids it wins.",
        readers=("vLLM's runners, all releases, before any other key and without a shift",),
        contracts=("target-layer-offset", "silent-default"),
    ),
    KeyExplanation(
        key="layer_types",
        meaning="One entry a draft layer: sliding_attention or full_attention.",
        readers=(
            "both references, per layer; DDTree without a check for its absence",
            "Hugging Face's config class, which fills a missing list from max_window_layers",
            "vLLM's draft model from 0.25 on; from 0.26 its config too, to choose the runner",
        ),
        contracts=("layer-types", "kv-retention", "in-block-causality"),
        other_names=("dflash_config.use_swa (MiMo, all layers alike)",),
    ),
    KeyExplanation(
        key="sliding_window",
        meaning="How many tokens back a sliding layer attends, its own included.",
        readers=("both references, on sliding layers", "vLLM's draft model from 0.25 on"),
        contracts=("layer-types", "kv-retention"),
        other_names=("dflash_config.swa_window_size (MiMo)",),
    ),
    KeyExplanation(
        key="use_sliding_window",
        meaning="False nulls the window, whatever sliding_window says.",
        readers=("Hugging Face's config class, before any engine sees the config",),
        contracts=("layer-types",),
    ),
    KeyExplanation(
        key="max_window_layers",
        meaning="The first layer that slides, where layer_types is missing.",
        readers=("Hugging Face's config class, which makes layer_types out of it",),
        contracts=("layer-types",),
    ),
    KeyExplanation(
        key="use_swa",
        meaning="MiMo's way to say that all draft layers slide, in dflash_config.",
        readers=("vLLM's draft model from 0.25 on",),
        contracts=("layer-types",),
        other_names=("layer_types",),
    ),
    KeyExplanation(
        key="swa_window_size",
        meaning="The window that goes with use_swa, in dflash_config.",
        readers=("vLLM's draft model from 0.25 on",),
        contracts=("layer-types",),
        other_names=("sliding_window",),
    ),
    KeyExplanation(
        key="is_causal",
        meaning="Whether the block is causal, at the top level.",
        readers=("the authors' package", "vLLM's draft model from 0.28 on, before dflash_config.causal"),
        contracts=("in-block-causality",),
    ),
    KeyExplanation(
        key="causal",
        meaning="The same inside dflash_config, for all layers.",
        readers=("vLLM from 0.23 on; from 0.26 it overrides the default of each layer type",),
        contracts=("in-block-causality",),
        other_names=("dflash_config.causal", "is_causal"),
    ),
    KeyExplanation(
        key="sliding_window_non_causal",
        meaning="In the speculators layout: sliding layers see the whole block.",
        readers=("vLLM's conversion of speculators configs from 0.26 on",),
        contracts=("in-block-causality",),
    ),
    KeyExplanation(
        key="block_size",
        meaning="Tokens of a block, the anchor counted; at the top level or in dflash_config.",
        readers=(
            "both references",
            "no vLLM release for dflash: there the block is num_speculative_tokens + 1, which the user sets",
        ),
        contracts=("config-coverage",),
    ),
    KeyExplanation(
        key="num_target_layers",
        meaning="How many decoder layers the target has.",
        readers=("DDTree, even where ids are given", "no vLLM release"),
        contracts=("config-coverage",),
    ),
    KeyExplanation(
        key="mask_token_id",
        meaning="The token that fills the open positions of the block, in dflash_config.",
        readers=("both references", "vLLM's proposer (V1, all releases) and speculator (V2, from 0.24 on)"),
        contracts=("mask-token",),
    ),
    KeyExplanation(
        key="mask_embedding",
        meaning="A tensor beside the weights that stands in for the mask token's row.",
        readers=("vLLM's draft model from 0.25 on",),
        contracts=("mask-token",),
    ),
    KeyExplanation(
        key="draft_vocab_size",
        meaning="Size of the vocabulary that the drafter proposes from, where it is smaller than the "
        "target's.",
        readers=("vLLM's draft model, all releases",),
        contracts=("vocab-mapping", "head-sharing"),
    ),
    KeyExplanation(
        key="target_hidden_size",
        meaning="Width of the target's hidden states, where it is not the drafter's own hidden_size.",
        readers=("vLLM's draft model, all releases, for the width of the projection",),
        contracts=("feature-width",),
    ),
    KeyExplanation(
        key="rope_parameters",
        meaning="Base, scaling and share of rotated dimensions, in the newer layout.",
        readers=(
            "Hugging Face's config class, which also makes it from rope_theta",
            "vLLM's draft model, all releases",
        ),
        contracts=("rope",),
        other_names=("rope_theta, rope_scaling, partial_rotary_factor (older, flat)",),
    ),
    KeyExplanation(
        key="rope_theta",
        meaning="Base of the rotary embedding, in the older, flat layout.",
        readers=("the references", "Hugging Face's config class, which moves it into rope_parameters"),
        contracts=("rope",),
        other_names=("rope_parameters.rope_theta",),
    ),
    KeyExplanation(
        key="input_embedding_scale",
        meaning="A factor on input embeddings.",
        readers=("no vLLM release, for plain DFlashDraftModel",),
        contracts=("embedding-scale", "config-coverage"),
    ),
    KeyExplanation(
        key="output_multiplier",
        meaning="A factor on the logits; it keeps their order, so greedy proposals stay the same.",
        readers=("no vLLM release, for plain DFlashDraftModel",),
        contracts=("embedding-scale", "config-coverage"),
    ),
    KeyExplanation(
        key="final_logit_softcapping",
        meaning="A cap that bends large logits; it keeps their order, so greedy proposals stay the same.",
        readers=("no vLLM release, for plain DFlashDraftModel",),
        contracts=("embedding-scale", "config-coverage"),
    ),
    KeyExplanation(
        key="num_speculative_tokens",
        meaning="Draft tokens a draft, in --speculative-config; for dflash the block size minus its anchor.",
        readers=("vLLM, all releases", "SGLang counts the anchor in its --speculative-num-draft-tokens"),
        contracts=("lookahead", "config-coverage"),
    ),
    KeyExplanation(
        key="num_nextn_predict_layers",
        meaning="How many MTP layers a checkpoint carries.",
        readers=(
            "vLLM's SpeculativeConfig and its MTP classes; for MiMo-V2 written over with 1 (0.26, 0.33)",
            "SGLang's ModelConfig writes 1 over it for Qwen3.5 and several others (0.5.12, 0.5.23)",
        ),
        contracts=("config-coverage", "silent-default"),
        other_names=("mtp_num_hidden_layers (Qwen3.5, in text_config)", "num_mtp_modules (MiniMax)"),
    ),
    KeyExplanation(
        key="rms_norm_eps",
        meaning="What each RMS norm of the draft model adds before it divides.",
        readers=("both references, for every norm", "vLLM's and SGLang's draft models, for every norm"),
        contracts=("norm-epsilon",),
    ),
    KeyExplanation(
        key="disable_eagle_block_drop",
        meaning="In --speculative-config: keep the last matched prefix-cache block.",
        readers=("vLLM from 0.30 on",),
        contracts=("cache-drop",),
    ),
)

BY_KEY: dict[str, KeyExplanation] = {explanation.key: explanation for explanation in KEYS}
