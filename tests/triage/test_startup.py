"""What engines write about themselves when they start, and what texts show."""

from collections.abc import Callable

import pytest

from investigator.triage import Symptom, case_hints

Read = Callable[[str], Symptom]


def test_vllms_engine_line_names_the_whole_case(symptom_of: Read) -> None:
    symptom = symptom_of(
        "(EngineCore pid=7) INFO 05-07 [core.py:110] Initializing a V1 LLM engine (v0.22.1) with config: "
        "model='Qwen/Qwen3-8B', speculative_config=SpeculativeConfig(method='dflash', "
        "model='z-lab/Qwen3-8B-DFlash-b16', num_spec_tokens=15), tokenizer='Qwen/Qwen3-8B', "
        "enable_prefix_caching=True\n(Worker) INFO 05-07 [gpu_worker.py:513] Using V2 Model Runner\n"
    )
    hints = case_hints(symptom)
    assert (hints.engine, hints.target, hints.draft) == (
        "vllm==0.22.1",
        "Qwen/Qwen3-8B",
        "z-lab/Qwen3-8B-DFlash-b16",
    )
    assert hints.draft_tokens == 15
    assert hints.environment == {"VLLM_USE_V2_MODEL_RUNNER": "1"}
    assert symptom.setting("prefix-caching") == "True"


def test_non_default_args_and_the_banner(symptom_of: Read) -> None:
    symptom = symptom_of(
        "INFO        █     █     █▄   ▄█\nINFO  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.26.0\n"
        "INFO   █▄█▀ █     █     █     █  model   Qwen/Qwen3.6-27B\n"
        "INFO non-default args: {'model_tag': 'Qwen/Qwen3.6-27B', 'model': 'Qwen/Qwen3.6-27B', "
        "'block_size': 32, "
        "'speculative_config': {'method': 'dflash', 'model': 'z-lab/Qwen3.6-27B-DFlash', "
        "'num_speculative_tokens': 7}}\n"
    )
    hints = case_hints(symptom)
    assert (hints.engine, hints.target, hints.draft) == (
        "vllm==0.26.0",
        "Qwen/Qwen3.6-27B",
        "z-lab/Qwen3.6-27B-DFlash",
    )
    assert hints.draft_tokens == 7
    assert symptom.setting("kv-block-size") == "32"


def test_sglangs_server_args(symptom_of: Read) -> None:
    symptom = symptom_of(
        "[2026-06-02] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', speculative_algorithm='DFLASH', "
        "speculative_draft_model_path='z-lab/Qwen3-8B-DFlash-b16', speculative_num_draft_tokens=16, "
        "decode_log_interval=20)"
    )
    assert symptom.setting("engine") == "sglang"
    assert symptom.setting("draft") == "z-lab/Qwen3-8B-DFlash-b16"
    assert case_hints(symptom).block_size == 16
    assert symptom.setting("log-interval") == "20"


def test_another_programs_version_is_not_the_engines(symptom_of: Read) -> None:
    assert (
        symptom_of("vLLM needs transformers version 4.57.6\nPyTorch version 2.11").setting("version") is None
    )


@pytest.mark.parametrize(
    "text", ['{"chat_template_kwargs": {"enable_thinking": true}}', "enable_thinking=True"]
)
def test_thinking_switched_on(symptom_of: Read, text: str) -> None:
    assert symptom_of(text).setting("thinking") == "on"


def test_language_is_seen_in_prompts_only(symptom_of: Read) -> None:
    chinese = "请用中文一步一步分析原因" * 30
    assert symptom_of(f"prompt: '{chinese}'").setting("language") == "98 % of the letters are not Latin"
    assert symptom_of(f"# {chinese}").setting("language") is None
    assert symptom_of("prompt: '请'").setting("language") is None


def test_escaped_letters_count_too(symptom_of: Read) -> None:
    assert symptom_of('{"content": "' + "\\u8bf7\\u7528" * 150 + '"}').setting("language") is not None
