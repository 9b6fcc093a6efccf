"""Deployments written down in files: pods, compose files, configs, Python."""

from collections.abc import Callable

import pytest

from investigator.triage import Symptom, case_hints

Read = Callable[[str], Symptom]

POD = """\
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.20.1
    command: ["vllm", "serve"]
    args:
    - Qwen/Qwen3.6-27B
    - --speculative-config
    - '{"method": "dflash", "model": "z-lab/Qwen3.6-27B-DFlash", "num_speculative_tokens": 15}'
    env:
    - name: VLLM_USE_V2_MODEL_RUNNER
      value: "0"
  - name: database
    image: postgres:16
    args: ["--model", "none/such"]
"""
FLOW = """\
    - image: "vllm/vllm-openai:v0.20.1"
      args: ["--model", "Qwen/Qwen3.6-27B",
             "--speculative-config",
             "{\\"method\\":\\"dflash\\",\\"model\\":\\"z-lab/Qwen3.6-27B-DFlash\\",\\"num_speculative_tokens\\":15}"]
      env:
      - {name: OTHER, value: "1"}
      - name: VLLM_USE_V2_MODEL_RUNNER
        value: '0'
"""
SHELL = """\
      containers:
      - image: vllm/vllm-openai:v0.20.1
        command: ["/bin/sh", "-c"]
        args:
        - |
          vllm serve Qwen/Qwen3.6-27B \\
            --speculative-config '{"method": "dflash", "model": "z-lab/Qwen3.6-27B-DFlash",
                                   "num_speculative_tokens": 15}'
        env:
        - name: VLLM_USE_V2_MODEL_RUNNER
          value: "0"
"""
COMPOSE = """\
services:
  vllm:
    image: vllm/vllm-openai:v0.20.1
    environment:
      VLLM_USE_V2_MODEL_RUNNER: "0"
      VLLM_API_KEY: "secretsecret"
    command: >
      --model Qwen/Qwen3.6-27B
      --speculative-config
      '{"method":"dflash","model":"z-lab/Qwen3.6-27B-DFlash","num_speculative_tokens":15}'
      --max-model-len 32768
    ports:
      - "8000:8000"
"""


@pytest.mark.parametrize("text", [POD, FLOW, SHELL, COMPOSE], ids=["pod", "flow list", "shell", "compose"])
def test_a_manifest_names_engine_pair_and_variables(symptom_of: Read, text: str) -> None:
    hints = case_hints(symptom_of(text))
    assert (hints.engine, hints.draft, hints.target, hints.block_size, hints.environment) == (
        "vllm==0.20.1",
        "z-lab/Qwen3.6-27B-DFlash",
        "Qwen/Qwen3.6-27B",
        16,
        {"VLLM_USE_V2_MODEL_RUNNER": "0"},
    )


def test_a_manifest_and_a_log_may_stand_in_one_input(symptom_of: Read) -> None:
    symptom = symptom_of(
        POD
        + "INFO [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 1.18, Accepted: 90 tokens, "
        "Drafted: 7500 tokens, Per-position acceptance rate: 0.160, 0.020" + ", 0.000" * 13
    )
    assert symptom.best is not None
    assert symptom.best.length.value == pytest.approx(1.18)
    assert symptom.setting("draft") == "z-lab/Qwen3.6-27B-DFlash"


def test_another_containers_arguments_are_nobodys(symptom_of: Read) -> None:
    assert symptom_of("image: postgres:16\nargs: [--model, none/such]\n").settings == ()


@pytest.mark.parametrize(
    "text",
    [
        "model: Qwen/Qwen3.6-27B\nspeculative-config:\n  method: dflash\n  model: z-lab/Qwen3.6-27B-DFlash\n"
        "  num_speculative_tokens: 15\nmax-model-len: 32768\n",
        "llm = LLM(\n    model='Qwen/Qwen3.6-27B',\n    speculative_config={\n        'method': 'dflash',\n"
        "        'model': 'z-lab/Qwen3.6-27B-DFlash',\n        'num_speculative_tokens': 15,\n    },\n)\n",
        "llm = LLM(model='Qwen/Qwen3.6-27B', speculative_config={'method': 'dflash', "
        "'model': 'z-lab/Qwen3.6-27B-DFlash', 'num_speculative_tokens': 15})\n",
        '{\n  "speculative_config": {\n    "method": "dflash",\n    "model": "z-lab/Qwen3.6-27B-DFlash",\n'
        '    "num_speculative_tokens": 15\n  },\n  "model": "Qwen/Qwen3.6-27B"\n}\n',
    ],
    ids=["vllm --config", "Python", "Python in one line", "JSON"],
)
def test_a_speculative_config_names_the_pair(symptom_of: Read, text: str) -> None:
    hints = case_hints(symptom_of(text))
    assert (hints.draft, hints.target, hints.draft_tokens) == (
        "z-lab/Qwen3.6-27B-DFlash",
        "Qwen/Qwen3.6-27B",
        15,
    )


def test_a_model_far_from_any_drafter_is_not_the_target(symptom_of: Read) -> None:
    text = "model: some/thing\n" + "\n" * 100 + "speculative-config:\n  method: dflash\n  model: a/b\n"
    assert symptom_of(text).setting("target") is None


@pytest.mark.parametrize("end", [" `", " ^", " \\"], ids=["PowerShell", "cmd.exe", "POSIX"])
def test_a_command_goes_on_as_its_shell_says(symptom_of: Read, end: str) -> None:
    symptom = symptom_of(f"vllm serve Qwen/Qwen3-8B{end}\r\n  --spec-model z-lab/Qwen3-8B-DFlash-b16\r\n")
    assert symptom.setting("draft") == "z-lab/Qwen3-8B-DFlash-b16"
