"""The pull-requests agent: each request by itself, and what is said when one cannot be had."""

import anyio
import pytest

from investigator.agents.interface import AgentContext, AgentResult, Promised
from investigator.agents.pull_requests import PullRequestsAgent
from investigator.case import DEFAULT_PULL_REQUESTS, Case, EngineSpec, RepoSpec
from investigator.errors import OfflineError, UsageError
from investigator.model import Origin, PullRequestState
from investigator.sources.github import PullRequestSource


def run(*pull_requests: str) -> AgentResult:
    case = Case(
        engine=EngineSpec.parse("vllm==0.20.1"),
        draft=RepoSpec.parse("z-lab/Qwen3.6-27B-DFlash"),
        pull_requests=pull_requests,
    )

    async def main() -> AgentResult:
        context = AgentContext(
            case=case,
            checkpoint=Promised("checkpoint"),
            engine=Promised("engine"),
            emit=lambda event: None,
            name="pull_requests",
        )
        return await PullRequestsAgent(PullRequestSource(offline=True)).run(context)

    return anyio.run(main)


def test_the_two_of_the_default_case() -> None:
    offset, windows = run(*DEFAULT_PULL_REQUESTS).pull_requests

    assert (offset.ref, offset.state) == ("vllm-project/vllm#40727", PullRequestState.MERGED)
    assert offset.repairs == ("target-layer-offset",)
    assert "vllm/v1/worker/gpu_model_runner.py" in offset.files
    assert (windows.ref, windows.state, windows.merged_at) == (
        "vllm-project/vllm#40898",
        PullRequestState.CLOSED,
        None,
    )
    assert windows.repairs == ("target-layer-offset", "layer-types", "cache-drop")
    assert windows.relations[0] == "stacked on vllm-project/vllm#40727"
    assert (offset.contained, windows.contained) == (None, None)


def test_each_is_a_source_of_its_own_with_its_tree() -> None:
    result = run(*DEFAULT_PULL_REQUESTS)

    assert [(source.id, source.origin) for source in result.sources] == [
        ("pr-40727", Origin.SNAPSHOT),
        ("pr-40898", Origin.SNAPSHOT),
    ]
    assert set(result.trees) == {"pr-40727", "pr-40898"}
    assert result.missing is None


def test_one_that_cannot_be_had_leaves_the_others_alone() -> None:
    result = run("nobody/nothing#1", "vllm-project/vllm#40727")

    assert [item.ref for item in result.pull_requests] == ["vllm-project/vllm#40727"]
    left, offline = result.not_checked
    assert left.what == "pull request nobody/nothing#1"
    assert "this run is offline" in left.why
    assert offline.what == "GitHub itself, for vllm-project/vllm#40727"
    assert result.missing is not None


def test_none_at_all_is_a_failure() -> None:
    with pytest.raises(OfflineError, match="nobody/nothing#1 would have to be fetched"):
        run("nobody/nothing#1")


def test_a_name_that_is_none_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="cannot read pull request '40727'"):
        run("40727")


def test_one_named_twice_is_looked_at_once() -> None:
    assert len(run("vllm-project/vllm#40727", "vllm-project/vllm#40727").pull_requests) == 1


def test_no_pull_request_is_no_failure() -> None:
    assert run() == AgentResult()
