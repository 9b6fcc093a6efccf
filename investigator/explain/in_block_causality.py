"""``in-block-causality``: who sees whom inside the drafted block."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="in-block-causality",
    promise=(
        "Inside the drafted block, full-attention layers see the whole block; sliding-window layers see "
        "it as the reference says."
    ),
    matters=(
        "DFlash proposes all tokens of a block in one pass: mask tokens that look at each other in both "
        "directions. With a causal mask the first position loses the least and the later ones more. "
        "Qwen3-8B on MT-Bench: an acceptance length of 3.48 instead of 4.16."
    ),
    drawing="""\
            full layer             causal layer
query  a m m m m          a m m m m
  a    ▓ ▓ ▓ ▓ ▓      a   ▓ · · · ·     a  the last accepted token (anchor)
  m    ▓ ▓ ▓ ▓ ▓      m   ▓ ▓ · · ·     m  mask token
  m    ▓ ▓ ▓ ▓ ▓      m   ▓ ▓ ▓ · ·     ▓  seen
  m    ▓ ▓ ▓ ▓ ▓      m   ▓ ▓ ▓ ▓ ·     ·  hidden""",
    breaks=(
        "a backend without non-causal kernels falls back to a causal mask and says nothing",
        "a window of (w - 1, 0) makes a sliding layer causal inside the block, whatever the metadata say "
        "(vLLM up to 0.23); from 0.24 it is widened to both sides where the metadata say non-causal",
        "one flag for all layers, where the reference sets it per layer type (vLLM 0.20 to 0.25)",
        "the two references differ: the authors' package makes sliding layers causal, DDTree makes none. "
        "A finding names the reference that it rests on",
    ),
    see=(
        "acceptance falls faster from position to position than the drafter's published figures",
        "an all-full drafter is fine on the same engine, a mixed one is not, even below its window",
    ),
    repair=(
        "choose an attention backend with non-causal support (FLASH_ATTN)",
        "vLLM reads dflash_config.causal from 0.23, per layer type from 0.26, and is_causal with priority "
        "from 0.28",
    ),
    keys=("is_causal", "dflash_config.causal", "sliding_window_non_causal"),
)
