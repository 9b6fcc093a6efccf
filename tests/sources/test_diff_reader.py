"""Reading diffs that others wrote, some of them with bad intent."""

import subprocess
from pathlib import Path

import pytest

from investigator.errors import LimitError, SourceError
from investigator.sources.diff_header import ChangeKind, vet_path
from investigator.sources.diff_reader import Hunk, hunks_between, read_diff

HEAD = (
    b"diff --git a/vllm/a.py b/vllm/a.py\nindex 1234567..89abcde 100644\n--- a/vllm/a.py\n+++ b/vllm/a.py\n"
)
HUNK = b"@@ -3,3 +3,4 @@ def taps():\n one\n-two\n+2\n+2b\n three\n"


def test_a_hunk_is_read_with_its_marks() -> None:
    (file,) = read_diff(HEAD + HUNK, "x")

    assert (file.path, file.kind, file.old_blob, file.problem) == (
        "vllm/a.py",
        ChangeKind.MODIFIED,
        "1234567",
        None,
    )
    (hunk,) = file.hunks
    assert (hunk.old_start, hunk.old, hunk.new) == (
        3,
        (b"one\n", b"two\n", b"three\n"),
        (b"one\n", b"2\n", b"2b\n", b"three\n"),
    )
    assert (file.additions, file.deletions) == (2, 1)
    assert hunk.reversed().old == hunk.new


def test_a_line_that_looks_like_a_header_is_a_line() -> None:
    """Deleting ``-- a/x`` shows as ``--- a/x``; adding ``++ b`` as ``+++ b``."""
    (file,) = read_diff(HEAD + b"@@ -1,2 +1,2 @@\n--- a/x\n+++ b/x\n same\n", "x")

    assert file.hunks == (Hunk(1, 1, (("-", b"-- a/x\n"), ("+", b"++ b/x\n"), (" ", b"same\n"))),)


def test_bytes_survive_as_they_are() -> None:
    body = b"@@ -1,2 +1,2 @@\n-\xff\xfe\r\n+\xc3\xbc\x0c\x1e\r\n  \n"
    (file,) = read_diff(HEAD + body, "x")

    assert file.hunks[0].lines == (("-", b"\xff\xfe\r\n"), ("+", b"\xc3\xbc\x0c\x1e\r\n"), (" ", b" \n"))


def test_a_missing_newline_belongs_to_the_line_before() -> None:
    mark = b"\\ No newline at end of file\n"
    (file,) = read_diff(HEAD + b"@@ -1 +1 @@\n-old\n" + mark + b"+new\n" + mark, "x")

    assert file.hunks[0].lines == (("-", b"old"), ("+", b"new"))


@pytest.mark.parametrize(
    ("head", "kind", "path", "old_path"),
    [
        ("new file mode 100644\nindex 0000000..e69de29\n", ChangeKind.ADDED, "n.py", "n.py"),
        (
            "new file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+x\n",
            ChangeKind.ADDED,
            "n.py",
            "n.py",
        ),
        (
            "deleted file mode 100644\n--- a/n.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
            ChangeKind.DELETED,
            "n.py",
            "n.py",
        ),
        ("similarity index 100%\nrename from o.py\nrename to n.py\n", ChangeKind.RENAMED, "n.py", "o.py"),
        ("old mode 100644\nnew mode 100755\n", ChangeKind.MODIFIED, "n.py", "n.py"),
        (
            "--- a/with space.py\t\n+++ b/with space.py\t\n@@ -1 +1 @@\n-x\n+y\n",
            ChangeKind.MODIFIED,
            "with space.py",
            "with space.py",
        ),
    ],
)
def test_kinds_of_change(head: str, kind: ChangeKind, path: str, old_path: str) -> None:
    (file,) = read_diff(f"diff --git a/{old_path} b/{path}\n{head}".encode(), "x")

    assert (file.kind, file.path, file.old_path, file.problem) == (kind, path, old_path, None)


