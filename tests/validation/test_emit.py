import json
from dataclasses import replace
from pathlib import Path

import pytest

from investigator.errors import PatchError, UsageError
from investigator.sources.folder import open_folder
from investigator.validation.emit import Experiment, Repair, as_json, emit, patched, read_variants
from tests.validation.conftest import TAP


def test_overlays_hold_only_the_patched_files_of_their_variant(folder: Path) -> None:
    made = {p.relative_to(folder / "overlays").as_posix() for p in (folder / "overlays").rglob("*.py")}
    assert made == {
        f"{variant}/vllm/models/drafter.py"
        for variant in ("all-repairs", "only-target-layer-offset", "only-layer-types", "no-speculation")
    }
    first = (folder / "overlays" / "all-repairs" / "vllm" / "models" / "drafter.py").read_text()
    assert first.startswith("TAP = 1\nWINDOW = 64\n")


def test_the_folder_needs_nothing_of_this_project(folder: Path) -> None:
    programs = sorted([folder / "run.py", folder / "harness.py", *(folder / "reference").glob("*.py")])

    assert [path.stem for path in programs if path.parent.name == "reference"] == [
        "__init__", "__main__", "checkpoints", "decoder", "drafter", "generation", "semantics",
    ]  # fmt: skip
    for path in programs:
        assert "import investigator" not in path.read_text()
        assert "from investigator" not in path.read_text()


def test_variants_are_read_back_as_they_were_written(experiment: Experiment) -> None:
    assert read_variants(as_json(experiment, {})) == experiment.plan.variants


def test_there_is_room_for_a_draft_past_the_last_token(experiment: Experiment) -> None:
    # 4 prompt tokens, 40 new ones, and four blocks of 8.
    assert as_json(experiment, {})["max_model_len"] == 4 + 40 + 32


def test_the_files_that_patches_were_made_for_are_pinned(folder: Path, site: Path) -> None:
    import hashlib

    before = json.loads((folder / "experiment.json").read_text())["before"]
    drafter = (site / "vllm" / "models" / "drafter.py").read_bytes()
    assert before == {"vllm/models/drafter.py": hashlib.sha256(drafter).hexdigest()}


def test_a_folder_that_is_not_empty_is_left_alone(experiment: Experiment, site: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep")
    with pytest.raises(UsageError, match="is not empty"):
        emit(experiment, tmp_path, open_folder(site, "vllm"))


def test_patches_that_do_not_go_together_are_named(site: Path, repairs: tuple[Repair, ...]) -> None:
    twice = replace(repairs[0], contract="again", name="0009-again.patch", content=TAP)
    with pytest.raises(
        PatchError, match=r"0009-again.patch does not apply in the combination .*offset, again"
    ):
        patched(open_folder(site, "vllm"), [repairs[0], twice])
