"""``head-sharing``: the target's own embedding and head, not a copy that was never loaded."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="head-sharing",
    promise="A drafter without embedding or head weights of its own uses the target's.",
    matters=(
        "DFlash checkpoints leave out the two largest tables, since the target has them. The engine must "
        "point the drafter's modules at the target's. Where it does not, they keep what memory held when "
        "they were made, and proposals are random: an acceptance length of 1.00."
    ),
    drawing="""\
target     embed_tokens ──▶ layers ──▶ lm_head
               ┆  shared                  ┆  shared
drafter    embed_tokens ──▶ layers ──▶ lm_head
               ▲                          ▲
               └── not in the checkpoint ─┘   unshared: never filled""",
    breaks=(
        "sharing is skipped when draft and target vocabularies seem to differ, as a padded one does (vLLM "
        "0.24.0, model runner V2)",
        "sharing looks for the head under a fixed name, which a multimodal target keeps elsewhere",
        "with pipeline parallelism the two tables live on other ranks",
    ),
    see=(
        "nothing is accepted, with any prompt, from the first request on",
        "the same drafter works on the other model runner, or with another target class",
    ),
    repair=(
        "avoid the release or the runner (VLLM_USE_V2_MODEL_RUNNER) in question",
        "use a checkpoint that carries its own head",
    ),
    keys=("draft_vocab_size",),
)
