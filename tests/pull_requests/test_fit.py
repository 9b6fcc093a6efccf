"""How a diff fits on a tree: each file, and the whole."""

import pytest

from investigator.pull_requests.fit import Fit, TreeFit, fit_diff
from investigator.pull_requests.merge import Merged, merge
from investigator.sources.diff_reader import read_diff
from tests.support.small_engine import FIXED_WORKER, SCHEDULER, WORKER, changes, engine

MOVED_ON = WORKER.replace(b"# the worker\nimport os\n", b"# the worker\nimport os\nimport sys\n").replace(
    b"    return 1\n", b"    return 2\n"
)
TOUCHED = WORKER.replace(b"config.target_layer_ids", b"config.layer_ids")


def fit(text: str, **tree: bytes) -> TreeFit:
    return fit_diff(read_diff(text.encode(), "x"), engine(**tree))


def test_a_change_that_applies_leaves_the_engine_itself_alone() -> None:
    tree = engine()

    fitted = fit_diff(changes(worker=(WORKER, FIXED_WORKER)), tree)

    assert (fitted.fit, fitted.changed, fitted.conflicts) == (Fit.APPLIES, ("vllm/worker.py",), ())
    assert fitted.patched is not None
    assert fitted.patched.read("vllm/worker.py") == FIXED_WORKER
    assert fitted.patched.read("vllm/scheduler.py") == SCHEDULER
    assert tree.read("vllm/worker.py") == WORKER


def test_a_change_that_is_there_is_contained_though_lines_moved() -> None:
    later = b"# licence\n" * 3 + FIXED_WORKER.removeprefix(b"# the worker\n")

    assert fit_diff(changes(worker=(WORKER, FIXED_WORKER)), engine(worker=later)).fit is Fit.CONTAINED


def test_half_of_it_there_is_not_contained() -> None:
    both = changes(worker=(WORKER, FIXED_WORKER), scheduler=(SCHEDULER, SCHEDULER + b"# more\n"))

    fitted = fit_diff(both, engine(worker=FIXED_WORKER))

    assert (fitted.fit, fitted.changed) == (Fit.APPLIES, ("vllm/scheduler.py",))


def test_a_conflict_names_file_line_and_reason() -> None:
    fitted = fit_diff(changes(worker=(WORKER, FIXED_WORKER)), engine(worker=TOUCHED))

    assert fitted.patched is None
    assert [str(conflict) for conflict in fitted.conflicts] == [
        "vllm/worker.py:3: line 5 is not what the change expects"
    ]


def test_a_change_beside_it_is_merged_when_the_base_is_known() -> None:
    """The context of the hunk differs, its own lines do not: three-way merging settles it."""
    ours = WORKER.replace(b"def aux_layers(config):", b"def aux_layers(config, extra=None):")
    change = changes(worker=(WORKER, FIXED_WORKER))

    without = fit_diff(change, engine(worker=ours))
    merged = fit_diff(change, engine(worker=ours), lambda file: WORKER)

    assert without.fit is Fit.CONFLICTS
    assert merged.fit is Fit.MERGES
    assert merged.patched is not None
    text = merged.patched.read("vllm/worker.py")
    assert b"extra=None" in text
    assert b"layer + 1" in text


def test_a_real_conflict_stays_one_and_says_where_in_this_engine() -> None:
    ours = b"# licence\n" + WORKER.replace(b"tuple(ids)", b"list(ids)")

    fitted = fit_diff(changes(worker=(WORKER, FIXED_WORKER)), engine(worker=ours), lambda file: WORKER)

    assert [str(conflict) for conflict in fitted.conflicts] == [
        "vllm/worker.py:7: both sides changed these lines"
    ]


def test_a_wrong_base_is_of_no_use() -> None:
    fitted = fit_diff(changes(worker=(WORKER, FIXED_WORKER)), engine(worker=TOUCHED), lambda file: b"other\n")

    assert fitted.fit is Fit.CONFLICTS


def test_tests_and_documents_are_left_out_and_named() -> None:
    text = "diff --git a/tests/t.py b/tests/t.py\n--- a/tests/t.py\n+++ b/tests/t.py\n@@ -1 +1 @@\n-a\n+b\n"

    fitted = fit(text)

    assert fitted.fit is Fit.OUTSIDE
    assert fitted.skipped == (("tests/t.py", "outside the engine's packages"),)


