"""A regression test for upstream fails before its patch and passes after it: run on the toy."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from investigator.patches import generate, patch_bytes
from investigator.patches.git import applied
from tests.patches import miniature
from tests.patches.miniature import FILES

CONTRACTS = ["target-layer-offset", "layer-types", "cache-drop", "lookahead"]


def run(root: Path, test: str) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        check=False,
    )
    return done.returncode


@pytest.mark.parametrize(
    ("contract", "test"),
    [
        ("target-layer-offset", "tests/v1/spec_decode/test_dflash_target_layer_ids.py"),
        ("cache-drop", "tests/v1/spec_decode/test_last_matched_block.py"),
    ],
)
def test_it_fails_before_and_passes_after(tmp_path: Path, contract: str, test: str) -> None:
    series = generate(
        miniature.tree(),
        [miniature.fault(contract) for contract in CONTRACTS],
        miniature.judge(),
        engine="toy",
        when=datetime(2026, 4, 27, tzinfo=UTC),
        upstream=True,
    )
    patch = next(patch for patch in series.patches if patch.contract == contract)
    assert patch.files[-1] == test
    after = applied(patch_bytes(patch), {path: FILES[path].encode() for path in patch.files if path in FILES})
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / test).parent.mkdir(parents=True)
    (tmp_path / test).write_bytes(after[test])
    assert run(tmp_path, test) == 1
    for path, content in after.items():
        (tmp_path / path).write_bytes(content)
    assert run(tmp_path, test) == 0


def test_one_commit_per_contract_and_each_with_its_own_test() -> None:
    series = generate(
        miniature.tree(),
        [miniature.fault(contract) for contract in CONTRACTS],
        miniature.judge(),
        engine="toy",
        when=datetime(2026, 4, 27, tzinfo=UTC),
        upstream=True,
    )
    tests = {
        patch.contract: [path for path in patch.files if path.startswith("tests/")]
        for patch in series.patches
    }
    assert {contract: len(found) for contract, found in tests.items()} == {
        "target-layer-offset": 1, "layer-types": 0, "cache-drop": 1, "lookahead": 0
    }  # fmt: skip
    assert series.together is not None
    assert len(series.together.repaired) == 4
