"""What a run leaves is whole or not there."""

import json
from pathlib import Path

import pytest

from investigator.errors import UsageError
from investigator.events import Event, EventKind
from investigator.log import EventLog
from investigator.run_folder import open_run_folder, slug


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_without_out_the_folder_is_named_after_time_and_case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with (
        open_run_folder(None, "vllm==0.20.1 z-lab/A") as first,
        open_run_folder(None, "vllm==0.20.1 z-lab/A") as second,
    ):
        assert first.path.parent == Path("runs")
        assert first.path.name.split("-", 1)[1] == "vllm==0.20.1-z-lab-A"
        assert second.path != first.path


def test_a_file_replaces_an_older_one_and_leaves_nothing_else(tmp_path):
    with open_run_folder(tmp_path, "x") as folder:
        folder.write("report.md", "old")
        folder.write("report.md", "new\n")

    assert names(tmp_path) == ["log.jsonl", "report.md"]
    assert (tmp_path / "report.md").read_bytes() == b"new\n"


def test_patches_of_an_earlier_run_do_not_stay(tmp_path):
    with open_run_folder(tmp_path, "x") as folder:
        folder.write_patches({"0001-a.patch": b"a", "0002-b.patch": b"b"})
        folder.write_patches({"0001-c.patch": b"c"})
        assert names(tmp_path / "patches") == ["0001-c.patch"]
        assert folder.write_patches({}) is None

    assert names(tmp_path) == ["log.jsonl"]


def test_a_file_in_the_way_is_one_clear_error_before_any_work(tmp_path):
    (tmp_path / "taken").write_text("")

    with (
        pytest.raises(UsageError, match="cannot write") as caught,
        open_run_folder(tmp_path / "taken" / "x", "x"),
    ):
        pytest.fail("the work began")

    assert "--out" in caught.value.advice


def test_two_runs_do_not_share_a_folder(tmp_path):
    refused = pytest.raises(UsageError, match="being written by another run")
    with open_run_folder(tmp_path, "x"), refused, open_run_folder(tmp_path, "x"):
        pytest.fail("the second run began")

    with open_run_folder(tmp_path, "x") as again:
        assert again.path == tmp_path


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("vllm==0.20.1", "vllm==0.20.1"),
        ("../../etc/passwd", "etc-passwd"),
        ("...", "case"),
        ("a" * 200, "a" * 80),
    ],
)
def test_a_slug_is_safe_as_a_folder_name(text, name):
    assert slug(text) == name


def test_the_log_holds_one_object_a_line_whatever_the_text(tmp_path):
    with open_run_folder(tmp_path, "x") as folder, folder.log() as stream:
        seen: list[Event] = []
        log = EventLog(stream)
        log.follow(seen.append)
        log(
            Event(
                kind=EventKind.FETCHED,
                agent="hub",
                details={"source": "a\nb\u2028", "bytes": 12, "event": "no"},
            )
        )

    (line,) = (tmp_path / "log.jsonl").read_text().splitlines()
    assert json.loads(line)["source"] == "a\nb\u2028"
    assert json.loads(line)["event"] == "fetched"
    assert len(seen) == 1


def test_a_patches_folder_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches/0001-mine.patch").write_text("")
    (tmp_path / "patches/readme.txt").write_text("mine")

    refused = pytest.raises(UsageError, match=r"holds 'readme\.txt', which no run has left")
    with refused, open_run_folder(tmp_path, "x"):
        pytest.fail("the work began")

    assert names(tmp_path / "patches") == ["0001-mine.patch", "readme.txt"]


def test_a_patches_link_is_not_followed(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run/patches").symlink_to(tmp_path / "mine")

    with pytest.raises(UsageError, match="is in the way"), open_run_folder(tmp_path / "run", "x"):
        pytest.fail("the work began")


def test_what_the_disk_refuses_later_is_one_clear_error_too(tmp_path):
    with open_run_folder(tmp_path / "run", "x") as folder:
        (tmp_path / "run/report.md").mkdir()
        with pytest.raises(UsageError, match=r"cannot write .*report\.md: Is a directory"):
            folder.write("report.md", "text")
        assert names(tmp_path / "run/report.md") == []
        assert ".report.md.part" not in names(tmp_path / "run")

        (tmp_path / "run").rename(tmp_path / "moved")
        with pytest.raises(UsageError, match=r"cannot write .*patches: No such file or directory"):
            folder.write_patches({"0001-a.patch": b"a"})
