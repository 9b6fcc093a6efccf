"""Folders: where the package is found, what belongs to the tree, what was edited by hand."""

import os
from pathlib import Path

import pytest

from investigator.case import EngineSpec
from investigator.errors import IntegrityError, LimitError, NotFoundError, UsageError
from investigator.model import Origin, SourceKind
from investigator.sources import folder as folder_module
from investigator.sources.folder import FolderTree, find_package, open_folder, open_whole_folder, read_regular
from investigator.sources.open import Workspace, open_engine
from tests.support.wheels import ENGINE_FILES, record_row

INFO = "vllm-0.20.1.dist-info"


def write(root: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """The miniature, unpacked as from its wheel, beside another package."""
    rows = [record_row(path, data) for path, data in ENGINE_FILES.items()]
    info = {
        f"{INFO}/RECORD": "\n".join([*rows, f"{INFO}/RECORD,,"]).encode(),
        f"{INFO}/METADATA": b"Name: vllm\nVersion: 0.20.1\n",
    }
    return write(
        tmp_path / "site", {**ENGINE_FILES, **info, "other/__init__.py": b"", "vllm/x/__pycache__/a": b""}
    )


def test_an_unpacked_wheel(unpacked: Path, workspace: Workspace) -> None:
    tree = open_engine(EngineSpec.parse(f"path:{unpacked}"), workspace)

    assert list(tree.paths()) == [
        f"{INFO}/METADATA",
        f"{INFO}/RECORD",
        "vllm/__init__.py",
        "vllm/config.py",
        "vllm/worker/empty.py",
        "vllm/worker/runner.py",
    ]
    assert {path: tree.read(path) for path in ENGINE_FILES} == ENGINE_FILES
    assert tree.digest("vllm/worker/empty.py") == (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    source = tree.source
    assert (source.id, source.kind, source.revision) == ("vllm", SourceKind.FOLDER, "0.20.1")
    assert (source.origin, source.name, source.note) == (Origin.LOCAL, str(unpacked), None)


@pytest.mark.parametrize("layout", ["", "src", "python", "vllm", "usr/lib/python3/dist-packages"])
def test_where_the_package_is_found(tmp_path: Path, layout: str) -> None:
    holder = tmp_path / "given" / (layout if layout != "vllm" else "")
    write(holder, {"vllm/__init__.py": b""})
    given = tmp_path / "given" / ("vllm" if layout == "vllm" else "")

    assert find_package(given, "vllm") == holder


def test_an_image_with_one_environment(tmp_path: Path) -> None:
    site = "opt/venv/lib/python3.12/site-packages"
    write(tmp_path, {f"{site}/vllm/__init__.py": b"", "usr/lib/python3/dist-packages/six.py": b""})

    assert find_package(tmp_path, "vllm") == tmp_path / site


def test_an_image_with_two(tmp_path: Path) -> None:
    for site in ("opt/a/lib/python3.12/site-packages", "opt/b/lib/python3.12/site-packages"):
        write(tmp_path, {f"{site}/vllm/__init__.py": b""})

    with pytest.raises(UsageError, match="holds vllm 2 times") as error:
        find_package(tmp_path, "vllm")

    assert str(tmp_path / "opt/a/lib/python3.12/site-packages") in error.value.advice


def test_another_engine_is_found_by_its_own_name(tmp_path: Path) -> None:
    write(
        tmp_path, {"python/sglang/__init__.py": b"", "python/sglang/version.py": b'__version__ = "0.5.14"\n'}
    )

    tree = open_folder(tmp_path, "sglang")

    assert list(tree.paths()) == ["sglang/__init__.py", "sglang/version.py"]
    assert (tree.source.id, tree.source.revision) == ("sglang", "0.5.14")


@pytest.mark.parametrize("text", [b"__version__ = version = '0.20.1rc1'\n", b'version = "0.20.1rc1"\n'])
def test_the_version_of_a_checkout(tmp_path: Path, text: bytes) -> None:
    write(tmp_path, {"vllm/__init__.py": b"", "vllm/_version.py": b"# made by a tool\n" + text})

    assert open_folder(tmp_path, "vllm").source.revision == "0.20.1rc1"


def test_a_checkout_that_names_no_version(tmp_path: Path) -> None:
    write(tmp_path, {"vllm/__init__.py": b""})

    assert open_folder(tmp_path, "vllm").source.revision == "unknown"


def test_a_folder_that_is_no_vllm(tmp_path: Path) -> None:
    write(tmp_path, {"readme.txt": b"", "vllm/notes.txt": b""})

    with pytest.raises(UsageError, match=r"holds no vllm: there is no vllm/__init__\.py in it") as error:
        open_folder(tmp_path, "vllm")

    assert "path:" in error.value.advice


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        open_folder(tmp_path / "gone", "vllm")


def test_untouched_files_are_not_called_modified(unpacked: Path) -> None:
    tree = open_folder(unpacked, "vllm")

    assert tree.modified() == ()
    assert tree.source.note is None


def test_what_was_edited_by_hand_is_named(unpacked: Path) -> None:
    (unpacked / "vllm/config.py").write_bytes(b"BLOCK = 17\n")
    (unpacked / "vllm/worker/empty.py").unlink()
    (unpacked / "vllm/extra.py").write_bytes(b"")
    (unpacked / "vllm/extra.json").write_bytes(b"{}")

    tree = open_folder(unpacked, "vllm")

    assert tree.modified() == ("vllm/config.py", "vllm/extra.py", "vllm/worker/empty.py")
    assert tree.source.note == (
        "3 files differ from its RECORD: vllm/config.py, vllm/extra.py, vllm/worker/empty.py"
    )


def test_without_a_record_nothing_can_be_called_modified(unpacked: Path) -> None:
    (unpacked / INFO / "RECORD").unlink()

    assert open_folder(unpacked, "vllm").modified() == ()


def test_a_file_that_changes_during_the_run(unpacked: Path) -> None:
    tree = open_folder(unpacked, "vllm")
    tree.read("vllm/config.py")
    (unpacked / "vllm/config.py").write_bytes(b"BLOCK = 17\n")

    with pytest.raises(IntegrityError, match=r"vllm/config\.py changed while it was being investigated"):
        tree.read("vllm/config.py")


@pytest.mark.parametrize(
    "path",
    [
        "vllm/gone.py",
        "other/__init__.py",
        "../secret",
        "/etc/passwd",
        "vllm/../other/__init__.py",
        "vllm",
        "a\0b",
    ],
)
def test_paths_that_are_not_in_the_tree(unpacked: Path, path: str) -> None:
    (unpacked.parent / "secret").write_text("secret")

    with pytest.raises(NotFoundError):
        open_folder(unpacked, "vllm").read(path)


def test_links_are_followed_inside_and_nowhere_else(unpacked: Path) -> None:
    (unpacked.parent / "secret").write_text("secret")
    (unpacked / "vllm/inside.py").symlink_to("config.py")
    (unpacked / "vllm/outside.py").symlink_to("../../secret")
    (unpacked / "vllm/device.py").symlink_to("/dev/zero")
    (unpacked / "vllm/loop.py").symlink_to("loop.py")
    (unpacked / "vllm/up").symlink_to("..")

    tree = open_folder(unpacked, "vllm")

    added = set(tree.paths()) - set(ENGINE_FILES) - {f"{INFO}/METADATA", f"{INFO}/RECORD"}
    assert added == {"vllm/inside.py"}
    assert tree.read("vllm/inside.py") == ENGINE_FILES["vllm/config.py"]
    for path in ("vllm/outside.py", "vllm/device.py", "vllm/loop.py"):
        with pytest.raises(NotFoundError):
            tree.read(path)


@pytest.mark.parametrize("given", ["", "vllm"])
def test_a_package_that_is_itself_a_link(unpacked: Path, tmp_path: Path, given: str) -> None:
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/vllm").symlink_to(unpacked / "vllm")

    tree = open_folder(tmp_path / "linked" / given, "vllm")

    assert tree.read("vllm/config.py") == ENGINE_FILES["vllm/config.py"]
    assert tree.source.revision == "0.20.1"


def test_a_pipe_is_never_opened(unpacked: Path) -> None:
    os.mkfifo(unpacked / "vllm/pipe.py")

    tree = open_folder(unpacked, "vllm")

    assert "vllm/pipe.py" not in tree.paths()
    with pytest.raises(NotFoundError, match="not a regular file"):
        tree.read("vllm/pipe.py")


def test_a_file_over_the_limit_is_not_read(unpacked: Path) -> None:
    with (unpacked / "vllm/huge.py").open("wb") as file:
        file.truncate(8 * 1024 * 1024 + 1)
    (unpacked / INFO / "RECORD").unlink()

    with pytest.raises(LimitError, match=r"huge\.py is 8388609 bytes; the limit is 8388608"):
        open_folder(unpacked, "vllm").read("vllm/huge.py")


def test_too_many_files(unpacked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "MAX_FILES", 3)

    with pytest.raises(LimitError, match="holds more than 3 files"):
        open_folder(unpacked, "vllm")


def test_a_whole_folder_is_a_tree_too(unpacked: Path) -> None:
    source = open_folder(unpacked, "vllm").source

    assert "other/__init__.py" in FolderTree(source, unpacked).paths()


@pytest.mark.parametrize("given", ["n" * 5000, "x\0y"])
def test_a_path_that_cannot_be_looked_at_is_a_usage_error(given: str) -> None:
    with pytest.raises(UsageError, match="cannot look at") as error:
        open_folder(Path(given), "vllm")

    assert len(str(error.value)) < 200


def test_a_home_of_nobody_is_no_folder() -> None:
    with pytest.raises(UsageError, match="~nosuchuser/vllm is not a folder"):
        open_folder(Path("~nosuchuser/vllm"), "vllm")


def test_a_reference_in_a_folder_is_called_like_it(unpacked: Path) -> None:
    tree = open_whole_folder(unpacked)

    assert (tree.source.id, tree.source.revision) == ("site", "local")
    assert "other/__init__.py" in tree.paths()
    with pytest.raises(UsageError, match="is not a folder"):
        open_whole_folder(unpacked / "vllm/__init__.py")


def test_a_name_that_is_not_utf_8_is_left_out(unpacked: Path) -> None:
    (Path(os.fsdecode(os.fsencode(unpacked) + b"/vllm/\xff.py"))).write_bytes(b"")
    (Path(os.fsdecode(os.fsencode(unpacked) + b"/vllm/\xff"))).mkdir()
    (unpacked / "vllm/\u00fc.py").write_bytes(b"")

    paths = open_folder(unpacked, "vllm").paths()

    assert "vllm/\u00fc.py" in paths
    assert all(path.encode("utf-8") for path in paths)


def test_a_file_that_grows_while_it_is_read() -> None:
    """The kernel's own files name no size beforehand."""
    with pytest.raises(LimitError, match="the status grew over 10 bytes"):
        read_regular(Path("/proc/self/status"), "the status", 10)
