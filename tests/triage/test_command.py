"""Command lines as people paste them."""

from collections.abc import Callable

import pytest

from investigator.triage import Symptom, case_hints

Read = Callable[[str], Symptom]

PAIR = {
    "target": "Qwen/Qwen3.6-27B",
    "draft": "z-lab/Qwen3.6-27B-DFlash",
    "method": "dflash",
    "draft-tokens": "15",
}


def settings(symptom: Symptom, *names: str) -> dict[str, str | None]:
    return {name: symptom.setting(name) for name in names}


@pytest.mark.parametrize(
    "text",
    [
        'vllm serve Qwen/Qwen3.6-27B --speculative-config \'{"method": "dflash", "model": '
        '"z-lab/Qwen3.6-27B-DFlash", '
        '"num_speculative_tokens": 15}\'',
        "$ CUDA_VISIBLE_DEVICES=0 nohup vllm serve Qwen/Qwen3.6-27B \\\n  "
        '--speculative_config=\'{"method": "dflash",\n'
        '     "model": "z-lab/Qwen3.6-27B-DFlash", "num_speculative_tokens": 15}\' &',
        "python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3.6-27B -sc.method dflash "
        "-sc.model z-lab/Qwen3.6-27B-DFlash -sc.num_speculative_tokens 15",
        "vllm serve Qwen/Qwen3.6-27B --spec-method dflash --spec-model=z-lab/Qwen3.6-27B-DFlash "
        "--spec-tokens 15",
        'START_CMD="vllm serve \\\n  Qwen/Qwen3.6-27B \\\n  --speculative-config {\\"method\\":\\"dflash\\",'
        '\\"num_speculative_tokens\\":15,\\"model\\":\\"z-lab/Qwen3.6-27B-DFlash\\"} \\\n --port 9997"',
        "docker run --gpus all \\\n  -v ~/hf:/root/.cache \\\n  vllm/vllm-openai:v0.20.1 \\\n  --model "
        "Qwen/Qwen3.6-27B \\\n"
        "  --speculative-config "
        '\'{"method":"dflash","model":"z-lab/Qwen3.6-27B-DFlash","num_speculative_tokens":15}\'',
    ],
    ids=[
        "one line",
        "prompt, variables, lines",
        "module, dotted",
        "short flags",
        "in a shell variable",
        "docker",
    ],
)
def test_the_pair_is_read_from_every_spelling(symptom_of: Read, text: str) -> None:
    assert settings(symptom_of(text), *PAIR) == PAIR


def test_an_open_quote_at_the_end_of_a_paste_still_gives_the_pair(symptom_of: Read) -> None:
    symptom = symptom_of(
        'vllm serve Qwen/Qwen3.6-27B --speculative-config \'{"method": "dflash", "model": '
        '"z-lab/Qwen3.6-27B-DFlash", '
        '"num_speculative_tokens": 15}'
    )
    assert settings(symptom, *PAIR) == PAIR
    assert "open quote" in symptom.notes[0]


def test_prose_that_mentions_the_command_is_no_command(symptom_of: Read) -> None:
    symptom = symptom_of(
        "I can't get vllm serve to accept anything, it's always zero.\n"
        "vllm serve Qwen/Qwen3-8B --block-size 32\n"
    )
    assert settings(symptom, "target", "kv-block-size") == {"target": "Qwen/Qwen3-8B", "kv-block-size": "32"}


def test_sglang_counts_the_anchor_in_its_draft_tokens(symptom_of: Read) -> None:
    symptom = symptom_of(
        "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --speculative-algorithm DFLASH "
        "--speculative-draft-model-path z-lab/Qwen3-8B-DFlash-b16 --speculative-num-draft-tokens 16 "
        "--disable-radix-cache"
    )
    hints = case_hints(symptom)
    assert (hints.draft_tokens, hints.block_size) == (15, 16)
    assert symptom.setting("engine") == "sglang"
    assert symptom.setting("prefix-caching") == "False"


@pytest.mark.parametrize(
    ("flag", "value"), [("--enable-prefix-caching", "True"), ("--no-enable-prefix-caching", "False")]
)
def test_prefix_caching_switches(symptom_of: Read, flag: str, value: str) -> None:
    assert symptom_of(f"vllm serve T {flag}").setting("prefix-caching") == value


@pytest.mark.parametrize(
    ("command", "server", "flags"),
    [
        (
            "vllm serve T --attention-backend TRITON_ATTN --no-enable-prefix-caching --max-num-seqs 4",
            "vllm",
            {"--attention-backend": "TRITON_ATTN", "--no-enable-prefix-caching": ""},
        ),
        (
            'vllm serve T -ac \'{"backend": "FLASHINFER"}\'',
            "vllm",
            {"--attention-config.backend": "FLASHINFER"},
        ),
        ("vllm serve T --attention-config '[1]'", "vllm", {}),
        (
            "python -m sglang.launch_server --model-path T --attention-backend=fa3 --disable_radix_cache",
            "sglang",
            {"--attention-backend": "fa3", "--disable-radix-cache": ""},
        ),
    ],
)
def test_flags_by_which_an_engine_chooses_its_path(
    symptom_of: Read, command: str, server: str, flags: dict[str, str]
) -> None:
    hints = case_hints(symptom_of(command))

    assert (hints.server, hints.flags) == (server, flags)


def test_engine_variables_are_kept_and_secrets_are_not(symptom_of: Read) -> None:
    symptom = symptom_of(
        "export VLLM_USE_V2_MODEL_RUNNER=1\nexport HF_TOKEN=hf_secretsecret\n"
        "VLLM_API_KEY=secretsecret PATH=/bin vllm serve T --api-key secretsecret\n"
    )
    assert case_hints(symptom).environment == {"VLLM_USE_V2_MODEL_RUNNER": "1"}
    assert "secretsecret" not in repr(symptom)


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("pip install vllm==0.20.1", "vllm==0.20.1"),
        ("pip install 'sglang[all]==0.5.16'", "sglang==0.5.16"),
        ("docker run vllm/vllm-openai:v0.25.1 --model T", "vllm==0.25.1"),
        (
            "docker run lmsysorg/sglang:v0.5.16-cu129 python -m sglang.launch_server --model-path T",
            "sglang==0.5.16",
        ),
    ],
)
def test_the_engine_release(symptom_of: Read, text: str, engine: str) -> None:
    assert case_hints(symptom_of(text)).engine == engine


def test_a_command_that_never_ends_is_closed(symptom_of: Read) -> None:
    symptom = symptom_of("vllm serve Qwen/Qwen3-8B \\\n" + "  --flag x \\\n" * 500)
    assert symptom.setting("target") == "Qwen/Qwen3-8B"
    assert "does not end" in symptom.notes[0]
