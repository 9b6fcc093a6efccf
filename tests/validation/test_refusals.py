"""What a validation cannot be made of is one clear error, on machines that have the extras and on others."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from investigator.errors import IncompleteError, UsageError
from investigator.validation import conclusion, cpu_engine, prompts
from investigator.validation.conductor import engine_package, overlay
from investigator.validation.extras import TRAINING
from investigator.validation.from_run import read_run
from investigator.validation.launchers.local import LocalLauncher
from investigator.validation.launchers.ray import RayLauncher
from investigator.validation.launchers.slurm import SlurmLauncher
from investigator.validation.launchers.ssh import SshLauncher
from investigator.validation.pair import Pair, resolve_pair, train_in_process
from investigator.validation.prompts import make_prompts, read_prompts
from investigator.validation.specs import TINY
from tests.validation.conftest import rewrite

HUB = Pair(name="draft", target="someone/target", draft="someone/draft", local=False)
SPEC = replace(TINY, name="no-such-pair")


def pretend(folder: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> None:
    """Let these modules be importable, whether or not the real ones are."""
    for name, text in modules.items():
        (folder / "pretended" / name).mkdir(parents=True)
        (folder / "pretended" / name / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder / "pretended"))


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


# -- pairs and prompts -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [("[]", "holds no object"), ("{", "cannot read"), (" " * 200, "is larger than 100 bytes")],
)
def test_a_folder_whose_config_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setattr("investigator.validation.pair.MAX_CONFIG_BYTES", 100)
    for name in ("target", "draft"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(text)

    with pytest.raises(UsageError, match=said):
        _ = resolve_pair(f"{tmp_path / 'target'},{tmp_path / 'draft'}", tmp_path, train=None).block_size


def test_a_cache_that_takes_no_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path, monkeypatch, **dict.fromkeys(TRAINING, ""))

    with pytest.raises(IncompleteError, match="no pair can be kept in /proc/nothing") as caught:
        train_in_process(SPEC, Path("/proc/nothing/pair"))

    assert caught.value.advice == "name a folder with --cache-dir or INVESTIGATE_CACHE_DIR"


def test_a_training_that_fails_leaves_no_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path, monkeypatch, **dict.fromkeys(TRAINING, ""))

    with pytest.raises(IncompleteError, match=r"training the no-such-pair pair ended with code [12]"):
        train_in_process(SPEC, tmp_path / "pair")

    assert not (tmp_path / "pair").exists()


TOKENIZERS = """
class Tokenizer:
    @classmethod
    def from_file(cls, path):
        return cls()

    def encode_batch(self, texts, add_special_tokens):
        return [type("Encoding", (), {"ids": [1, 2, 3]}) for _ in texts]
