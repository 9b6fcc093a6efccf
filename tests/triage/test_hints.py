"""What a symptom says about the case."""

import io

import pytest

from investigator.case import EngineSpec, RepoSpec
from investigator.triage import CaseHints, case_hints, read_symptom


def hints(text: str) -> CaseHints:
    return case_hints(read_symptom(io.BytesIO(text.encode())))


def test_hints_are_spelled_as_the_case_takes_them() -> None:
    found = hints(
        "docker run -e VLLM_USE_V2_MODEL_RUNNER=1 vllm/vllm-openai:v0.26.0 --model Qwen/Qwen3.6-27B "
        "--speculative-config.method dflash --speculative-config.model z-lab/Qwen3.6-27B-DFlash "
        "--speculative-config.revision abc123 --speculative-config.num_speculative_tokens 15"
    )
    assert EngineSpec.parse(found.engine or "").value == "0.26.0"
    assert RepoSpec.parse(found.draft or "") == RepoSpec("z-lab/Qwen3.6-27B-DFlash", "abc123")
    assert RepoSpec.parse(found.target or "") == RepoSpec("Qwen/Qwen3.6-27B")
    assert (found.draft_tokens, found.block_size) == (15, 16)


def test_nothing_said_is_nothing_hinted() -> None:
    assert hints("hello") == CaseHints()


@pytest.mark.parametrize("version", ["0.26.1rc1.dev255+g5e35a6f4f", "0.28.1rc1.dev43"])
def test_a_nightly_is_no_release(version: str) -> None:
    found = hints(f"INFO Initializing a V1 LLM engine (v{version}) with config: model='a/b'")
    assert found.engine is None
    assert "git:URL@REF" in found.notes[0]


def test_a_folder_on_the_other_machine_is_noted() -> None:
    found = hints("vllm serve /data/models/Qwen3.6-27B --spec-model z-lab/Qwen3.6-27B-DFlash")
    assert found.target is None
    assert "path:DIR" in found.notes[0]
    assert found.draft == "z-lab/Qwen3.6-27B-DFlash"


@pytest.mark.parametrize(
    ("command", "method", "draft"),
    [
        (
            """vllm serve some/model --speculative-config '{"method":"mtp","num_speculative_tokens":1}'""",
            "mtp",
            None,
        ),
        (
            """vllm serve some/model -sc '{"method":"deepseek_mtp","num_speculative_tokens":1}'""",
            "mtp",
            None,
        ),
        ("python -m sglang.launch_server --model-path some/model --speculative-algorithm NEXTN", "mtp", None),
        ("python -m sglang.launch_server --model-path some/model --speculative-algorithm EAGLE", "mtp", None),
        (
            "python -m sglang.launch_server --model-path some/model --speculative-algorithm EAGLE"
            " --speculative-draft-model-path some/head",
            None,
            "some/head",
        ),
        ("vllm serve some/model --spec-method dflash --spec-model some/drafter", None, "some/drafter"),
    ],
    ids=["mtp", "by-family", "nextn", "eagle-without-a-head", "eagle", "dflash"],
)
def test_a_model_that_drafts_with_its_own_layers(command: str, method: str | None, draft: str | None) -> None:
    found = hints(command)

    assert (found.method, found.draft, found.target) == (method, draft, "some/model")
