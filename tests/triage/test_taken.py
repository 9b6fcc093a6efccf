"""The case that the options and the symptom make together."""

from dataclasses import replace

from investigator.case import Case, EngineSpec, RepoSpec
from investigator.triage.hints import CaseHints
from investigator.triage.symptom import Setting, Symptom
from investigator.triage.taken import completed, taken

CASE = Case(
    engine=EngineSpec.parse("vllm==0.20.1"),
    draft=RepoSpec.parse("z-lab/Qwen3.6-27B-DFlash"),
    environment={"VLLM_USE_V2_MODEL_RUNNER": "0"},
)
HINTS = CaseHints(
    engine="vllm==0.26.0",
    draft="z-lab/Qwen3-8B-DFlash-b16",
    target="Qwen/Qwen3-8B",
    draft_tokens=15,
    block_size=16,
    environment={"VLLM_USE_V2_MODEL_RUNNER": "1", "VLLM_ATTENTION_BACKEND": "FLASH_ATTN"},
)


def test_what_no_option_gave_is_taken_from_the_symptom():
    made = taken(Case(engine=CASE.engine, draft=CASE.draft), HINTS, set())

    assert str(made.case.engine) == "vllm==0.26.0"
    assert str(made.case.draft) == "z-lab/Qwen3-8B-DFlash-b16"
    assert str(made.case.target) == "Qwen/Qwen3-8B"
    assert made.case.block_size == 16
    assert made.case.environment == HINTS.environment
    assert made.notes[:2] == ("engine vllm==0.26.0", "draft z-lab/Qwen3-8B-DFlash-b16")


def test_an_option_wins_and_the_disagreement_is_said():
    made = taken(CASE, HINTS, {"engine", "environment"})

    assert made.case.engine == CASE.engine
    assert made.case.environment == {"VLLM_USE_V2_MODEL_RUNNER": "0", "VLLM_ATTENTION_BACKEND": "FLASH_ATTN"}
    assert made.notes[0] == "it says engine vllm==0.26.0, but --engine vllm==0.20.1 was given and is used"
    assert (
        "it says VLLM_USE_V2_MODEL_RUNNER=1, but --env VLLM_USE_V2_MODEL_RUNNER=0 was given and is used"
        in made.notes
    )


def test_a_server_s_flags_are_taken_for_its_own_engine_only():
    hints = CaseHints(
        server="vllm", flags={"--attention-backend": "TRITON_ATTN", "--enable-prefix-caching": ""}
    )
    own = replace(CASE, flags={"--attention-backend": "FLASH_ATTN"})

    made = taken(own, hints, {"engine", "draft"})

    assert made.case.flags == {"--attention-backend": "FLASH_ATTN", "--enable-prefix-caching": ""}
    assert made.notes == (
        "it says --attention-backend TRITON_ATTN, "
        "but --flag attention-backend=FLASH_ATTN was given and is used",
        "flag --enable-prefix-caching",
    )
    assert taken(own, replace(hints, server="sglang"), {"engine", "draft"}).case.flags == own.flags


def test_an_option_that_agrees_is_not_worth_a_word():
    hints = CaseHints(engine="vllm==0.20.1")

    assert taken(CASE, hints, {"engine", "draft"}).notes == ()


def test_what_neither_says_is_assumed_and_named():
    made = taken(CASE, CaseHints(), {"draft"})

    assert made.case == CASE
    assert made.notes == ("it names no engine: vllm==0.20.1 was assumed; give --engine for another",)


def test_limited_draft_tokens_are_not_the_drafters_block_size():
    hints = CaseHints(engine="vllm==0.20.1", draft=str(CASE.draft), draft_tokens=3, block_size=4)

    made = taken(CASE, hints, {"engine", "draft"}, limited=True)

    assert made.case.block_size is None
    assert made.notes == ("3 draft tokens: fewer than the drafter's block holds",)


def test_a_symptom_without_a_pair_is_judged_with_the_one_that_was_given():
    symptom = Symptom(settings=(Setting(name="target", value="Qwen/Qwen3-8B", line=4),))

    full = completed(symptom, CASE, {"draft", "target"})

    assert full.setting("draft") == "z-lab/Qwen3.6-27B-DFlash"
    assert full.setting("target") == "Qwen/Qwen3-8B"
    assert completed(symptom, CASE, set()) == symptom


def test_a_model_that_drafts_for_itself_is_named_as_the_target():
    hints = CaseHints(target="some/model", method="mtp", draft_tokens=1, block_size=2)
    made = taken(Case(engine=CASE.engine, draft=CASE.draft), hints, {"engine"})

    assert str(made.case.draft) == str(made.case.target) == "some/model"
    assert made.case.method == "mtp"
    assert (made.case.references, made.case.pull_requests) == ((), ())
    assert made.notes == ("method mtp", "draft some/model", "target some/model", "block size 2")


def test_a_drafter_that_was_given_wins_over_the_target():
    hints = CaseHints(target="some/model", method="mtp")
    made = taken(CASE, hints, {"engine", "draft"})

    assert made.case.draft == CASE.draft
