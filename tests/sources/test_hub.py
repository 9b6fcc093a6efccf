"""Which place a config comes from, and what is said about it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from investigator.case import RepoSpec
from investigator.errors import NotFoundError, OfflineError, SourceError, UsageError
from investigator.model import Origin
from investigator.sources.hub import CONFIG, HubModel, HubSource

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GATED = SourceError("z-lab/Qwen3.6-27B-DFlash is gated on the Hub (401)", "accept its terms")


class FakeHub:
    """Gives what it was made with, or raises it; counts how often it was asked."""

    def __init__(self, live: HubModel | SourceError, cached: HubModel | None = None) -> None:
        self.live = live
        self.kept = cached
        self.asked = 0

    def fetch(self, repo: str, revision: str | None, *, shapes: bool = False) -> HubModel:
        self.asked += 1
        if isinstance(self.live, SourceError):
            raise self.live
        return self.live

    def cached(self, repo: str, revision: str | None) -> HubModel | None:
        return self.kept


def kept(origin: Origin = Origin.CACHE) -> HubModel:
    return HubModel(repo="some/drafter", revision=COMMIT, files={CONFIG: b'{"block_size": 8}'}, origin=origin)


def test_the_hub_goes_before_everything() -> None:
    hub = FakeHub(kept(Origin.LIVE), cached=kept())

    model = HubSource(client=hub).fetch(RepoSpec("some/drafter"), "draft")

    assert model.tree.source.origin is Origin.LIVE
    assert model.tree.source.permalink == (
        f"https://huggingface.co/some/drafter/blob/{COMMIT}/{{path}}#L{{line}}"
    )
    assert model.notes == ()


def test_the_cache_stands_in_for_a_hub_that_fails() -> None:
    model = HubSource(client=FakeHub(GATED, cached=kept())).fetch(RepoSpec("some/drafter"), "draft")

    assert model.tree.source.origin is Origin.CACHE
    assert model.notes == (f"{GATED}; the Hub's cache here was used",)


def test_the_snapshot_knows_the_target_where_the_card_does_not() -> None:
    live = replace(kept(Origin.LIVE), repo="z-lab/Qwen3-8B-DFlash-b16")

    model = HubSource(client=FakeHub(live)).fetch(RepoSpec("z-lab/Qwen3-8B-DFlash-b16"), "draft")

    assert (model.tree.source.origin, model.target) == (Origin.LIVE, "Qwen/Qwen3-8B")


def test_a_commit_that_is_here_already_is_not_asked_for() -> None:
    hub = FakeHub(GATED, cached=kept())

    HubSource(client=hub).fetch(RepoSpec("some/drafter", COMMIT), "draft")

    assert hub.asked == 0


def test_a_snapshot_stands_in_for_a_hub_that_fails_and_says_why() -> None:
    model = HubSource(client=FakeHub(GATED)).fetch(RepoSpec("z-lab/Qwen3.6-27B-DFlash"), "draft")

    source = model.tree.source
    assert (source.origin, source.revision) == (Origin.SNAPSHOT, "snapshot-2026-10")
    assert model.target == "Qwen/Qwen3.6-27B"
    assert model.notes[0] == (
        "z-lab/Qwen3.6-27B-DFlash: snapshot of 2026-10: z-lab/Qwen3.6-27B-DFlash is gated on the Hub (401); "
        "the snapshot was used"
    )


def test_a_snapshot_never_stands_in_for_a_revision() -> None:
    with pytest.raises(SourceError, match="is of a revision that was not recorded, not of abc123"):
        HubSource(offline=True).fetch(RepoSpec("z-lab/Qwen3.6-27B-DFlash", "abc123"), "draft")


def test_a_snapshot_can_be_asked_for() -> None:
    hub = FakeHub(kept(Origin.LIVE))
    spec = RepoSpec.parse("z-lab/Qwen3.6-27B-DFlash@snapshot-2026-10")

    model = HubSource(client=hub).fetch(spec, "draft")

    assert model.tree.source.origin is Origin.SNAPSHOT
    assert hub.asked == 0


def test_another_date_of_a_snapshot_is_refused() -> None:
    with pytest.raises(NotFoundError, match="no snapshot snapshot-2020-01") as caught:
        HubSource().fetch(RepoSpec("z-lab/Qwen3.6-27B-DFlash", "snapshot-2020-01"), "draft")
    assert caught.value.advice == "there is snapshot-2026-10"


def test_neither_hub_nor_snapshot_is_an_error_with_advice() -> None:
    with pytest.raises(OfflineError, match="nobody/nothing would have to be fetched") as caught:
        HubSource(offline=True).fetch(RepoSpec("nobody/nothing"), "draft")
    assert "path:DIR" in caught.value.advice


def test_a_folder_is_read_with_its_modeling_files(tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text('{"block_size": 4}')
    (tmp_path / "dflash.py").write_text("x = 1\n")

    model = HubSource().fetch(RepoSpec.parse(f"path:{tmp_path}"), "draft")

    assert model.config.raw == {"block_size": 4}
    assert model.tree.paths() == ["config.json", "dflash.py"]
    assert model.tree.source.origin is Origin.LOCAL


def test_shapes_of_local_weights_come_from_their_header(tmp_path: Path) -> None:
    header = b'{"fc.weight": {"dtype": "BF16", "shape": [16, 48]}}'
    (tmp_path / CONFIG).write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"weights")

    assert HubSource().fetch(RepoSpec.parse(f"path:{tmp_path}"), "draft").config.tensors == {
        "fc.weight": (16, 48)
    }


@pytest.mark.parametrize("weights", [b"", b"short", b"\xff" * 8 + b"{}", (99).to_bytes(8, "little") + b"{}"])
def test_local_weights_that_are_none_are_told(tmp_path: Path, weights: bytes) -> None:
    (tmp_path / CONFIG).write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(weights)

    model = HubSource().fetch(RepoSpec.parse(f"path:{tmp_path}"), "draft")

    assert model.config.tensors is None
    assert "were not read" in model.notes[0]


def test_a_file_of_any_name_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"block_size": 4}')

    model = HubSource().fetch(RepoSpec.parse(f"path:{file}"), "draft")

    assert model.config_path == "mine.json"
    assert model.tree.read("mine.json") == file.read_bytes()


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "No such file"), ("{", "is not JSON"), ("[1]", "holds a list where an object was expected")],
)
def test_a_wrong_local_config_is_a_usage_error(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / CONFIG).write_text(text)

    with pytest.raises(UsageError, match=said) as caught:
        HubSource().fetch(RepoSpec.parse(f"path:{tmp_path / CONFIG}"), "draft")
    assert str(tmp_path / CONFIG) in str(caught.value)


def test_a_device_or_a_pipe_is_no_config_and_no_modeling_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "endless.py").symlink_to("/dev/zero")
    (tmp_path / CONFIG).write_text('{"num_hidden_layers": 1}')

    model = HubSource().fetch(RepoSpec.parse(f"path:{tmp_path}"), "draft")

    assert list(model.tree.paths()) == [CONFIG]
    for given in (tmp_path / "pipe.py", Path("/dev/zero")):
        with pytest.raises(UsageError, match="is not a regular file"):
            HubSource().fetch(RepoSpec.parse(f"path:{given}"), "draft")


def test_a_snapshot_of_a_repository_that_has_none_names_those_that_do() -> None:
    with pytest.raises(NotFoundError, match="there is no snapshot of nobody/nothing") as caught:
        HubSource().fetch(RepoSpec("nobody/nothing", "snapshot-2026-10"), "draft")
    assert "z-lab/Qwen3.6-27B-DFlash" in caught.value.advice
