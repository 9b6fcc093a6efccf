"""The snapshots that come along are whole, and broken ones are told."""

import json
from pathlib import Path
from typing import Any

import pytest

from investigator.checkpoints import model_config, read_checkpoint
from investigator.errors import NotFoundError, UsageError
from investigator.model import Origin, PullRequestState, Source, SourceKind
from investigator.sources.snapshots import Snapshots, snapshot_time
from investigator.sources.text_tree import TextTree, pretty_json

PULL_REQUESTS = (36847, 40727, 40898, 42971, 46104, 47914, 48113, 54163)


def test_every_drafter_that_comes_along_can_be_read_and_names_its_target() -> None:
    snapshots = Snapshots()
    drafters = [repo for repo in snapshots.hub_repos() if "dflash" in repo.lower()]

    assert len(drafters) == 8
    for repo in drafters:
        snapshot = snapshots.hub(repo)
        assert snapshot is not None
        config = model_config(snapshot.config, repo=repo, revision="", source="", complete=snapshot.complete)
        assert read_checkpoint(config).num_draft_layers in (5, 6)
        assert snapshot.target is not None
        assert snapshots.hub(snapshot.target) is not None


def test_the_default_case_is_complete_and_its_target_says_what_is_inferred() -> None:
    draft, target = (Snapshots().hub(repo) for repo in ("z-lab/Qwen3.6-27B-DFlash", "Qwen/Qwen3.6-27B"))

    assert draft is not None
    assert target is not None
    assert (draft.complete, draft.gated, draft.target) == (True, "auto", "Qwen/Qwen3.6-27B")
    assert not target.complete
    assert "text_config.layer_types" in target.inferred


@pytest.mark.parametrize("number", PULL_REQUESTS)
def test_every_pull_request_that_comes_along_can_be_read(number: int) -> None:
    facts = Snapshots().pull_request("vllm-project/vllm", number)

    assert facts is not None
    assert facts.ref == f"vllm-project/vllm#{number}"
    assert PullRequestState(facts.state)
    assert facts.effect
    assert (facts.merged_at is not None) == (facts.state == "merged")
    assert bool(facts.files) == facts.files_complete


def test_the_files_of_40727_are_counted() -> None:
    facts = Snapshots().pull_request("vllm-project/vllm", 40727)

    assert facts is not None
    assert [(file.path, file.additions, file.deletions) for file in facts.files] == [
        ("tests/v1/e2e/spec_decode/test_spec_decode.py", 5, 2),
        ("vllm/transformers_utils/configs/speculators/algos.py", 2, 1),
        ("vllm/v1/worker/gpu_model_runner.py", 4, 1),
    ]
    assert facts.repairs == ("target-layer-offset",)


def test_what_was_not_recorded_is_none() -> None:
    assert Snapshots().hub("nobody/nothing") is None
    assert Snapshots().pull_request("vllm-project/vllm", 1) is None


@pytest.mark.parametrize("repo", ["../../etc", "a/b/c", "a", "a/..", "/a/b"])
def test_a_name_cannot_lead_out_of_the_folder(repo: str) -> None:
    with pytest.raises(UsageError, match="is not a repository id"):
        Snapshots().hub(repo)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": 2}, "schema is 2; this program reads 1"),
        ({"retrieved": "last year"}, "retrieved is 'last year', not a date"),
        ({"config": []}, "config is a list, not an object"),
        ({"repo": 7}, "repo is not a string"),
        ({"tensors": {"fc": ["x"]}}, "has no shape for 'fc'"),
    ],
)
def test_a_broken_snapshot_is_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    folder = tmp_path / "hub" / "a__b"
    folder.mkdir(parents=True)
    whole = {"schema": 1, "repo": "a/b", "retrieved": "2026-10", "complete": True, "config": {}}
    (folder / "snapshot.json").write_text(json.dumps(whole | changes))

    with pytest.raises(UsageError) as caught:
        Snapshots(tmp_path).hub("a/b")
    assert said in str(caught.value)
    assert "hub/a__b/snapshot.json" in str(caught.value)


def test_a_broken_snapshot_of_a_pull_request_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "github" / "a__b"
    folder.mkdir(parents=True)
    whole = {"schema": 1, "title": "x", "state": "open", "retrieved": "2026-10", "files": ["a.py"]}
    (folder / "7.json").write_text(json.dumps(whole))

    with pytest.raises(UsageError, match=r"github/a__b/7\.json.*files is not a list of objects"):
        Snapshots(tmp_path).pull_request("a/b", 7)


def test_a_month_counts_from_its_first_day() -> None:
    assert snapshot_time("2026-10").isoformat() == "2026-10-01T00:00:00+00:00"
    assert snapshot_time("2026-10-31").isoformat() == "2026-10-31T00:00:00+00:00"


def test_pretty_json_keeps_short_lists_on_their_line_and_reads_back() -> None:
    value: dict[str, Any] = {
        "ids": [1, 16],
        "empty": {},
        "none": None,
        "deep": [{"a": [1]}, {"b": "ü"}],
        "long": ["linear_attention"] * 20,
    }
    text = pretty_json(value)

    assert json.loads(text) == value
    assert text.split("\n")[:3] == ["{", '  "ids": [1, 16],', '  "empty": {},']
    assert text.count('    "linear_attention"') == 20


def test_a_text_tree_reads_hashes_and_misses() -> None:
    source = Source(
        id="draft",
        kind=SourceKind.HUB,
        name="a/b",
        revision="r",
        origin=Origin.SNAPSHOT,
        retrieved_at=snapshot_time("2026-10"),
    )
    tree = TextTree(source, {"config.json": b"{}", "a.py": b""})

    assert tree.paths() == ["a.py", "config.json"]
    assert tree.digest("config.json") == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    with pytest.raises(NotFoundError, match="a/b holds no file 'x'"):
        tree.read("x")
