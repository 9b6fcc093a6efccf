"""The programs of an experiment folder, run as they are on the miniature engine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from investigator.validation.conductor import mirror
from tests.validation.conftest import conductor_environment, rewrite


def conduct(
    folder: Path, site: Path, *arguments: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(folder / "run.py"), *arguments],
        env=conductor_environment(site, **environment),
        capture_output=True,
        text=True,
        timeout=60,
    )


def results(folder: Path) -> dict[str, dict[str, Any]]:
    files = (folder / "results").glob("*.json")
    return {file.stem: json.loads(file.read_text()) for file in files}


def fresh(result: Mapping[str, Any]) -> Any:
    return result["passes"]["fresh"]


def test_every_variant_runs_on_its_own_overlay(folder: Path, site: Path) -> None:
    assert conduct(folder, site).returncode == 0
    accepted = {name: fresh(r)["counters"].get("accepted") for name, r in results(folder).items()}
    # Prompt p is [p, 2p, 3, 4] with sum 3p + 7. Without a window a token is accepted where
    # (sum + place) % 29 == 0; with it, (sum + place) % 3 or % 4 tokens.
    assert accepted["as-released"] == accepted["only-target-layer-offset"] == 12
    assert accepted["as-released"] < accepted["only-layer-types"] < accepted["all-repairs"]
    assert accepted["no-speculation"] is None


def test_the_installed_engine_stays_as_it_was(folder: Path, site: Path) -> None:
    before = {path: path.read_bytes() for path in site.rglob("*.py")}
    conduct(folder, site)
    assert {path: path.read_bytes() for path in site.rglob("*.py")} == before


def test_drafts_by_prompt_add_up_to_the_engines_own_counters(folder: Path, site: Path) -> None:
    conduct(folder, site, "--only", "all-repairs")
    run = fresh(results(folder)["all-repairs"])
    assert [row["prompt"] for row in run["prompts"]] == list(range(8))
    for name in ("drafts", "draft_tokens", "accepted"):
        assert sum(row[name] for row in run["prompts"]) == run["counters"][name]
    columns = zip(*(row["per_position"] for row in run["prompts"]), strict=True)
    assert [sum(column) for column in columns] == run["counters"]["per_position"]


def test_the_second_pass_finds_the_prompts_in_the_prefix_cache(folder: Path, site: Path) -> None:
    conduct(folder, site, "--only", "as-released")
    passes = results(folder)["as-released"]["passes"]
    assert (passes["fresh"]["counters"]["prefix_hits"], passes["reuse"]["counters"]["prefix_hits"]) == (0, 32)
    assert passes["reuse"]["counters"]["prefix_queries"] == 32


def test_an_option_that_the_release_does_not_know_is_left_out_and_said(folder: Path, site: Path) -> None:
    conduct(folder, site, "--only", "as-released")
    result = results(folder)["as-released"]
    assert result["notes"] == ["this release has no option seed"]
    assert "seed" not in result["options"]


def test_an_option_that_is_refused_by_name_is_tried_without(folder: Path, site: Path) -> None:
    rewrite(folder, options={"attention_backend": "FLASH_ATTN"})
    done = conduct(folder, site, "--only", "as-released", MINIATURE_REFUSES="attention_backend")
    assert '"retried"' in done.stdout
    result = results(folder)["as-released"]
    assert result["status"] == "done"
    assert "attention_backend was refused, so it was left out" in result["notes"]


def test_a_runner_without_the_method_is_a_refusal_with_its_reason(folder: Path, site: Path) -> None:
    done = conduct(folder, site, MINIATURE_NO_SPECULATION="1")
    assert done.returncode == 1
    found = results(folder)
    assert found["as-released"]["status"] == "refused"
    assert found["as-released"]["error"] == "NotImplementedError: this runner has no method 'dflash'"
    assert found["no-speculation"]["status"] == "done"


@pytest.mark.parametrize(
    ("first", "status", "said"),
    [
        (900, "out-of-memory", "CUDA out of memory"),
        (901, "died", "ended by signal 9"),
        (902, "hung", "still running after 2 s"),
    ],
)
def test_a_variant_that_goes_wrong_is_reported_and_the_rest_go_on(
    folder: Path, site: Path, first: int, status: str, said: str
) -> None:
    (folder / "prompts.json").write_text(json.dumps([[7, 1], [first, 1]]))
    document = json.loads((folder / "experiment.json").read_text())
    wrong, right = document["variants"][:2]
    wrong["time_limit"] = 2
    rewrite(folder, variants=[wrong, right], prompt_count=2)
    # The second variant has prompts of its own: only the first meets the one that does harm.
    harness = (folder / "harness.py").read_text()
    (folder / "harness.py").write_text(
        harness.replace(
            'prompts = json.loads((folder / experiment["prompts"]).read_text())',
            'prompts = json.loads((folder / experiment["prompts"]).read_text())'
            '[: 1 if variant["repaired"] else 2]',
        )
    )
    assert conduct(folder, site).returncode == 1
    found = results(folder)
    assert found[wrong["name"]]["status"] == status
    assert said in found[wrong["name"]]["error"]
    assert found[right["name"]]["status"] == "done"


def test_finished_variants_are_not_run_again(folder: Path, site: Path) -> None:
    conduct(folder, site, "--only", "as-released")
    mark = folder / "results" / "as-released.json"
    kept = json.loads(mark.read_text()) | {"notes": ["the first run's"]}
    mark.write_text(json.dumps(kept))
    done = conduct(folder, site)
    assert json.loads(done.stdout.splitlines()[0])["left"] == 4
    assert results(folder)["as-released"]["notes"] == ["the first run's"]


def none_left(pattern: str, within: float) -> bool:
    """Whether every process with this command line ends in ``within`` seconds: dying takes a moment."""
    end = time.monotonic() + within
    while subprocess.run(["pgrep", "-f", pattern], capture_output=True).stdout:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_a_conductor_that_is_killed_leaves_no_worker_and_is_gone_on_from(folder: Path, site: Path) -> None:
    (folder / "prompts.json").write_text(json.dumps([[902, 1]]))
    process = subprocess.Popen(
        [sys.executable, str(folder / "run.py")],
        env=conductor_environment(site),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while '"started"' not in process.stdout.readline():
        pass
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 128 + signal.SIGTERM
    process.stdout.close()
    assert none_left(str(folder / "harness.py"), within=10)
    (folder / "prompts.json").write_text(json.dumps([[1, 1]]))
    assert conduct(folder, site).returncode == 0


def test_an_engine_that_is_not_the_one_the_patches_were_made_for_is_not_overlaid(
    folder: Path, site: Path
) -> None:
    drafter = site / "vllm" / "models" / "drafter.py"
    drafter.write_text(drafter.read_text() + "\nEDITED = True\n")
    conduct(folder, site)
    found = results(folder)
    assert found["as-released"]["status"] == "done"
    assert found["all-repairs"]["status"] == "failed"
    assert found["all-repairs"]["error"] == (
        "no overlay: vllm/models/drafter.py is not the file that the patches were made for"
    )


def test_results_can_be_printed_for_places_whose_output_is_all_one_gets(folder: Path, site: Path) -> None:
    done = conduct(folder, site, "--only", "as-released", "--print-results")
    line = next(line for line in done.stdout.splitlines() if line.startswith("INVESTIGATE-RESULT "))
    assert json.loads(line.partition(" ")[2])["variant"] == "as-released"


def test_an_overlay_links_what_it_does_not_change(tmp_path: Path) -> None:
    package, patched = tmp_path / "package", tmp_path / "patched"
    (package / "inner" / "__pycache__").mkdir(parents=True)
    (package / "other").mkdir()
    for name in ("top.py", "inner/a.py", "inner/b.py", "inner/__pycache__/a.pyc", "other/c.py"):
        (package / name).write_text("old")
    (patched / "inner").mkdir(parents=True)
    (patched / "inner" / "a.py").write_text("new")
    (patched / "inner" / "added.py").write_text("new")
    mirror(package, patched, tmp_path / "overlay")
    made = {
        path.relative_to(tmp_path / "overlay").as_posix(): "link" if path.is_symlink() else path.read_text()
        for path in sorted((tmp_path / "overlay").rglob("*"))
        if path.is_symlink() or path.is_file()
    }
    assert made == {
        "inner/a.py": "new",
        "inner/added.py": "new",
        "inner/b.py": "link",
        "other": "link",
        "top.py": "link",
    }
    assert os.readlink(tmp_path / "overlay" / "other") == str(package / "other")
