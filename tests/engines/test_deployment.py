"""What a deployment sets: variables, and the flags that answers follow."""

import pytest

from investigator.engines.deployment import flags, followed, refuse_unknown, switched, variables
from investigator.engines.registry import known
from investigator.errors import UsageError
from investigator.triage.command import _FOLLOWED

DEPLOYMENT = {"VLLM_USE_V2_MODEL_RUNNER": "1", "--attention-backend": "TRITON_ATTN", "--no-enable-x": ""}


def test_variables_and_flags_are_told_apart() -> None:
    assert variables(DEPLOYMENT) == {"VLLM_USE_V2_MODEL_RUNNER": "1"}
    assert flags(DEPLOYMENT) == {"--attention-backend": "TRITON_ATTN", "--no-enable-x": ""}


@pytest.mark.parametrize(
    ("given", "on"),
    [
        ({"--enable-x": ""}, True),
        ({"--enable-x": "true"}, True),
        ({"--enable-x": "False"}, False),
        ({"--no-enable-x": ""}, False),
        ({"--enable-y": ""}, None),
        ({"ENABLE_X": "1"}, None),
    ],
)
def test_a_switch_is_on_off_or_not_set(given: dict[str, str], on: bool | None) -> None:
    assert switched(given, "--enable-x") is on


def test_a_flag_that_no_answer_follows_is_refused_and_those_that_are_followed_are_named() -> None:
    refuse_unknown("vllm", DEPLOYMENT, ["--attention-backend", "--enable-x"])

    with pytest.raises(UsageError, match="no answer about vllm follows --no-enable-x") as caught:
        refuse_unknown("vllm", DEPLOYMENT, ["--attention-backend"])
    assert caught.value.advice == "leave it out: its answers follow --attention-backend"


def test_another_engine_gets_its_own_flags_only() -> None:
    assert followed(DEPLOYMENT, ["--enable-x"]) == {"VLLM_USE_V2_MODEL_RUNNER": "1", "--no-enable-x": ""}


def test_a_command_line_is_read_for_just_the_flags_that_some_engine_follows() -> None:
    every = {flag for name in ("vllm", "sglang") for flag in known(name).flags}

    assert {flag.replace("--no-", "--") for flag in _FOLLOWED} == every
