"""A patch is tried for real, and what it does to the verdicts is told apart."""

from investigator.model import Runner, Verdict
from investigator.patches.diff import diff_edits, unified
from investigator.patches.edits import Edit, edited_files
from investigator.patches.verify import Trial, eased, proof, repaired, try_patch, worse
from investigator.sources.interface import Tree
from investigator.sources.overlay_tree import PatchedTree
from tests.support.builders import TextTree, source

BEFORE = {"pkg/mod.py": b"def taps(ids):\n    return ids\n"}
EDITS = (Edit("pkg/mod.py", 26, 29, b"[i + 1 for i in ids]"),)
AFTER = edited_files(EDITS, BEFORE)
PATCH = unified(diff_edits(EDITS, BEFORE))


def test_a_good_patch_holds() -> None:
    assert try_patch(PATCH, BEFORE, AFTER) == Trial(applies=True, reverses=True, parses=True)


def test_a_new_file_holds_and_goes_away_again() -> None:
    edits = (Edit("tests/test_taps.py", 0, 0, b"def test_taps():\n    pass\n"),)
    after = {"tests/test_taps.py": edits[0].replacement}
    assert try_patch(unified(diff_edits(edits, {})), {}, after).holds


def test_a_patch_for_another_file_does_not_apply() -> None:
    trial = try_patch(PATCH, {"pkg/mod.py": b"def taps(ids):\n    return list(ids)\n"}, AFTER)
    assert not trial.applies
    assert "patch failed" in trial.why


def test_other_bytes_than_promised_are_no_proof() -> None:
    trial = try_patch(PATCH, BEFORE, {"pkg/mod.py": AFTER["pkg/mod.py"] + b"\n"})
    assert (trial.applies, trial.why) == (False, "git leaves other bytes than the edits do")


def test_what_does_not_parse_is_told() -> None:
    edits = (Edit("pkg/mod.py", 26, 29, b"[i + for"),)
    trial = try_patch(unified(diff_edits(edits, BEFORE)), BEFORE, edited_files(edits, BEFORE))
    assert (trial.applies, trial.reverses, trial.parses) == (True, True, False)
    assert trial.why == "pkg/mod.py does not parse any more"


def test_a_file_that_never_parsed_may_stay_so() -> None:
    before = {"m.py": b"x = = 1\ny = 1\n"}
    edits = (Edit("m.py", 12, 13, b"2"),)
    assert try_patch(unified(diff_edits(edits, before)), before, edited_files(edits, before)).parses


OFFSET = ("target-layer-offset", Runner.V1)
CACHE = ("cache-drop", None)


def test_repaired_and_worse_are_told_apart() -> None:
    before = {OFFSET: Verdict.BROKEN, CACHE: Verdict.HONOURED}
    assert repaired(before, {OFFSET: Verdict.HONOURED, CACHE: Verdict.HONOURED}) == (
        "target-layer-offset/v1",
    )
    assert worse(before, {OFFSET: Verdict.HONOURED, CACHE: Verdict.UNKNOWN}) == ("cache-drop",)
    assert worse(before, {OFFSET: Verdict.BROKEN}) == ("cache-drop",)
    assert worse(before, {OFFSET: Verdict.REFUSED, CACHE: Verdict.HONOURED}) == ()


def test_what_got_better_without_being_kept_is_eased() -> None:
    before = {OFFSET: Verdict.BROKEN, CACHE: Verdict.PARTIAL}
    assert eased(before, {OFFSET: Verdict.PARTIAL, CACHE: Verdict.PARTIAL}) == ("target-layer-offset/v1",)
    assert eased(before, {OFFSET: Verdict.HONOURED, CACHE: Verdict.HONOURED}) == ()


def test_the_questions_see_the_patched_file_and_the_others_as_they_were() -> None:
    tree = TextTree(source(), {"pkg/mod.py": BEFORE["pkg/mod.py"].decode(), "pkg/other.py": "x = 1\n"})

    def ask(asked: Tree) -> dict[tuple[str, Runner | None], Verdict]:
        assert list(asked.paths()) == ["pkg/mod.py", "pkg/other.py"]
        assert asked.read("pkg/other.py") == b"x = 1\n"
        assert asked.digest("pkg/other.py") == tree.digest("pkg/other.py")
        good = b"i + 1" in asked.read("pkg/mod.py")
        return {OFFSET: Verdict.HONOURED if good else Verdict.BROKEN}

    before = ask(tree)
    after = ask(PatchedTree(tree, dict(AFTER)))
    found = proof(try_patch(PATCH, BEFORE, AFTER), before, after)
    assert (found.applies, found.repaired, found.worse) == (True, ("target-layer-offset/v1",), ())
