"""``investigate apply`` and ``revert``: onto an installation, and off again."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from investigator import cli
from tests.patches.places import install, state
from tests.support.toy_run import NAMES, rewrite, write_run

Invoke = Callable[..., tuple[int, str, str]]

OFFSET_FILES = [
    "vllm/v1/worker/gpu_model_runner.py",
    "vllm/transformers_utils/configs/speculators/algos.py",
]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """An environment's site-packages with the toy in it."""
    return install(tmp_path / "env" / "site-packages")


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


@pytest.fixture
def invoke(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Invoke:
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = cli.invoke([str(argument) for argument in arguments])
        return code, *capfd.readouterr()

    return call


def interpreter(folder: Path, site: Path) -> Path:
    """Something that answers like the interpreter of the environment with ``site``."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\necho \"['{site}']\"\n")
    python.chmod(0o755)
    return python


def test_a_run_goes_onto_an_installation_and_off_again(site: Path, run_folder: Path, invoke: Invoke) -> None:
    before = state(site)

    code, out, err = invoke("apply", run_folder, "--to", site)

    assert code == 0
    assert [line for line in out.splitlines() if line in OFFSET_FILES] == OFFSET_FILES
    assert f"patched with {', '.join(NAMES)}\n" in err
    assert "note: RECORD of vllm does not match any more" in err
    assert err.splitlines()[-1] == f"to take it back: investigate revert --from {site}"
    assert state(site) != before

    code, reverted, err = invoke("revert", "--from", site)

    assert (code, reverted) == (0, out)
    assert err == f"taken back: {', '.join(NAMES)}\n"
    assert state(site) == before


def test_an_environment_is_named_by_its_interpreter(
    site: Path, run_folder: Path, invoke: Invoke, tmp_path: Path
) -> None:
    before = state(site)
    python = f"python:{interpreter(tmp_path, site)}"

    assert invoke("apply", run_folder, "--to", python)[0] == 0
    assert state(site) != before
    assert invoke("revert", "--from", python)[0] == 0
    assert state(site) == before


@pytest.mark.parametrize("place", ["env", "env/site-packages/vllm"])
def test_a_folder_may_be_the_package_or_hold_its_environment(
    site: Path, run_folder: Path, invoke: Invoke, tmp_path: Path, place: str
) -> None:
    before = state(site)

    assert invoke("apply", run_folder, "--to", tmp_path / place)[0] == 0
    assert invoke("revert", "--from", tmp_path / place)[0] == 0
    assert state(site) == before


def test_only_some_contracts(site: Path, run_folder: Path, invoke: Invoke) -> None:
    code, out, _ = invoke("apply", run_folder, "--to", site, "--only", "target-layer-offset")

    assert (code, out.splitlines()) == (0, OFFSET_FILES)


def test_patch_files_by_name(site: Path, run_folder: Path, invoke: Invoke) -> None:
    code, out, err = invoke("apply", run_folder / "patches" / NAMES[0], "--to", site)

    assert (code, out.splitlines()) == (0, OFFSET_FILES)
    assert f"patched with {NAMES[0]}\n" in err


def test_quiet_leaves_only_the_files(site: Path, run_folder: Path, invoke: Invoke) -> None:
    code, out, err = invoke("apply", run_folder, "--to", site, "-q")

    assert (code, err) == (0, "")
    assert set(OFFSET_FILES) < set(out.splitlines())


def test_another_version_is_refused(site: Path, tmp_path: Path, invoke: Invoke) -> None:
    before = state(site)

    code, out, err = invoke("apply", write_run(tmp_path / "run", version="0.20.1"), "--to", site)

    assert (code, out) == (4, "")
    assert err == (
        f"investigate: error: the patches are for vllm 0.20.1, and {site} holds 1.0\n"
        "  make patches for 1.0: investigate run --engine vllm==1.0\n"
    )
    assert state(site) == before


def test_an_edited_file_is_refused(site: Path, run_folder: Path, invoke: Invoke) -> None:
    with (site / OFFSET_FILES[0]).open("a") as file:
        file.write("# mine\n")
    before = state(site)

    code, _, err = invoke("apply", run_folder, "--to", site)

    assert code == 4
    assert f"{OFFSET_FILES[0]} is not the file that {NAMES[0]} was made for" in err
    assert state(site) == before


def test_twice_is_refused(site: Path, run_folder: Path, invoke: Invoke) -> None:
    invoke("apply", run_folder, "--to", site)
    before = state(site)

    code, _, err = invoke("apply", run_folder, "--to", site)

    assert code == 4
    assert "is patched already" in err
    assert state(site) == before


def test_regression_tests_go_to_a_checkout_not_to_an_installation(
    site: Path, tmp_path: Path, invoke: Invoke
) -> None:
    code, _, err = invoke("apply", write_run(tmp_path / "run", upstream=True), "--to", site)

    assert code == 4
    assert "git am" in err


def test_nothing_to_take_back(site: Path, invoke: Invoke) -> None:
    code, _, err = invoke("revert", "--from", site)

    assert code == 4
    assert err.startswith(f"investigate: error: nothing of vllm in {site} is patched\n")


def test_what_was_edited_since_stays(site: Path, run_folder: Path, invoke: Invoke) -> None:
    invoke("apply", run_folder, "--to", site)
    (site / OFFSET_FILES[0]).write_text("# mine\n")
    before = state(site)

    code, _, err = invoke("revert", "--from", site)

    assert code == 4
    assert f"{OFFSET_FILES[0]} was edited since it was patched" in err
    assert state(site) == before


def test_a_package_that_was_deleted_is_told(site: Path, run_folder: Path, invoke: Invoke) -> None:
    invoke("apply", run_folder, "--to", site)
    for path in sorted((site / "vllm").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    os.rmdir(site / "vllm")

    code, _, err = invoke("revert", "--from", site)

    assert code == 4
    assert "is gone (was the package uninstalled?)" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--to", "nowhere"], "nowhere is not a folder"),
        (["run", "--to", "run"], "run holds no vllm"),
        (["run", "--to", "python:/no/python"], "/no/python is no Python interpreter"),
        (["run", "--to", "env", "--only", "rope"], "there is no patch for rope in this run"),
        (["env", "--to", "env"], "env is no run folder: it holds no investigation.json"),
        (["nothing.patch", "--to", "env"], "nothing.patch cannot be read: No such file or directory"),
        (["run", "env", "--to", "env"], "run is a folder among patch files"),
        ([f"run/patches/{NAMES[0]}", "--to", "env", "--only", "rope"], "--only chooses among the patches"),
        (["run"], "Missing option '--to'"),
        (["--to", "env"], "Missing argument 'RUN|PATCH...'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_command_line_is_one_clear_error(
    site: Path, run_folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    arguments: list[str], said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    before = state(site)

    code, out, err = invoke("apply", *arguments)

    assert (code, out) == (2, "")
    assert said in err
    assert state(site) == before


@pytest.mark.parametrize(
    "document",
    [{"schema": 2}, {"patches": None}, {"patches": [3]}, {"sources": {}, "patches": []}, {"extra": []}],
    ids=str,
)
def test_a_record_of_another_shape_is_told(
    site: Path, run_folder: Path, invoke: Invoke, document: dict[str, object]
) -> None:
    rewrite(run_folder, **document)

    code, _, err = invoke("apply", run_folder, "--to", site)

    assert code == 2
    assert "Traceback" not in err


def test_a_patch_that_lies_on_another_needs_it(site: Path, tmp_path: Path, invoke: Invoke) -> None:
    folder = write_run(tmp_path / "run", order={NAMES[2]: [NAMES[1]]})

    code, _, err = invoke("apply", folder, "--to", site, "--only", "lookahead")

    assert code == 2
    assert "add --only cache-drop" in err


def test_a_contract_that_another_patch_repairs_too(site: Path, tmp_path: Path, invoke: Invoke) -> None:
    folder = write_run(tmp_path / "run", covered={"feature-width": "target-layer-offset"})

    code, out, _ = invoke("apply", folder, "--to", site, "--only", "feature-width")

    assert (code, out.splitlines()) == (0, OFFSET_FILES)


def test_a_patch_file_that_is_too_large_is_one_clear_error(
    site: Path, tmp_path: Path, invoke: Invoke
) -> None:
    bad = tmp_path / "bad.patch"
    with bad.open("wb") as file:
        file.truncate((20 << 20) + 1)

    code, _, err = invoke("apply", bad, "--to", site)

    assert code == 2
    assert "bad.patch is 20971521 bytes; the limit is 20971520" in err


def test_a_patch_leads_nowhere_else(site: Path, tmp_path: Path, invoke: Invoke) -> None:
    bad = tmp_path / "bad.patch"
    bad.write_text("--- a/vllm/../../x.py\n+++ b/vllm/../../x.py\n@@ -1 +1 @@\n-a\n+b\n")

    code, _, _ = invoke("apply", bad, "--to", site)

    assert code == 4
    assert not (tmp_path / "x.py").exists()


def test_patches_of_two_packages_are_put_on_one_after_the_other(
    site: Path, tmp_path: Path, invoke: Invoke
) -> None:
    before = state(site)
    for name in ("vllm", "sglang"):
        (tmp_path / f"{name}.patch").write_text(
            f"--- a/{name}/a.py\n+++ b/{name}/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
        )

    code, _, err = invoke("apply", tmp_path / "vllm.patch", tmp_path / "sglang.patch", "--to", site)

    assert code == 2
    assert "the patches touch sglang, vllm\n  name patches for one package" in err
    assert state(site) == before


def test_where_two_engines_are_patched_one_is_named(
    site: Path, run_folder: Path, tmp_path: Path, invoke: Invoke
) -> None:
    (site / "sglang").mkdir()
    (site / "sglang/__init__.py").touch()
    (site / "sglang/a.py").write_text("x = 1\n")
    (tmp_path / "x.patch").write_text("--- a/sglang/a.py\n+++ b/sglang/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n")
    assert invoke("apply", run_folder, "--to", site, "-q")[0] == 0
    assert invoke("apply", tmp_path / "x.patch", "--to", site, "-q")[0] == 0

    code, _, err = invoke("revert", "--from", site)

    assert code == 2
    assert f"sglang and vllm are patched there\n  name one: {site}/sglang" in err
    assert invoke("revert", "--from", site / "sglang")[0] == 0
    assert (site / "sglang/a.py").read_text() == "x = 1\n"
    assert invoke("revert", "--from", site)[0] == 0