@pytest.mark.parametrize(
    ("diff", "problem"),
    [
        (
            b"diff --git a/i.png b/i.png\nindex 1234..5678\nBinary files a/i.png and b/i.png differ\n",
            "it is binary",
        ),
        (b"diff --git a/i.bin b/i.bin\nGIT binary patch\nliteral 3\nKcmZ\n", "it is binary"),
        (
            b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n",
            "a link",
        ),
        (
            b"diff --git a/s b/s\nindex 1234567..89abcde 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-x\n+y\n",
            "submodule",
        ),
        (
            b"diff --git a/../../e b/../../e\n--- a/../../e\n+++ b/../../e\n" + HUNK,
            "its path leaves the tree",
        ),
        (b"diff --git a/x b/x\nrename from x\nrename to ../y\n", "its path leaves the tree"),
        (b"diff --git a//etc/x b//etc/x\n--- a//etc/x\n+++ b//etc/x\n" + HUNK, "its path leaves the tree"),
        (
            b"diff --git a/.git/config b/.git/config\n--- a/.git/config\n+++ b/.git/config\n" + HUNK,
            "may hold",
        ),
        (HEAD + b"@@ -1,9 +1,9 @@\n one\n", "its hunks cannot be read"),
        (HEAD + b"@@ -1 +1 @@\n-one\n+two\n+three\n", "its hunks"),
        (HEAD + b"@@ -1 +1 @@\n-one\n+two\nstray\n", "its hunks"),
        (HEAD + b"@@ -1 +1 @@\n-one\n+two\n\n", "other lines than they count"),
        (HEAD + b"@@ -1,1 +99999999999999999999,1 @@ x\n one\n?two\n", "its hunks"),
        (b"diff --git \n@@ -1 +1 @@\n-one\n+two\n", "its name cannot be read"),
        (HEAD + b"@@ -1 +1 @@\n\\ No newline at end of file\n-one\n+two\n", "end of the file in the middle"),
        (HEAD + b"@@ -1,2 +1 @@\n-one\n\\ No newline\n-two\n+two\n", "end of the file in the middle"),
        (HEAD, "nothing of what changes"),
        (b"diff --git a/x b/x\nindex 1234..5678 100644\n", "nothing of what changes"),
        (HEAD + b"@@\n-one\n@@ -1 +1 @@\n-one\n+two\n", "not one that git writes"),
        (HEAD.replace(b"+++", b"index 1234..\n+++") + HUNK, "not one that git writes"),
        (HEAD + b"\n" + HUNK, "not one that git writes"),
        (HEAD.replace(b"---", b"new file mode 100644\nnew file mode 100644\n---") + HUNK, "that git writes"),
        (
            b"diff --git a/x b/y\nrename from x\nrename to y\nnew file mode 100644\n",
            "not one that git writes",
        ),
        (HEAD.replace(b"---", b"new file mode 100644\n---") + HUNK, "names several files"),
        (HEAD.replace(b"---", b"rename from vllm/a.py\n---") + HUNK, "not one that git writes"),
        (HEAD.replace(b"---", b"similarity index 90%\n---") + HUNK, "not one that git writes"),
        (HEAD.replace(b"---", b"old mode 100644\n---") + HUNK, "not one that git writes"),
        (
            b"diff --git a/x b/x\ndeleted file mode 100644\nrename to y\n--- a/x\n+++ /dev/null\n"
            b"@@ -1 +0,0 @@\n-1\n",
            "not one that git writes",
        ),
        (
            b"diff --git a/x b/x\nnew file mode 100644\nrename to y\n--- /dev/null\n+++ b/x\n"
            b"@@ -0,0 +1 @@\n+1\n",
            "not one that git writes",
        ),
        (HEAD.replace(b"--- a/vllm", b"--- a/other") + HUNK, "names several files"),
        (HEAD.replace(b"--- a/vllm/a.py\n", b"") + HUNK, "does not name the file"),
        (
            b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+1\n",
            "names several files",
        ),
        (b"diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n", "a copy of another file"),
        (b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\tz\n", "has characters"),
        (HEAD.replace(b"a.py", b"\xff.py") + HUNK, "its name cannot be read"),
        (b'diff --git "a/\\x41" "b/\\x41"\nold mode 100644\nnew mode 100755\n', "its name cannot be read"),
        (b'diff --git "a/a\\tb" "b/a\\tb"\nold mode 100644\nnew mode 100755\n', "has characters"),
    ],
)
def test_one_bad_file_does_not_spoil_the_others(diff: bytes, problem: str) -> None:
    bad, good = read_diff(diff + b"diff --git a/g b/g\n--- a/g\n+++ b/g\n" + HUNK, "x")

    assert bad.problem is not None
    assert problem in bad.problem
    assert bad.hunks == ()
    assert (good.path, len(good.hunks)) == ("g", 1)


@pytest.mark.parametrize("end", [0, -1, -20])
def test_a_diff_that_is_cut_off_says_so(end: int) -> None:
    diff = HEAD + b"@@ -1,2 +1,2 @@\n-one\n+two\n three"[: end or None]
    (file,) = read_diff(diff, "x")

    assert (file.problem, file.hunks) == ("it is cut off", ())


def test_an_empty_line_without_a_mark_is_one_of_context() -> None:
    """As mail and editors leave it that strip spaces from the ends of lines; git takes it, too."""
    (file,) = read_diff(HEAD + b"@@ -1,3 +1,3 @@\n one\n\n-two\n+three\n", "x")

    assert file.hunks[0].old == (b"one\n", b"\n", b"two\n")


def test_quoted_names_are_read() -> None:
    head = rb"""diff --git "a/vllm/\303\251 \"x\".py" "b/vllm/\303\251 \"x\".py"
--- "a/vllm/\303\251 \"x\".py"
+++ "b/vllm/\303\251 \"x\".py"
"""
    (file,) = read_diff(head + HUNK, "x")

    assert (file.path, file.problem) == ('vllm/é "x".py', None)
    (moded,) = read_diff(head.partition(b"\n")[0] + b"\nold mode 100644\nnew mode 100755\n", "x")
    assert (moded.path, moded.problem) == ('vllm/é "x".py', None)


def test_limits_and_nonsense_are_refused_as_a_whole() -> None:
    with pytest.raises(LimitError, match="20,971,520"):
        read_diff(b" " * (20 * 1024 * 1024 + 1), "x")
    with pytest.raises(LimitError, match="3,001 files"):
        read_diff(b"".join(b"diff --git a/%d b/%d\n" % (i, i) for i in range(3001)), "x")
    with pytest.raises(SourceError, match="no diff in git's form"):
        read_diff(b"<html>", "x")
    with pytest.raises(SourceError, match="no diff in git's form"):
        read_diff(b"--- a/vllm/b.py\n+++ b/vllm/b.py\n" + HUNK + HEAD + HUNK, "x")
    with pytest.raises(SourceError, match=r"names 'vllm/a\.py' twice"):
        read_diff(HEAD + HUNK + HEAD + HUNK, "x")


def test_an_empty_diff_changes_nothing() -> None:
    assert read_diff(b"", "x") == ()


@pytest.mark.parametrize("path", ["a\\b", "C:/x", "a//b", "a/./b", "a/.GIT/x", "a\x07b", "x" * 1001])
def test_paths_that_no_tree_holds(path: str) -> None:
    assert vet_path(path) is not None


def test_hunks_are_what_git_takes(tmp_path: Path) -> None:
    """git itself applies what is written here, with an odd byte and no newline at the end."""
    before = b"".join(b"line %d\n" % i for i in range(40)) + b"\xff end"
    after = before.replace(b"line 5\n", b"line five\nand a half\r\n").replace(b"\xff end", b"\xff END")
    (tmp_path / "f").write_bytes(before)
    patch = b"--- a/f\n+++ b/f\n" + hunks_between(before, after)

    subprocess.run(
        ["git", "apply", "-"],
        cwd=tmp_path,
        input=patch,
        check=True,
        env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "PATH": "/usr/bin:/bin"},
    )

    assert (tmp_path / "f").read_bytes() == after