@pytest.mark.parametrize("prefix", ["python/", "src/"])
def test_a_package_below_a_folder_of_the_repository_is_found(prefix: str) -> None:
    path = f"{prefix}vllm/__init__.py"
    text = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1 @@\n+x = 1\n"

    fitted = fit(text)

    assert (fitted.fit, fitted.changed) == (Fit.APPLIES, ("vllm/__init__.py",))


def test_a_binary_file_outside_does_no_harm_and_inside_is_a_conflict() -> None:
    text = "diff --git a/{0} b/{0}\nindex 1234567..89abcde 100644\nBinary files a/{0} and b/{0} differ\n"

    assert fit(text.format("docs/i.png")).skipped == (("docs/i.png", "it is binary"),)
    assert fit(text.format("vllm/i.png")).conflicts[0].why == "it is binary"


def test_a_path_that_leaves_the_tree_changes_nothing() -> None:
    path = "vllm/../../x"

    fitted = fit(f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n")

    assert fitted.patched is None
    assert fitted.conflicts[0].why == "its path leaves the tree"


@pytest.mark.parametrize(
    ("text", "tree", "expected"),
    [
        ("new file mode 100644\n--- /dev/null\n+++ b/vllm/new.py\n@@ -0,0 +1 @@\n+x = 1\n", {}, Fit.APPLIES),
        (
            "new file mode 100644\n--- /dev/null\n+++ b/vllm/worker.py\n@@ -0,0 +1 @@\n+x = 1\n",
            {"worker": b"x = 1\n"},
            Fit.CONTAINED,
        ),
        (
            "new file mode 100644\n--- /dev/null\n+++ b/vllm/worker.py\n@@ -0,0 +1 @@\n+x = 1\n",
            {},
            Fit.CONFLICTS,
        ),
        (
            "deleted file mode 100644\n--- a/vllm/worker.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n",
            {"worker": b"x = 1\n"},
            Fit.APPLIES,
        ),
        (
            "deleted file mode 100644\n--- a/vllm/worker.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n",
            {"worker": b"x = 1\ny = 2\n"},
            Fit.CONFLICTS,
        ),
        (
            "deleted file mode 100644\n--- a/vllm/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n",
            {},
            Fit.CONTAINED,
        ),
        ("similarity index 100%\nrename from vllm/worker.py\nrename to vllm/w.py\n", {}, Fit.APPLIES),
        ("similarity index 100%\nrename from vllm/old.py\nrename to vllm/worker.py\n", {}, Fit.CONTAINED),
        ("--- a/vllm/gone.py\n+++ b/vllm/gone.py\n@@ -1 +1 @@\n-a\n+b\n", {}, Fit.CONFLICTS),
    ],
)
def test_files_that_come_go_and_move(text: str, tree: dict[str, bytes], expected: Fit) -> None:
    assert fit(f"diff --git a/x b/y\n{text}", **tree).fit is expected


def test_a_rename_moves_the_content() -> None:
    fitted = fit("diff --git a/x b/y\nrename from vllm/worker.py\nrename to vllm/w.py\n")

    assert fitted.patched is not None
    assert "vllm/worker.py" not in fitted.patched.paths()
    assert fitted.patched.read("vllm/w.py") == WORKER


def test_merging_is_gits_own() -> None:
    base = b"".join(b"%d\n" % i for i in range(9))

    clean = merge(base.replace(b"1\n", b"one\n"), base, base.replace(b"7\n", b"seven\n"))
    both = merge(base.replace(b"4\n", b"four\n"), base, base.replace(b"4\n", b"IV\n"))
    same = merge(base.replace(b"4\n", b"four\n"), base, base.replace(b"4\n", b"four\n"))

    assert clean == Merged(b"0\none\n2\n3\n4\n5\n6\nseven\n8\n")
    assert both == Merged(None, (5,))
    assert same == Merged(base.replace(b"4\n", b"four\n"))


def test_text_that_looks_like_a_conflict_is_text() -> None:
    base = b"<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\nc\nd\ne\n"

    assert merge(base + b"f\n", base, b"x\n" + base).content == b"x\n" + base + b"f\n"
