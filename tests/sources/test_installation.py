"""Installed engines: found through the interpreter that has them, without importing anything."""

import json
import sys
import venv
from pathlib import Path

import pytest

from investigator.case import EngineSpec
from investigator.errors import UsageError
from investigator.model import SourceKind
from investigator.sources.folder import FolderTree
from investigator.sources.installation import editable_location, open_installation, search_path
from investigator.sources.open import Workspace, open_engine
from tests.support.wheels import ENGINE_FILES, record_row

INFO = "vllm-0.20.1.dist-info"
TRAP = b"raise SystemExit('the engine was imported')\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty virtual environment; its interpreter."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


@pytest.fixture
def site(environment: Path) -> Path:
    """Its site-packages, with the miniature installed; importing it would be noticed."""
    [site] = environment.parent.parent.glob("lib/python*/site-packages")
    files = {**ENGINE_FILES, "vllm/__init__.py": TRAP}
    rows = [record_row(path, data) for path, data in files.items()]
    files[f"{INFO}/RECORD"] = "\n".join(rows).encode()
    for path, data in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
    for leftover in [*site.glob(f"{INFO}/direct_url.json"), *site.glob("vllm/extra.py")]:
        leftover.unlink()
    return site


@pytest.mark.usefixtures("site")
def test_another_environment(environment: Path, workspace: Workspace) -> None:
    tree = open_engine(EngineSpec.parse(f"python:{environment}"), workspace)

    assert tree.read("vllm/config.py") == ENGINE_FILES["vllm/config.py"]
    assert (tree.source.id, tree.source.kind) == ("vllm", SourceKind.INSTALLATION)
    assert (tree.source.revision, tree.source.note) == ("0.20.1", None)


def test_a_hand_edited_installation(environment: Path, site: Path, workspace: Workspace) -> None:
    runner = site / "vllm/worker/runner.py"
    runner.write_bytes(runner.read_bytes().replace(b"i + 1", b"i"))

    tree = open_engine(EngineSpec.parse(f"python:{environment}"), workspace)

    assert isinstance(tree, FolderTree)
    assert tree.modified() == ("vllm/worker/runner.py",)
    assert tree.source.note == "1 file differs from its RECORD: vllm/worker/runner.py"


def test_an_editable_installation(environment: Path, site: Path, tmp_path: Path) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm/__init__.py").write_bytes(b"# the checkout\n")
    (site / INFO / "direct_url.json").write_text(
        json.dumps({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    )

    tree = open_installation(environment, "vllm")

    assert tree.read("vllm/__init__.py") == b"# the checkout\n"
    assert tree.source.name == str(tmp_path)
    assert tree.source.note == "editable installation of 0.20.1"


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[" * 200_000,
        "[]",
        '{"url": "file:///x"}',
        '{"url": "file:///x", "dir_info": {"editable": false}}',
        '{"url": "https://x.invalid/y", "dir_info": {"editable": true}}',
    ],
)
def test_what_is_no_editable_installation(tmp_path: Path, text: str) -> None:
    (tmp_path / "direct_url.json").write_text(text)

    assert editable_location(tmp_path) is None


def test_an_environment_without_it(environment: Path) -> None:
    with pytest.raises(UsageError, match="has no sglang installed") as error:
        open_installation(environment, "sglang")

    assert "sglang==VERSION" in error.value.advice


def test_this_environment(workspace: Workspace) -> None:
    tree = open_installation(None, "packaging")

    assert tree.source.id == "packaging"
    assert tree.read("packaging/version.py").startswith(b"#")
    with pytest.raises(UsageError, match="has no no_such_engine installed"):
        open_installation(None, "no_such_engine")


def test_a_package_on_the_path_that_was_never_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "miniature_engine").mkdir()
    (tmp_path / "miniature_engine/__init__.py").write_bytes(TRAP)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    tree = open_installation(None, "miniature_engine")

    assert tree.source.note == "found on the interpreter's path, not installed"


def test_this_processes_own_path_does_not_leak_into_another(
    environment: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    assert str(tmp_path) in search_path(Path(sys.executable))
    assert str(tmp_path) not in search_path(environment)


def test_an_interpreter_that_is_none(tmp_path: Path) -> None:
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\nexit 3\n")

    with pytest.raises(UsageError, match="is no Python interpreter"):
        open_installation(silent, "vllm")
    silent.chmod(0o755)
    with pytest.raises(UsageError, match="does not say where it looks for packages"):
        open_installation(silent, "vllm")
    with pytest.raises(UsageError, match="is no Python interpreter"):
        open_installation(tmp_path / "gone", "vllm")
