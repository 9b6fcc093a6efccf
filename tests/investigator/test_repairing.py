"""A case's repairs: the same bytes in every run, tests where they are asked for, settings beside them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from investigator import repairing
from investigator.case import Case, EngineSpec, RepoSpec
from investigator.code.program import ParsedFiles
from investigator.conduct import Judgement, Repairs
from investigator.engines.registry import known
from investigator.events import ignore
from investigator.model import Finding, RemedyKind, Runner, Verdict
from investigator.patches import patch_bytes
from investigator.run import Gathered
from investigator.sources.text_tree import TextTree
from tests.patches import miniature
from tests.support.records import Shelf

CASE = Case(engine=EngineSpec.parse("path:toy"), draft=RepoSpec.parse("toy/draft"))
UPLOADED = datetime(2026, 4, 27, 8, 30, tzinfo=UTC)
SWITCH = """
    disable_last_drop: bool = False

    def drops(self) -> bool:
        return self.use_eagle() and not self.disable_last_drop
"""
FINDINGS = tuple(
    finding
    for contract in ("target-layer-offset", "cache-drop")
    for finding in miniature.fault(contract).findings
)


@pytest.fixture(autouse=True)
def the_toy_is_asked_by_running_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repairing, "ask_again", lambda *_: miniature.judge())


def repairs(
    findings: tuple[Finding, ...] = FINDINGS, *, days: int = 0, upstream: bool = False, **source: object
) -> Repairs:
    """The toy's repairs in a run that is ``days`` later."""
    files = {**miniature.FILES, "vllm/config/speculative.py": miniature.SPECULATIVE + SWITCH}
    tree = miniature.tree(files)
    read = tree.source.retrieved_at + timedelta(days=days)
    here = TextTree(
        replace(tree.source, retrieved_at=read, **source),  # type: ignore[arg-type]
        {path: tree.read(path) for path in tree.paths()},
    )
    gathered = Gathered(reports=(), checkpoint=miniature.checkpoint(), engine=here)
    judgement = Judgement(findings=findings, default_runner=Runner.V1)
    repair = repairing.repairer(known("vllm"), Shelf(), ParsedFiles(), upstream=upstream)
    return repair(CASE, gathered, judgement, ignore)


def test_patches_are_the_same_bytes_in_every_run() -> None:
    first, later = (repairs(days=days, released_at=UPLOADED).patches for days in (0, 30))

    assert [patch.contract for patch in first] == ["target-layer-offset", "cache-drop"]
    assert [patch_bytes(patch) for patch in first] == [patch_bytes(patch) for patch in later]
    assert b"\nDate: Mon, 27 Apr 2026 08:30:00 +0000\n" in patch_bytes(first[0])


def test_a_tree_without_a_date_gives_the_same_bytes_too() -> None:
    first, later = (repairs(days=days).patches[0] for days in (0, 30))

    assert patch_bytes(first) == patch_bytes(later)


def test_for_upstream_each_patch_brings_its_test() -> None:
    assert [patch.files[-1].partition("/")[0] for patch in repairs().patches] == ["vllm", "vllm"]
    assert [patch.files[-1] for patch in repairs(upstream=True).patches] == [
        "tests/v1/spec_decode/test_dflash_target_layer_ids.py",
        "tests/v1/spec_decode/test_last_matched_block.py",
    ]


def test_what_a_setting_avoids_is_said_beside_the_patches() -> None:
    made = repairs()

    (remedy,) = made.settings["cache-drop"]
    assert (remedy.kind, remedy.ref) == (
        RemedyKind.SETTING,
        """--speculative-config '{"disable_last_drop": true}'""",
    )
    (way,) = made.detours
    assert way["avoids"] == ("cache-drop",)
    assert way["leaves"] == ("target-layer-offset",)
    assert way["command"] == (
        "vllm serve TARGET --speculative-config '"
        '{"method": "dflash", "model": "toy/draft", "num_speculative_tokens": 7, "disable_last_drop": true}'
        "'"
    )


def test_sound_findings_need_nothing() -> None:
    sound = tuple(replace(finding, verdict=Verdict.HONOURED) for finding in FINDINGS)

    assert repairs(sound) == Repairs()
