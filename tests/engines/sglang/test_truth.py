"""Every release against the truth that was worked out by hand: published drafters and made-up ones.

The releases are read from the package index by ranges, into one store that all of them share.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from investigator.checkpoint import Checkpoint, ModelConfig
from investigator.checkpoints import model_config, read_checkpoint
from investigator.model import Json
from tests.support.eagle import eagle3_head, gpt_oss
from tests.support.made_up import Reading, shared_store
from tests.support.releases import FULL, MIXED, pair

pytestmark = pytest.mark.network

TRUTH = json.loads((Path(__file__).parents[2] / "truth" / "sglang.json").read_text())
RELEASES = tuple(dict.fromkeys(cell["release"] for table in TRUTH for cell in table["cells"]))
POINTED_AT = ("target-layer-offset", "layer-types", "in-block-causality", "cache-drop", "mask-token")
"""Contracts whose evidence must show the very lines that decided the reading by hand."""


def changed(config: ModelConfig, change: Mapping[str, Json]) -> ModelConfig:
    """A config with other values; a nested object keeps the keys that are not named."""
    raw = dict(config.raw)
    for key, value in change.items():
        before = raw.get(key)
        raw[key] = (
            {**before, **value} if isinstance(before, Mapping) and isinstance(value, Mapping) else value
        )
    return model_config(
        raw, repo=config.repo, revision=config.revision, source=config.source, complete=config.complete
    )


def text_only(config: ModelConfig) -> ModelConfig:
    """The text model of a vision-language target, as a target of its own."""
    text = config.raw["text_config"]
    assert isinstance(text, Mapping)
    raw = {**text, "architectures": ["Qwen3_5ForCausalLM"]}
    return model_config(
        raw, repo=config.repo, revision=config.revision, source=config.source, complete=config.complete
    )


def case(number: int) -> Checkpoint:
    """The drafter and target of one table."""
    mixed = pair(MIXED)
    assert mixed.target is not None
    match number:
        case 0:
            return mixed
        case 1:
            return pair(FULL)
        case 2 | 3 | 4:
            return read_checkpoint(changed(mixed.draft, TRUTH[number]["change"]), mixed.target)
        case 5:
            return read_checkpoint(mixed.draft, text_only(mixed.target))
        case 6:
            return read_checkpoint(eagle3_head(ids=[2, 12, 24]), gpt_oss())
        case 7:
            return read_checkpoint(eagle3_head(ids=[2, 12, 24], norm_before_fc=True), gpt_oss())
    raise AssertionError(number)


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    """One reading for all releases that a test process is given; the processes share the store."""
    return Reading(shared_store(tmp_path_factory))


def otherwise(reading: Reading, release: str, number: int) -> list[str]:
    """What is found of a release in the case of one table that was not read so by hand."""
    row, table, wrong = reading.row("sglang", release, case(number)), TRUTH[number], []
    found = {cell.contract: cell for cell in row.cells}
    for cell in (*table["cells"], *table["debatable"]):
        if cell["release"] != release:
            continue
        got = found[cell["contract"]]
        if got.verdict.value not in cell.get("verdicts", [cell.get("verdict")]):
            wrong.append(f"{number} {cell}: {got.verdict.value}, {got.why}")
        elif cell.get("verdict") == "broken" and cell["contract"] in POINTED_AT:
            path, _, line = cell["place"].rpartition(":")
            shown = [
                evidence.path == f"sglang/srt/{path}" and abs(evidence.line - int(line)) <= 2
                for evidence in got.evidence
            ]
            if not any(shown):
                wrong.append(f"{number} {cell}: shows {[f'{e.path}:{e.line}' for e in got.evidence]}")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_a_release_does_what_was_read_by_hand(release: str, reading: Reading) -> None:
    assert [wrong for number in range(len(TRUTH)) for wrong in otherwise(reading, release, number)] == []


def test_so_does_the_newest_in_every_run(reading: Reading) -> None:
    """With the drafter that asks the most, whose target hands over features of a hybrid model."""
    assert otherwise(reading, RELEASES[-1], 0) == []


def test_the_truth_covers_what_it_says() -> None:
    assert len(RELEASES) == 13
    assert (RELEASES[0], RELEASES[-1]) == ("0.5.11", "0.5.23")
    assert len(TRUTH) == 8
