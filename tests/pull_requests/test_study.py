"""What is said about the pull requests of a case: measured with a diff, compared without one."""

from dataclasses import replace

from investigator.model import PullRequest, PullRequestState, Verdict
from investigator.patches.verify import Verdicts
from investigator.pull_requests.commands import apply_diff, install_from_head
from investigator.pull_requests.study import sorted_out, study
from investigator.sources.github import DIFF, FACTS, PullRequestRef, PullRequestTree
from tests.support.small_engine import DROP, FIXED_WORKER, OFFSET, WORKER, ask, diff, engine

SHIFT = PullRequest(
    ref="some/engine#1",
    title="A title that promises the world",
    state=PullRequestState.OPEN,
    source="pr-1",
    effect="Adds 1 to the ids",
)
BROKEN: Verdicts = {OFFSET: Verdict.BROKEN, DROP: Verdict.BROKEN}


def tree(changes: bytes | None, **base: bytes) -> PullRequestTree:
    contents = {FACTS: b"{}"} | ({DIFF: changes} if changes is not None else {})
    files = {f"vllm/{name}.py": content for name, content in base.items()}
    return PullRequestTree(replace(engine().source, id="pr-1"), contents, files.get)


def test_with_a_diff_the_effect_is_measured() -> None:
    trees = {"pr-1": tree(diff(worker=(WORKER, FIXED_WORKER)))}

    found = study([SHIFT], trees, engine(), ask, BROKEN)

    (request,) = found.pull_requests
    assert request.contained is False
    assert request.contained_why == "it applies: the engine does not hold it"
    assert request.repairs == ("target-layer-offset",)
    assert request.effect == "on this engine: target-layer-offset/v1: broken → honoured. Adds 1 to the ids"
    assert request.relations == ("enough by itself to repair target-layer-offset/v1",)


def test_the_base_is_fetched_only_to_merge() -> None:
    ours = WORKER.replace(b"def aux_layers(config):", b"def aux_layers(config, extra=None):")
    trees = {"pr-1": tree(diff(worker=(WORKER, FIXED_WORKER)), worker=WORKER)}

    found = study([SHIFT], trees, engine(worker=ours), ask, BROKEN)

    assert found.pull_requests[0].contained_why.startswith("it merges with what has changed since")


def test_without_a_diff_the_record_is_compared_with_the_verdicts() -> None:
    known = replace(SHIFT, repairs=("target-layer-offset",))
    trees = {"pr-1": tree(None)}

    lacking = study([known], trees, engine(), ask, BROKEN)
    there = study([known], trees, engine(), ask, BROKEN | {OFFSET: Verdict.HONOURED})
    unknown = study([SHIFT], trees, engine(), ask, BROKEN)

    assert lacking.pull_requests[0].contained is False
    assert there.pull_requests[0].contained is True
    assert unknown.pull_requests[0].contained is None
    assert unknown.pull_requests[0].contained_why == (
        "its diff is not at hand, and what it repairs is not recorded"
    )
    assert lacking.plan is None


def test_a_diff_that_cannot_be_read_counts_as_none() -> None:
    found = study([SHIFT], {"pr-1": tree(b"<html>")}, engine(), ask, BROKEN)

    assert found.pull_requests[0].contained is None


def test_commands_are_quoted_for_a_shell() -> None:
    ref = PullRequestRef("vllm-project/vllm", 40898)

    assert install_from_head(ref, "vllm") == (
        "uv pip install 'vllm @ git+https://github.com/vllm-project/vllm.git@refs/pull/40898/head'"
    )
    command = apply_diff(ref, "vllm")
    assert "curl -fsSL -o pull.diff https://github.com/vllm-project/vllm/pull/40898.diff" in command
    assert command.index("GIT_CEILING_DIRECTORIES") < command.index("git -C")
    assert command.index("--check") < command.rindex("git -C")
    assert "--include='vllm/*'" in command


def test_a_pull_request_to_another_project_repairs_nothing_here() -> None:
    theirs = replace(SHIFT, ref="vllm-project/vllm-ascend#3", repairs=("rope",))
    fork = replace(SHIFT, ref="me/VLLM#4", repairs=("rope",))

    ours, others = sorted_out([theirs, fork], ("vllm",), "vllm")

    assert ours == (fork,)
    assert [(r.contained, r.contained_why, r.repairs) for r in others] == [
        (None, "it is to another project than vllm", ())
    ]
