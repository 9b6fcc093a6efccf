"""What is missing is named with the extra that brings it, before anything is begun."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from investigator.errors import IncompleteError
from investigator.validation import extras, service
from investigator.validation.launchers.interface import Destination
from investigator.validation.launchers.ray import RayLauncher
from investigator.validation.launchers.slurm import SlurmLauncher
from investigator.validation.pair import resolve_pair, train_in_process
from investigator.validation.prompts import make_prompts
from investigator.validation.specs import TINY

ROOT = Path(__file__).parents[2]


def submit_to_ray(folder: Path) -> None:
    RayLauncher(address="127.0.0.1:1").run(folder, ["as-released"], print)


def submit_to_slurm(folder: Path) -> None:
    SlurmLauncher().run(folder, ["as-released"], print)


def train(folder: Path) -> None:
    train_in_process(TINY, folder / "tiny")


def prompts(folder: Path) -> None:
    make_prompts(resolve_pair("micro", folder, train=None), 1, 8)


def measure_here(folder: Path) -> None:
    pair = resolve_pair("micro", folder, train=None)
    service.launcher_of(service.Request(pair=pair, on=Destination.parse("cpu")), folder, print)


@pytest.mark.parametrize(
    ("begin", "gone", "said", "extra"),
    [
        (submit_to_ray, ["ray"], "a Ray cluster needs ray,", "ray"),
        (submit_to_slurm, ["submitit"], "a Slurm cluster needs submitit,", "slurm"),
        (train, ["torch", "tokenizers"], "training the tiny pair needs torch and tokenizers,", "validate"),
        (prompts, ["tokenizers"], "making prompts needs tokenizers,", "validate"),
        (measure_here, ["torch"], "the reference on this machine needs torch,", "validate"),
    ],
)
def test_what_is_missing_is_named_with_its_extra(
    begin: Callable[[Path], None],
    gone: list[str],
    said: str,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda module: None if module in gone else module)

    with pytest.raises(IncompleteError) as caught:
        begin(tmp_path)

    assert str(caught.value) == f"{said} not installed in this environment"
    assert caught.value.advice == f"pip install 'drafter-investigator[{extra}]'"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("extra", "imported"),
    [("validate", set(extras.TRAINING)), ("ray", {"ray"}), ("slurm", {"submitit"})],
)
def test_each_extra_brings_what_is_looked_for(extra: str, imported: set[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    brought = {text.partition(">=")[0].partition("[")[0] for text in project["optional-dependencies"][extra]}
    assert brought == imported
