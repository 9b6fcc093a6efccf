"""``vocab-mapping``: a draft token is the target token it stands for."""

from investigator.explain.explanation import Explanation

EXPLANATION = Explanation(
    contract="vocab-mapping",
    promise=(
        "A proposed id is translated from the draft's vocabulary to the target's where they differ, and "
        "left alone where they do not."
    ),
    matters=(
        "Some drafters propose from a short list of frequent tokens; a table then leads from draft id to "
        "target id. A missing table, or one built where none is needed, turns good proposals into other "
        "words. The target rejects them all: an acceptance length of 1.00. A table that was made and never "
        "filled holds offsets of 0 and changes no id, but it wants a logit for each id of the draft config."
    ),
    drawing="""\
draft id     0     1     2    …   31999     draft_vocab_size 32000
             │     │     │
table       11   198   220    …             of ids, or of offsets to add
             ▼     ▼     ▼
target id   11   198   220    …  151935     vocab_size 151936""",
    breaks=(
        "a padded vocab_size in the draft config is another number than the target's, so a mapping is built "
        "where there is none to make (vLLM): drafting stops with a shape mismatch where the target's head, "
        "padded to 64 rows, is the smaller one; on 0.24.0, model runner V2, the shared head is lost as well",
        "offsets are read as ids, or ids as offsets",
        "draft_vocab_size is not read, and proposals are taken as target ids",
    ),
    see=(
        "nothing at all is accepted: 0 % at position 1, acceptance length 1.00, output correct",
        "V1 is normal and V2 is not, or the other way round",
        "RuntimeError: shape mismatch: value tensor of shape [.., 512] cannot be broadcast to [.., 576]",
    ),
    repair=(
        "avoid the release, or the runner (VLLM_USE_V2_MODEL_RUNNER), that builds the mapping",
        "give draft and target configs the same vocab_size where the vocabularies are one",
    ),
    keys=("draft_vocab_size",),
)
