"""``silent-default``: a missing key is no licence to guess."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="silent-default",
    promise="A key that is missing from the config does not end in a guessed value without a warning.",
    matters=(
        "Without target layer ids an engine falls back to three hidden states that suit EAGLE-3: after 2 "
        "layers, after half of them, after all but 3. A drafter that was trained on others, or on another "
        "number of them, then reads features it has never seen. A public report had 1.2 % of the draft "
        "tokens accepted."
    ),
    drawing="""\
states after n layers of a target with 36

trained on    2     10     18     26     34     ids [1, 9, 17, 25, 33]
guessed       2            18           33      (2, n // 2, n - 3)
              ▲ three in place of five, one of them another, no warning""",
    breaks=(
        "the helper that looks for ids returns the default list, with nothing logged (model runner V1) or "
        "with an info line only (V2), in vLLM 0.20 to 0.33",
        "an MTP class takes one layer where the config does not say how many the checkpoint has",
        "the reference's own rule that spreads ids over the target has the right count and the wrong "
        "layers for 14 of 20 published checkpoints: a guess is no substitute for the config",
    ),
    see=(
        "near random acceptance from a drafter whose config has no ids, or has them under a key the "
        "engine does not read",
        "the ids that the engine uses are not the config's: the report shows both lists",
    ),
    repair=(
        "write the ids that the drafter was trained on into its config",
        "use the layout that the engine reads: dflash_config.target_layer_ids, or the speculators layout",
    ),
    keys=("target_layer_ids", "aux_hidden_state_layer_ids", "eagle_aux_hidden_state_layer_ids"),
    seen_in="vllm-project/vllm#50170",
)
