"""An overlay is read as the processes see it that have it on their path."""

import json
from pathlib import Path

import pytest

from investigator.case import EngineSpec
from investigator.errors import UsageError
from investigator.patches import overlay
from investigator.patches.plan import NamedPatch
from investigator.sources.open import Workspace, open_engine

PATCH = """\
--- a/vllm/worker/runner.py
+++ b/vllm/worker/runner.py
@@ -1 +1 @@
-offset = 0
+offset = 1
"""


@pytest.fixture
def shadow(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    (site / "vllm/worker").mkdir(parents=True)
    (site / "vllm/config").mkdir()
    (site / "vllm/__init__.py").write_text("")
    (site / "vllm/config/cache.py").write_text("size = 16\n")
    (site / "vllm/worker/runner.py").write_text("offset = 0\n")
    overlay.build(site, "vllm", [NamedPatch("0001-x.patch", PATCH.encode())], tmp_path / "shadow")
    return tmp_path / "shadow"


def test_patched_files_and_what_they_shadow(shadow: Path, tmp_path: Path, workspace: Workspace) -> None:
    tree = open_engine(EngineSpec.parse(f"path:{shadow}"), workspace)

    assert tree.read("vllm/worker/runner.py") == b"offset = 1\n"
    assert tree.read("vllm/config/cache.py") == b"size = 16\n"  # behind a link to a folder
    assert list(tree.paths()) == ["vllm/__init__.py", "vllm/config/cache.py", "vllm/worker/runner.py"]
    assert (tree.source.name, tree.source.note) == (str(shadow), f"an overlay of {tmp_path}/site")


def test_a_manifest_opens_nothing_but_the_package(shadow: Path, tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "secret").write_text("secret")
    said = json.loads((shadow / "overlay.json").read_text())
    said["files"] = {"../secret": {}, "vllm/../../secret": {}}
    (shadow / "overlay.json").write_text(json.dumps(said))

    with pytest.raises(Exception, match=r"no path in|has no file"):
        open_engine(EngineSpec.parse(f"path:{shadow}"), workspace)


def test_an_installation_that_is_gone(shadow: Path, tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "site").rename(tmp_path / "moved")

    with pytest.raises(UsageError, match="site is not a folder"):
        open_engine(EngineSpec.parse(f"path:{shadow}"), workspace)


@pytest.mark.parametrize("text", ["", "[1]", '{"schema": 2}', "[" * 100_000])
def test_a_file_of_that_name_that_is_no_manifest(shadow: Path, workspace: Workspace, text: str) -> None:
    (shadow / "overlay.json").write_text(text)

    tree = open_engine(EngineSpec.parse(f"path:{shadow}"), workspace)

    assert list(tree.paths()) == ["vllm/worker/runner.py"]  # no link is followed out of the folder
