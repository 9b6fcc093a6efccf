"""Training, on sizes that take seconds: the same seed gives the same bytes, and something is learnt."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the extra 'validate' is not installed")
torch.set_num_threads(1)  # many small steps: threads would only wait for each other
pytest.importorskip("tokenizers", reason="the extra 'validate' is not installed")
pytest.importorskip("safetensors", reason="the extra 'validate' is not installed")

from investigator.validation import train as training  # noqa: E402
from investigator.validation.fitting import Schedule  # noqa: E402
from investigator.validation.reference.checkpoints import load_pair  # noqa: E402
from investigator.validation.reference.generation import generate  # noqa: E402
from investigator.validation.specs import MICRO, PairSpec  # noqa: E402

SPEC = replace(
    MICRO, vocabulary=300, hidden=16, head_dim=8, heads=2, kv_heads=1, intermediate=24, target_layers=4,
    windows=(8, None), target_layer_ids=(0, 2), sequence=48, batch=4, blocks=4, corpus_bytes=120_000,
    target_steps=30, draft_steps=30,
)  # fmt: skip


def trained(out: Path, seed: int = 0, spec: PairSpec = SPEC) -> dict[str, bytes]:
    training.train(spec, out, seed, "cpu", None, None)
    return {f.parent.name: f.read_bytes() for f in out.rglob("*.safetensors")}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    one, again = trained(tmp_path / "one"), trained(tmp_path / "again")
    assert one == again
    assert trained(tmp_path / "other", seed=1)["draft"] != one["draft"]


def test_what_is_written_is_a_pair_that_runs(tmp_path: Path) -> None:
    trained(tmp_path, spec=replace(SPEC, target_steps=200, draft_steps=200))
    pair = load_pair(tmp_path / "target", tmp_path / "draft")
    assert generate(pair, [5, 6, 7, 8], 12).counters.drafts > 0
    assert json.loads((tmp_path / "draft" / "config.json").read_text()) == json.loads(
        json.dumps(SPEC.draft_config())
    )
    rows = [json.loads(line) for line in (tmp_path / "training.jsonl").read_text().splitlines()]
    losses = {row["stage"]: [] for row in rows if "stage" in row}
    stage = ""
    for row in rows:
        stage = row.get("stage", stage)
        if "loss" in row:
            losses[stage].append(row["loss"])
    # A uniform guess over 300 tokens costs ln 300 = 5.70.
    assert losses["target"][0] == pytest.approx(5.70, abs=0.1)
    assert losses["target"][-1] < 4.8
    assert losses["draft"][-1] < losses["draft"][0]


def test_a_drafter_alone_is_trained_for_a_target_that_is_there(tmp_path: Path) -> None:
    trained(tmp_path / "pair")
    training.train(SPEC, tmp_path / "more", 0, "cpu", None, tmp_path / "pair" / "target")
    assert not (tmp_path / "more" / "target").exists()
    one, more = (f / "draft" / "model.safetensors" for f in (tmp_path / "pair", tmp_path / "more"))
    assert one.read_bytes() == more.read_bytes()


def test_the_learning_rate_rises_and_falls() -> None:
    schedule = Schedule(steps=1100, peak=2e-3, warm_up=100)
    assert schedule.rate(0) == pytest.approx(2e-5)
    assert schedule.rate(100) == pytest.approx(2e-3)
    assert schedule.rate(600) == pytest.approx(2e-3 * (0.05 + 0.95 / 2))
    assert schedule.rate(1100) == pytest.approx(1e-4)
