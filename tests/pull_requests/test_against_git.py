"""A short run of the campaign against ``git apply``: sound diffs and spoilt ones."""

import random
import shutil
from pathlib import Path

import pytest

from tests.campaigns import diffs


@pytest.mark.skipif(shutil.which("git") is None, reason="git, whose word is compared, is not installed")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_applied_is_what_git_applies(seed: int, tmp_path: Path) -> None:
    sandbox, chance = diffs.Sandbox(tmp_path), random.Random(seed)

    results = [diffs.compared(sandbox, *diffs.case(sandbox, chance)) for _ in range(25)]

    assert [result for result in results if result.startswith("FIND")] == []
    assert "applied alike" in results
    assert "both refuse" in results
