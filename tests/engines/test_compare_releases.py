"""Two real engines side by side: the differences that were worked out by reading both."""

import json
from pathlib import Path
from typing import Any

import pytest

from investigator import cli
from tests.support.made_up import shared_store

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_store(tmp_path_factory)


def compared(one: str, two: str, store: Path, out: Path) -> dict[tuple[str, str | None], Any]:
    """What the command finds of the default drafter: (contract, runner where not in use) -> row."""
    file = out / "compared.json"
    code = cli.invoke(
        ["compare", one, two, "--format", "json", "--out", str(file), "--cache-dir", str(store)]
    )
    assert code in (0, 1)
    rows = json.loads(file.read_text())["contracts"]
    return {
        (row["contract"], None if row["in_use"] else (row["a"] or row["b"])["runner"]): row for row in rows
    }


def refs(row: dict[str, Any]) -> set[str]:
    return {setting["ref"] for setting in row["settings"]}


def functions(row: dict[str, Any]) -> set[str]:
    return {change["function"] for change in row["changes"]}


def test_what_changed_for_a_mixed_drafter_from_0_27_1_to_0_28_0(store: Path, tmp_path: Path) -> None:
    rows = compared("vllm==0.27.1", "vllm==0.28.0", store, tmp_path)

    # Every promise is kept, or not, as before ...
    assert [key for key, row in rows.items() if row["differs"]] == []
    # ... two in another way: hybrid targets get a prefix cache by default from 0.28.0 on, which wakes
    # the dropped blocks up, and the draft's rotation is taken from its target.
    changed = {contract for (contract, _), row in rows.items() if row["a"]["why"] != row["b"]["why"]}
    assert changed == {"cache-drop", "rope"}
    drop, rope = rows["cache-drop", None], rows["rope", None]
    assert (drop["a"]["verdict"], drop["a"]["live"], drop["b"]["live"]) == ("broken", False, True)
    assert "EngineArgs._set_default_chunked_prefill_and_prefix_caching_args" in functions(drop)
    assert "--no-enable-prefix-caching" in refs(drop)
    assert (rope["a"]["verdict"], rope["b"]["verdict"]) == ("honoured", "honoured")
    assert "load_dflash_model" in functions(rope)


def test_one_drafter_on_vllm_0_26_0_and_on_sglang_0_5_16(store: Path, tmp_path: Path) -> None:
    rows = compared("vllm==0.26.0", "sglang==0.5.16", store, tmp_path)

    differs = {
        contract: (row["a"]["verdict"], row["b"]["verdict"], refs(row))
        for (contract, _), row in rows.items()
        if row["differs"]
    }
    # SGLang's algorithm is none of EAGLE's for its radix cache, and takes its drafts from block_size.
    assert differs == {
        "cache-drop": ("broken", "honoured", {"--no-enable-prefix-caching"}),
        "config-coverage": (
            "partial",
            "honoured",
            {"""--speculative-config '{"num_speculative_tokens": 15}'"""},
        ),
    }
    # vLLM frees what a sliding layer no longer sees, SGLang keeps all of the context.
    kept = rows["kv-retention", None]
    assert (kept["a"]["verdict"], kept["b"]["verdict"]) == ("honoured", "honoured")
    assert "2047" in kept["a"]["why"]
    assert "everything is kept" in kept["b"]["why"]


def test_the_release_that_reads_a_drafters_windows(store: Path, tmp_path: Path) -> None:
    rows = compared("sglang==0.5.13", "sglang==0.5.14", store, tmp_path)

    differs = {contract for (contract, _), row in rows.items() if row["differs"]}
    assert differs == {"layer-types", "in-block-causality", "config-coverage"}
    assert functions(rows["layer-types", None]) == {"DFlashAttention.__init__"}


def test_the_release_that_keeps_the_last_block(store: Path, tmp_path: Path) -> None:
    rows = compared("vllm==0.32.0", "vllm==0.33.0", store, tmp_path)

    assert [key for key, row in rows.items() if row["differs"]] == [("cache-drop", None)]
    drop = rows["cache-drop", None]
    assert "SpeculativeConfig.needs_eagle_block_drop" in functions(drop)
    assert """--speculative-config '{"disable_eagle_block_drop": true}'""" in refs(drop)
