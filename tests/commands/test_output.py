"""What a command writes is whole or not there, and a place that takes nothing is told before any work."""

from pathlib import Path

import pytest

from investigator.commands.output import require_folder, write_whole, writing
from investigator.errors import UsageError


def test_a_file_that_cannot_take_its_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()

    with pytest.raises(UsageError, match=r"cannot write .*/out: Is a directory"):
        write_whole(tmp_path / "out", "text")

    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("place", "said"),
    [("/proc/nothing", "No such file"), ("/proc/a/b", "No such file"), ("file/x", "Not a directory")],
)
def test_a_folder_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match=rf"cannot write {place}: {said}"):
        require_folder(Path(place))


def test_a_folder_that_can_be_made_is_not_made_yet(tmp_path: Path) -> None:
    require_folder(tmp_path / "a" / "b")

    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_in_the_middle_is_the_users_to_know() -> None:
    with (
        pytest.raises(UsageError, match="cannot write there: No space left on device") as caught,
        writing(Path("there")),
    ):
        raise OSError(28, "No space left on device")

    assert caught.value.advice == "name a place in a folder that you can write"
