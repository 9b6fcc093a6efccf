"""A shadow of the package: the patched files are taken, everything else is the installation's."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import tree_sitter_python

from investigator.errors import PatchError
from investigator.patches.overlay import Overlay, build, load
from investigator.patches.plan import NamedPatch
from tests.patches import places
from tests.patches.places import PATCHED, install, patches, state


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return install(tmp_path / "site-packages")


@pytest.fixture
def overlay(root: Path, tmp_path: Path) -> Overlay:
    return build(root, "vllm", patches(), tmp_path / "overlay")


def python(script: str, environment: Mapping[str, str], cwd: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def environment(overlay: Overlay) -> dict[str, str]:
    return overlay.environment({"PYTHONPATH": str(overlay.installation)})


SLOTS = (
    "from vllm.config.speculative import SpeculativeConfig as C\n"
    "from vllm.v1.core.sched.scheduler import Scheduler as S\n"
    "print(S(C('dflash'), []).num_lookahead_tokens)\n"
)


def test_python_takes_the_patched_modules_and_the_installations_others(overlay: Overlay) -> None:
    assert python(SLOTS, {"PYTHONPATH": str(overlay.installation)}) == "7"
    assert python(SLOTS, environment(overlay)) == "8"
    where = "import vllm.v1.worker.gpu_model_runner as m; print(m.__file__)"
    assert python(where, environment(overlay)) == str(overlay.folder / "vllm/v1/worker/gpu_model_runner.py")


def test_processes_started_from_there_inherit_it(overlay: Overlay) -> None:
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLOTS!r}], check=True)"
    assert python(nested, environment(overlay)) == "8"
    spawned = (
        "import multiprocessing as m\n"
        "from vllm.config.speculative import SpeculativeConfig as C\n"
        "if __name__ == '__main__':\n"
        "    with m.get_context('spawn').Pool(1) as pool:\n"
        "        print(hasattr(pool.apply(C, ('dflash',)), 'drops_last_matched_block'))\n"
    )
    assert python(spawned, environment(overlay)) == "True"


def test_the_shell_line_switches_it_on(overlay: Overlay) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{overlay.export}; {shlex.quote(sys.executable)} -c {shlex.quote(SLOTS)}"],
        env={"PYTHONPATH": str(overlay.installation)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "8\n"


def test_the_installation_is_only_read(root: Path, tmp_path: Path) -> None:
    before = state(root)
    overlay = build(root, "vllm", patches(), tmp_path / "overlay")
    python(SLOTS, environment(overlay))
    assert state(root) == before


def test_only_what_must_differ_is_really_there(overlay: Overlay) -> None:
    real = [p for p in overlay.folder.rglob("*") if p.is_file() and not p.is_symlink()]
    own = {p.relative_to(overlay.folder).as_posix() for p in real}
    assert own == {*PATCHED, "overlay.json"}
    assert {path: (overlay.folder / path).read_bytes() for path in PATCHED} == {
        path: places.new()[path] for path in PATCHED
    }
    assert (overlay.folder / "vllm/model_executor").is_symlink()
    assert (overlay.folder / "vllm/v1/core/kv_cache_manager.py").is_symlink()


def test_no_compiled_cache_stands_beside_a_patched_file(overlay: Overlay) -> None:
    patched_folders = {(overlay.folder / path).parent for path in PATCHED}
    assert not any((folder / "__pycache__").exists() for folder in patched_folders)


def test_data_files_and_extensions_are_found(root: Path, tmp_path: Path) -> None:
    """Beside a patched module, below a linked folder, and through a compiled extension."""
    (root / "vllm/config/defaults.json").write_text('{"beside": 1}')
    (root / "vllm/assets").mkdir()
    (root / "vllm/assets/data.txt").write_text("below")
    extension = next(Path(tree_sitter_python.__file__).parent.glob("_binding*.so"))
    shutil.copy(extension, root / "vllm")
    (root / "vllm.libs").mkdir()
    overlay = build(root, "vllm", patches(), tmp_path / "overlay")
    script = (
        "import json, pathlib, importlib, vllm.config.speculative as s\n"
        "print(json.loads((pathlib.Path(s.__file__).parent / 'defaults.json').read_text())['beside'])\n"
        "import vllm; print((pathlib.Path(vllm.__file__).parent / 'assets/data.txt').read_text())\n"
        "print(importlib.import_module('vllm._binding').__file__)\n"
    )
    assert python(script, environment(overlay)).splitlines() == [
        "1", "below", str(overlay.folder / "vllm" / extension.name)
    ]  # fmt: skip
    assert (overlay.folder / "vllm.libs").resolve() == root / "vllm.libs"


def test_version_metadata_is_still_the_installations(overlay: Overlay) -> None:
    script = "import importlib.metadata as m; print(m.distribution('vllm').locate_file(''))"
    assert python(script, environment(overlay)) == str(overlay.installation)


def test_a_later_look_tells_that_the_installation_moved_on(overlay: Overlay) -> None:
    assert load(overlay.folder) == overlay
    (overlay.installation / "vllm-1.0.dist-info").rename(overlay.installation / "vllm-1.1.dist-info")
    with pytest.raises(PatchError, match=r"holds vllm 1\.1 instead of 1\.0 by now"):
        load(overlay.folder)


def test_a_later_look_tells_that_a_file_changed(overlay: Overlay) -> None:
    (overlay.installation / PATCHED[0]).write_text("x = 1\n")
    with pytest.raises(PatchError, match="holds another vllm/config/speculative"):
        load(overlay.folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 200_000, json.dumps({"schema": 1, "files": 3})])
def test_what_is_no_overlay_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "overlay.json").write_text(text)
    with pytest.raises(PatchError, match="is no overlay"):
        load(tmp_path)


def test_an_existing_folder_is_left_alone(root: Path, tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="exists already"):
        build(root, "vllm", patches(), tmp_path)


def test_a_failure_leaves_nothing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, *arguments: object, **keywords: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "symlink_to", full)
    with pytest.raises(PatchError, match="No space left on device"):
        build(root, "vllm", patches(), tmp_path / "deep" / "overlay")
    assert list((tmp_path / "deep").iterdir()) == []


def test_another_version_or_content_is_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(PatchError, match=r"for vllm 0\.9"):
        build(root, "vllm", patches(), tmp_path / "overlay", version="0.9")
    (root / PATCHED[0]).write_text("x = 1\n")
    with pytest.raises(PatchError, match="is not the file that"):
        build(root, "vllm", patches(), tmp_path / "overlay")
    assert not (tmp_path / "overlay").exists()


def test_a_read_only_installation_can_be_shadowed(root: Path, tmp_path: Path) -> None:
    (root / PATCHED[0]).chmod(0o444)
    overlay = build(root, "vllm", patches(), tmp_path / "overlay")
    assert python(SLOTS, environment(overlay)) == "8"


def test_patches_of_other_packages_are_refused(root: Path, tmp_path: Path) -> None:
    other = b"--- a/other.py\n+++ b/other.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    (root / "other.py").write_text("x = 1\n")
    with pytest.raises(PatchError, match=r"the patches touch other\.py"):
        build(root, "vllm", [NamedPatch("other.patch", other)], tmp_path / "overlay")


def test_an_overlay_inside_the_package_is_refused(root: Path) -> None:
    before = state(root)

    with pytest.raises(PatchError, match=r"lies inside the package"):
        build(root, "vllm", patches(), root / "vllm" / "mine")

    assert state(root) == before
