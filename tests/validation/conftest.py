"""A small experiment on the miniature engine, and a pair of a few kilobytes."""

import json
import os
import sys
from pathlib import Path

import pytest

from investigator.sources.folder import open_folder
from investigator.validation.emit import Experiment, Repair, emit
from investigator.validation.pair import Pair
from investigator.validation.plan import GPU, GPU_REFERENCE, Kind, Workload, engine_variants, make_plan

MINIATURE = Path(__file__).parent / "miniature"

TAP = (
    b"diff --git a/vllm/models/drafter.py b/vllm/models/drafter.py\n"
    b"--- a/vllm/models/drafter.py\n"
    b"+++ b/vllm/models/drafter.py\n"
    b"@@ -1,3 +1,3 @@\n-TAP = 0\n+TAP = 1\n WINDOW = None\n \n"
)
WINDOW = (
    b"diff --git a/vllm/models/drafter.py b/vllm/models/drafter.py\n"
    b"--- a/vllm/models/drafter.py\n"
    b"+++ b/vllm/models/drafter.py\n"
    b"@@ -2,3 +2,3 @@\n-WINDOW = None\n+WINDOW = 64\n \n \n"
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the miniature engine, as a site folder would hold it."""
    import shutil

    folder = tmp_path / "site"
    shutil.copytree(MINIATURE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def repairs() -> tuple[Repair, ...]:
    return (
        Repair(contract="target-layer-offset", name="0001-target-layer-offset.patch", content=TAP),
        Repair(contract="layer-types", name="0002-layer-types.patch", content=WINDOW),
    )


@pytest.fixture
def experiment(repairs: tuple[Repair, ...]) -> Experiment:
    """Two repairs on the miniature engine: five variants over eight prompts."""
    pair = Pair(name="none", target="someone/target", draft="someone/draft", local=False)
    work = Workload(prompts=8, prompt_tokens=4, new_tokens=40, weight_bytes=0, speculative_tokens=7)
    variants = engine_variants([repair.contract for repair in repairs], reference=False)
    return Experiment(
        plan=make_plan(variants, work, {Kind.ENGINE: GPU, Kind.REFERENCE: GPU_REFERENCE}),
        pair=pair,
        prompts=[[p, 2 * p, 3, 4] for p in range(1, 9)],
        new_tokens=40,
        engine="vllm==0.0",
        repairs=repairs,
        time_limit=20,
    )


@pytest.fixture
def folder(experiment: Experiment, site: Path, tmp_path: Path) -> Path:
    """The experiment as a folder."""
    return emit(experiment, tmp_path / "experiment", open_folder(site, "vllm"))


def rewrite(folder: Path, **changes: object) -> None:
    """Change some fields of a folder's ``experiment.json``."""
    file = folder / "experiment.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def conductor_environment(site: Path, **more: str) -> dict[str, str]:
    """An environment in which the miniature engine is importable."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), **more}


def python() -> str:
    return sys.executable
