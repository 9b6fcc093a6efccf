"""What comes back from another machine is foreign."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from investigator.errors import LimitError, SourceError
from investigator.validation.launchers import archive
from investigator.validation.launchers.archive import pack, unpack_results


def tar(*members: tuple[str, bytes | str]) -> bytes:
    """A tar; a member whose content is a string is a link to that path."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                made.addfile(info)
            else:
                info.size = len(content)
                made.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def test_results_and_logs_come_back(tmp_path: Path) -> None:
    data = tar(("results/all.json", b"{}"), ("./results/all.log", b"said"))
    assert unpack_results(data, tmp_path) == ["all.json", "all.log"]
    assert (tmp_path / "results" / "all.log").read_text() == "said"


@pytest.mark.parametrize(
    "name",
    [
        "../results/a.json",
        "/results/a.json",
        "results/../../a.json",
        "results/deep/a.json",
        "run.py",
        "results/.lock",
    ],
)
def test_nothing_else_is_written(tmp_path: Path, name: str) -> None:
    assert unpack_results(tar((name, b"harm")), tmp_path / "inside") == []
    assert not list(tmp_path.rglob("*.json"))


def test_a_link_in_place_of_a_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no plain file"):
        unpack_results(tar(("results/a.json", "/etc/passwd")), tmp_path)


def test_too_large_and_too_many_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 3)
    monkeypatch.setattr(archive, "MAX_RESULTS", 2)
    with pytest.raises(LimitError, match="268,435,457 bytes of results"):
        unpack_results(bytes((256 << 20) + 1), tmp_path)
    with pytest.raises(LimitError, match="has 4 bytes"):
        unpack_results(tar(("results/a.json", b"1234")), tmp_path)
    with pytest.raises(LimitError, match="more than 2 files"):
        unpack_results(tar(*((f"results/{n}.json", b"1") for n in range(3))), tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"Last login: yesterday",
        gzip.compress(tar(("results/a.json", b"{}"))),  # what is packed could unpack to anything
        tar(("results/a.json", b"x" * 2000))[:1000],
        tar(("results/a.json", b"{}")).replace(b"00000000002\0", b"-0000000002\0"),
    ],
    ids=["text", "packed", "cut", "a negative size"],
)
def test_what_is_no_sound_plain_tar_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(SourceError, match="cannot be unpacked"):
        unpack_results(data, tmp_path)


def test_one_result_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"results/a\.json is there twice"):
        unpack_results(tar(("results/a.json", b"1"), ("./results/a.json", b"2")), tmp_path)


def test_overlays_laid_out_here_do_not_travel(tmp_path: Path) -> None:
    for name in ("run.py", "overlays/all/vllm/a.py", "overlays/.made/all/vllm/a.py"):
        (tmp_path / "e" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "e" / name).write_text("x")
    stream = io.BytesIO()
    pack(tmp_path / "e", stream)
    with tarfile.open(fileobj=io.BytesIO(stream.getvalue())) as packed:
        assert packed.getnames() == ["overlays/all/vllm/a.py", "run.py"]
