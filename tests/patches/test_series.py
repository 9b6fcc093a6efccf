"""From findings to files: numbered, proven alone, in pairs and together, or refused with a reason."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes
from pathlib import Path

from investigator.model import Evidence, Json, Verdict
from investigator.patches.combination import patch_bytes
from investigator.patches.git import applied
from investigator.patches.letter import Letter
from investigator.patches.repairs import REPAIRS
from investigator.patches.series import Series, first_failure, generate
from investigator.sources.interface import Tree
from investigator.sources.overlay_tree import PatchedTree
from investigator.sources.text_tree import TextTree
from tests.patches import miniature
from tests.patches.miniature import FILES, SCHEDULER
from tests.patches.test_diff import git

WHEN = datetime(2026, 4, 27, tzinfo=UTC)
FOUR = ["lookahead", "cache-drop", "target-layer-offset", "layer-types"]


def made(tree: TextTree | None = None, contracts: list[str] | None = None, **keys: Json) -> Series:
    faults = [miniature.fault(contract, **keys) for contract in contracts or FOUR]
    ask = miniature.judge(miniature.checkpoint(**keys))
    return generate(tree or miniature.tree(), faults, ask, engine="vllm 0", when=WHEN)


def test_the_patches_are_numbered_in_the_order_of_the_repairs() -> None:
    series = made()
    assert [patch.name for patch in series.patches] == [
        "0001-target-layer-offset.patch",
        "0002-layer-types.patch",
        "0003-cache-drop.patch",
        "0004-lookahead.patch",
    ]
    assert series.refused == ()
    assert [patch.proof.repaired for patch in series.patches] == [
        ("target-layer-offset/v1",), ("layer-types/v1",), ("cache-drop",), ("lookahead",)
    ]  # fmt: skip
    assert all(p.proof.applies and p.proof.reverses and p.proof.parses for p in series.patches)
    assert not any(patch.proof.worse for patch in series.patches)


def test_each_pair_and_all_together_hold() -> None:
    series = made()
    assert first_failure(series) is None
    assert len(series.pairs) == 6
    assert all(pair.commute for pair in series.pairs)
    assert series.together is not None
    assert set(series.together.repaired) == {
        "target-layer-offset/v1", "layer-types/v1", "cache-drop", "lookahead"
    }  # fmt: skip
    json.dumps(series.as_json())


def test_git_am_takes_the_series_and_the_toy_keeps_its_promises(tmp_path: Path) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "start")
    series = made()
    for patch in series.patches:
        git(tmp_path, "am", stdin=patch_bytes(patch))
    subjects = git(tmp_path, "log", "--reverse", "--format=%s").decode().split("\n")[1:-1]
    assert subjects == [REPAIRS[patch.contract].subject for patch in series.patches]
    after = TextTree(miniature.tree().source, {path: (tmp_path / path).read_bytes() for path in FILES})
    verdicts = miniature.judge()(after)
    assert {q[0]: v for q, v in verdicts.items() if q[0] in FOUR} == dict.fromkeys(FOUR, Verdict.HONOURED)
    for patch in reversed(series.patches):
        git(tmp_path, "apply", "-R", stdin=patch_bytes(patch))
    assert {path: (tmp_path / path).read_text() for path in FILES} == dict(FILES)


def test_the_same_engine_gives_the_same_files() -> None:
    assert made().patches == made().patches


def test_what_the_code_does_not_need_is_not_written() -> None:
    series = made()
    files: dict[str, bytes] = {}
    tree = miniature.tree()
    for patch in series.patches:
        files |= applied(patch_bytes(patch), {path: files.get(path, tree.read(path)) for path in patch.files})
    again = generate(
        PatchedTree(tree, dict(files)),
        [miniature.fault(contract) for contract in FOUR],
        miniature.judge(),
        engine="vllm 0",
        when=WHEN,
    )
    assert again.patches == ()
    assert {refusal.reason for refusal in again.refused} == {
        "the code is already as the repair would make it"
    }


def test_a_repair_that_another_one_brings_along_is_covered() -> None:
    """The toy's judge says that windowed layers are causal as soon as they have their window."""
    ask = miniature.judge()

    def with_causality(tree: Tree) -> miniature.Verdicts:
        verdicts = ask(tree)
        return {**verdicts, miniature.CAUSALITY: verdicts[miniature.TYPES]}

    faults = [miniature.fault("in-block-causality"), miniature.fault("layer-types")]
    series = generate(miniature.tree(), faults, with_causality, engine="vllm 0", when=WHEN)
    assert [patch.contract for patch in series.patches] == ["layer-types"]
    assert (series.refused, series.covered) == ((), {"in-block-causality": "layer-types"})


def test_edits_that_repair_nothing_are_refused() -> None:
    series = generate(
        miniature.tree(),
        [miniature.fault("lookahead")],
        lambda tree: {miniature.LOOKAHEAD: Verdict.BROKEN},
        engine="vllm 0",
        when=WHEN,
    )
    (refusal,) = series.refused
    assert refusal.reason == "asked again after the edits, the answer is lookahead broken"
    assert series.patches == ()