"""


def test_prompts_need_a_tokenizer_and_enough_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path, monkeypatch, tokenizers=TOKENIZERS)
    monkeypatch.delitem(sys.modules, "tokenizers", raising=False)
    pair = Pair(name="own", target=str(tmp_path), draft=str(tmp_path), local=True)

    with pytest.raises(UsageError, match=r"has no tokenizer\.json") as caught:
        make_prompts(pair, 2, 3)
    assert caught.value.advice == "give --prompts with token ids"

    (tmp_path / "tokenizer.json").write_text("{}")
    assert make_prompts(pair, 2, 3) == [[1, 2, 3], [1, 2, 3]]
    with pytest.raises(UsageError, match="some prompts are shorter than 4 tokens"):
        make_prompts(pair, 2, 4)


def test_a_tokenizer_that_the_hub_does_not_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise OSError("offline")

    pretend(tmp_path, monkeypatch, tokenizers=TOKENIZERS)
    monkeypatch.delitem(sys.modules, "tokenizers", raising=False)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", refuse)

    with pytest.raises(IncompleteError, match=r"the tokenizer of someone/target cannot be had: OSError"):
        make_prompts(HUB, 2, 3)


def test_a_file_of_prompts_over_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "MAX_PROMPT_FILE", 7)
    (tmp_path / "prompts.json").write_text("[[1, 2]]")

    with pytest.raises(UsageError, match=r"prompts\.json is larger than 7 bytes"):
        read_prompts(tmp_path / "prompts.json", HUB)


# -- folders -----------------------------------------------------------------------------


def test_a_run_over_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("investigator.validation.from_run.MAX_INVESTIGATION_BYTES", 1)
    (tmp_path / "investigation.json").write_text("{}")

    with pytest.raises(UsageError, match=r"investigation\.json is larger than 1 bytes"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": 2}, "is of another version"),
        ({"variants": {}}, "experiment.json names no variants"),
        ({"variants": [{"name": "x"}]}, "is not as it was written: it has no 'kind'"),
        ({"engine": []}, "is not as it was written"),
        ({"broken": [1]}, "is not as it was written: it has another shape (a list of names was expected)"),
        ({"cut": "x"}, "is not as it was written: it has another shape (a list of names was expected)"),
    ],
)
def test_an_experiment_that_was_edited(folder: Path, changes: dict[str, object], said: str) -> None:
    rewrite(folder, **changes)

    with pytest.raises(UsageError) as caught:
        conclusion.collect(folder)

    assert said in str(caught.value)
    assert caught.value.advice


def test_an_engine_that_is_not_there_or_is_another_one(folder: Path) -> None:
    experiment = json.loads((folder / "experiment.json").read_text())
    experiment["engine"]["package"] = "no_such_engine"
    patched = next(variant for variant in experiment["variants"] if variant.get("overlay"))

    with pytest.raises(FileNotFoundError, match="no_such_engine is not importable with"):
        engine_package("no_such_engine")
    with pytest.raises(FileNotFoundError, match="no_such_engine is not importable with"):
        overlay(folder, experiment, patched)

    experiment["engine"]["package"] = "investigator"
    with pytest.raises(ValueError, match=r"drafter\.py is not the file that the patches were made for"):
        overlay(folder, experiment, patched)


def test_an_environment_that_pip_does_not_make(tmp_path: Path) -> None:
    pip = program(tmp_path / "python", "echo 'ERROR: no matching distribution' >&2; exit 1")

    with pytest.raises(IncompleteError, match=r"pip install failed with Python 3\.\d+: ERROR: no") as caught:
        cpu_engine._pip(pip, "install", "x")
    assert "--python" in caught.value.advice

    with pytest.raises(IncompleteError, match="no environment can be made in /proc/nothing") as caught:
        cpu_engine.cpu_environment(Path("/proc/nothing"), lambda line: None)
    assert "--cache-dir" in caught.value.advice


# -- places ------------------------------------------------------------------------------


def test_a_local_experiment_that_breaks_off(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("print('half way'); raise SystemExit(7)")

    with pytest.raises(IncompleteError, match="the experiment ended with code 7: half way"):
        LocalLauncher().run(tmp_path, ["as-released"], lambda line: None)


def test_an_interrupt_ends_a_local_experiment(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("import time; print('begun', flush=True); time.sleep(60)")

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LocalLauncher().run(tmp_path, ["as-released"], interrupt)


def test_without_ssh_it_is_said_what_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))

    with pytest.raises(IncompleteError, match="there is no ssh on this machine") as caught:
        SshLauncher(host="me@gpu").run(folder, ["as-released"], lambda line: None)

    assert caught.value.advice == "install an OpenSSH client"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (2, "the experiment on me@gpu ended with code 2: no python"),
        (255, "the run on me@gpu broke off 2 times"),
    ],
)
def test_an_experiment_elsewhere_that_breaks_off(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str
) -> None:
    """The stand-in takes what is sent, and fails where the conductor is started."""
    program(
        tmp_path / "bin" / "ssh",
        f'case "$*" in *run.py*) echo no python; exit {code};; *umask*) cat > /dev/null;; *) exit 1; esac',
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    with pytest.raises(IncompleteError) as caught:
        SshLauncher(host="me@gpu", pauses=(0.0,)).run(folder, ["as-released"], lambda line: None)

    assert str(caught.value) == said


def test_without_a_cluster_it_is_said_what_is_missing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = "class JobSubmissionClient:\n    def __init__(self, address): raise ConnectionError(address)\n"
    pretend(tmp_path, monkeypatch, submitit="", ray="")
    (tmp_path / "pretended/ray/job_submission.py").write_text(client)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(IncompleteError, match="there is no sbatch on this machine"):
        SlurmLauncher().run(folder, ["as-released"], lambda line: None)
    with pytest.raises(IncompleteError, match="no Ray cluster answers at head:8265: http://head:8265"):
        RayLauncher(address="head:8265").run(folder, ["as-released"], lambda line: None)