def test_edits_that_hurt_another_promise_are_refused() -> None:
    def ask(tree: Tree) -> miniature.Verdicts:
        patched = b"+ 1" in tree.read("vllm/v1/core/sched/scheduler.py")
        return {
            miniature.LOOKAHEAD: Verdict.HONOURED if patched else Verdict.BROKEN,
            miniature.DROP: Verdict.UNKNOWN if patched else Verdict.HONOURED,
        }

    series = generate(miniature.tree(), [miniature.fault("lookahead")], ask, engine="vllm 0", when=WHEN)
    assert series.patches == ()
    assert series.refused[0].reason == "the edits make cache-drop worse"


def test_patches_that_undo_each_other_do_not_stay_together() -> None:
    """Each alone is fine; with both in, the judge finds one promise broken again."""
    judge = miniature.judge()

    def ask(tree: Tree) -> miniature.Verdicts:
        verdicts = judge(tree)
        both = verdicts[miniature.DROP] is verdicts[miniature.LOOKAHEAD] is Verdict.HONOURED
        return {**verdicts, miniature.LOOKAHEAD: Verdict.BROKEN} if both else verdicts

    faults = [miniature.fault("cache-drop"), miniature.fault("lookahead")]
    series = generate(miniature.tree(), faults, ask, engine="vllm 0", when=WHEN)
    assert [patch.contract for patch in series.patches] == ["cache-drop"]
    (refusal,) = series.refused
    assert (refusal.contract, refusal.reason) == (
        "lookahead", "together with 0001-cache-drop.patch not everything stays repaired"
    )  # fmt: skip
    assert series.pairs == ()


def test_neighbouring_repairs_are_stacked_in_a_stated_order(tmp_path: Path) -> None:
    """Without the lines between them, the two scheduler patches share their context."""
    close = SCHEDULER.replace("        # One manager serves every group.\n        self.waiting = []\n", "")
    series = made(miniature.tree(scheduler=close), ["cache-drop", "lookahead"])
    first, second = series.patches
    assert series.order == {second.name: (first.name,)}
    assert "Applies on top of 0001-cache-drop.patch." in second.text
    assert first_failure(series) is None
    (pair,) = series.pairs
    assert (pair.commute, pair.repaired) == (False, ("cache-drop", "lookahead"))


def test_bytes_that_are_not_utf8_survive_in_the_context() -> None:
    latin = SCHEDULER.replace("# One manager serves every group.", "# Un g\xe9rant.").encode("latin-1")
    series = made(miniature.tree(scheduler=latin), ["lookahead"])
    (patch,) = series.patches
    assert b"# Un g\xe9rant." in patch_bytes(patch)
    path = "vllm/v1/core/sched/scheduler.py"
    assert b"# Un g\xe9rant." in applied(patch_bytes(patch), {path: latin})[path]


def test_a_crlf_file_keeps_its_ends_and_the_letter_says_how_to_take_it() -> None:
    crlf = SCHEDULER.replace("\n", "\r\n").encode()
    (patch,) = made(miniature.tree(scheduler=crlf), ["lookahead"]).patches
    path = "vllm/v1/core/sched/scheduler.py"
    after = applied(patch_bytes(patch), {path: crlf})[path]
    assert after.count(b"\n") == after.count(b"\r\n")
    assert "git am --keep-cr" in patch.text


def test_the_letter_tells_promise_fault_places_and_proof() -> None:
    fault = miniature.fault("cache-drop")
    shown = Evidence(source="vllm", path="vllm/a.py", line=7, end_line=8, quote="  x = 1\n  y = 2")
    finding = replace(fault.findings[0], evidence=(shown, shown))
    text = str(
        Letter(
            repair=REPAIRS["cache-drop"],
            findings=[finding],
            engine="vllm 0.20.1",
            source="vllm",
            repaired=["cache-drop"],
            effect="prefix reuse 0 -> 4,608 tokens",
            order="Applies on top of 0001-x.patch.",
        )
    )
    assert text.startswith("Promise: what the drafter was trained on\nSo far: something else\n")
    assert text.count("    vllm/a.py:7\n        x = 1\n") == 1
    assert "Measured: prefix reuse 0 -> 4,608 tokens" in text
    assert "asked again cache-drop is honoured with no other" in " ".join(text.split())
    assert text.endswith("Applies on top of 0001-x.patch.\n")
    assert max(map(len, text.split("\n"))) <= 76


def test_a_mail_reader_reads_it() -> None:
    (patch,) = made(contracts=["lookahead"]).patches
    read = message_from_bytes(patch_bytes(patch).partition(b"\n")[2])
    assert read["Subject"] == "[PATCH] DFlash: reserve a slot for each query token of a draft block"
    assert read["From"] == "investigate <investigate@localhost>"
