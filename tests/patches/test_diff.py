"""What the writer writes, git reads: on hand-made cases and on random ones."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from investigator.errors import PatchError
from investigator.patches.diff import FileDiff, diff_edits, git_blob, mail, unified
from investigator.patches.edits import Edit, apply_edits

WHEN = datetime(2026, 4, 27, 9, 30, tzinfo=UTC)


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        **{f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(["git", *arguments], cwd=folder, input=stdin, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return done.stdout


def one_edit(content: bytes, old: bytes, new: bytes) -> Edit:
    at = content.index(old)
    return Edit("pkg/mod.py", at, at + len(old), new)


def section(content: bytes, *edits: Edit) -> FileDiff:
    (found,) = diff_edits(edits, {"pkg/mod.py": content})
    return found


def test_the_text_of_a_small_diff() -> None:
    content = b"def taps(config):\n    ids = config.ids\n    return ids\n"
    found = section(content, one_edit(content, b"config.ids", b"[i + 1 for i in config.ids]"))
    assert (found.added, found.removed) == (1, 1)
    assert found.text.decode() == (
        "diff --git a/pkg/mod.py b/pkg/mod.py\n"
        "index 2cb8cd1bcf5f0a6ebb1d0ecbc8b3cd9efb5a34b9..ID 100644\n"
        "--- a/pkg/mod.py\n"
        "+++ b/pkg/mod.py\n"
        "@@ -1,3 +1,3 @@\n"
        " def taps(config):\n"
        "-    ids = config.ids\n"
        "+    ids = [i + 1 for i in config.ids]\n"
        "     return ids\n"
    ).replace("2cb8cd1bcf5f0a6ebb1d0ecbc8b3cd9efb5a34b9..ID", _ids(content, found))


def _ids(content: bytes, found: FileDiff) -> str:
    after = content.replace(b"config.ids\n", b"[i + 1 for i in config.ids]\n")
    return f"{git_blob(content)}..{git_blob(after)}"


def test_git_knows_the_object_id() -> None:
    assert git_blob(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_hunks_far_apart_are_two_and_carry_the_heading() -> None:
    content = b"import os\n\n\nclass Far:\n" + b"".join(b"    x%d = 0\n" % i for i in range(30))
    found = section(
        content, one_edit(content, b"x3 = 0", b"x3 = 1"), one_edit(content, b"x25 = 0", b"x25 = 1")
    )
    headers = [line for line in found.text.split(b"\n") if line.startswith(b"@@")]
    assert headers == [b"@@ -5,7 +5,7 @@ class Far:", b"@@ -27,7 +27,7 @@ class Far:"]


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        (b"a\nb\nc", b"c", b"d"),
        (b"a\nb\nc", b"c", b"c\n"),
        (b"a\nb\nc\n", b"c\n", b"c"),
        (b"a\nb\nc", b"a", b"A"),
        (b"a\nb\nc\n", b"b\n", b""),
        (b"a\n", b"a\n", b""),
        (b"a\nb\nc\n", b"\nb", b""),
        (b"x\r\ny\r\nz\r\n", b"y", b"Y"),
        (b"# caf\xe9\n\ty = 1\n", b"1", b"2"),
        (b"\xef\xbb\xbfa\nb\n", b"b", b"c"),
        (b"a\rb\nc\x0cd\n", b"d", b"e"),
        (b"same\nsame\nsame\n", b"same\n", b"same\nsame\n"),
    ],
    ids=[
        "no final newline", "newline gained", "newline lost", "above no newline", "line gone", "file emptied",
        "lines joined", "crlf", "latin-1 and tab", "byte-order mark", "lone cr and form feed", "ambiguous",
    ],
)  # fmt: skip
def test_git_applies_and_reverses(tmp_path: Path, content: bytes, old: bytes, new: bytes) -> None:
    edit = one_edit(content, old, new)
    file = tmp_path / "pkg" / "mod.py"
    file.parent.mkdir()
    file.write_bytes(content)
    text = section(content, edit).text
    git(tmp_path, "apply", "--whitespace=nowarn", stdin=text)
    assert file.read_bytes() == apply_edits(content, [edit])
    git(tmp_path, "apply", "--whitespace=nowarn", "-R", stdin=text)
    assert file.read_bytes() == content


def test_an_edit_that_changes_nothing_has_no_section() -> None:
    assert diff_edits([Edit("pkg/mod.py", 0, 1, b"a")], {"pkg/mod.py": b"a\n"}) == ()


def test_a_new_file(tmp_path: Path) -> None:
    text = unified(diff_edits([Edit("tests/test_new.py", 0, 0, b"x = 1\n")], {}))
    git(tmp_path, "apply", stdin=text)
    assert (tmp_path / "tests" / "test_new.py").read_bytes() == b"x = 1\n"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../up.py", "a/../b.py", ".git/config", "a/.GIT/x", "a b.py", "a\n", "a//b", ""]
)
def test_refuses_paths_that_lead_out(path: str) -> None:
    with pytest.raises(PatchError, match="must not name"):
        diff_edits([Edit(path, 0, 0, b"x")], {path: b"y"})


def test_git_am_takes_the_mail(tmp_path: Path) -> None:
    content = b"def f():\n    return 1\n"
    file = tmp_path / "pkg" / "mod.py"
    file.parent.mkdir()
    file.write_bytes(content)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "start")
    body = "Promise: one.\n\n--- not the end\ndiff --git a/x b/x is only quoted\n\nFrom here on: two → 2."
    text = mail(
        [section(content, one_edit(content, b"1", b"2"))],
        subject="Return two",
        body=body,
        when=WHEN,
        number=2,
        total=3,
    )
    git(tmp_path, "am", stdin=text)
    assert file.read_bytes() == b"def f():\n    return 2\n"
    shown = git(tmp_path, "log", "-1", "--format=%an|%ae|%aI|%s|%b").decode()
    assert shown.startswith(
        "investigate|investigate@localhost|2026-04-27T09:30:00+00:00|Return two|Promise: one."
    )
    assert "two → 2." in shown
    assert b"[PATCH 2/3]" in text
    assert b" pkg/mod.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n" in text


def test_crlf_survives_git_am_that_keeps_it(tmp_path: Path) -> None:
    content = b"x = 1\r\ny = 2\r\n"
    file = tmp_path / "pkg" / "mod.py"
    file.parent.mkdir()
    file.write_bytes(content)
    git(tmp_path, "-c", "core.autocrlf=false", "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "start")
    text = mail([section(content, one_edit(content, b"2", b"3"))], subject="Three", body="Why.", when=WHEN)
    git(tmp_path, "am", "--keep-cr", stdin=text)
    assert file.read_bytes() == b"x = 1\r\ny = 3\r\n"


def test_the_same_input_gives_the_same_mail() -> None:
    content = b"x = 1\n"
    sections = [section(content, one_edit(content, b"1", b"2"))]
    first, second = (mail(sections, subject="Two", body="Why.", when=WHEN) for _ in range(2))
    assert first == second


@given(
    st.lists(st.sampled_from([b"a", b"b", b"", b"\r", b"\xff"]), max_size=14).map(b"\n".join),
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 6), st.sampled_from([b"", b"\n", b"q", b"q\n", b"\nq"]))
    ),
)
@settings(max_examples=60, deadline=None)
def test_git_agrees_with_the_edits(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, wishes: list[tuple[int, int, bytes]]
) -> None:
    edits: list[Edit] = []
    position = 0
    for skip, length, replacement in wishes:
        start = position + skip
        end = start + length
        if end > len(content) or (edits and start == edits[-1].start_byte):
            break
        edits.append(Edit("mod.py", start, end, replacement))
        position = end
    after = apply_edits(content, edits)
    text = unified(diff_edits(edits, {"mod.py": content}))
    assert bool(text) == (after != content)
    if not text or not content or not after:
        return  # git reads a diff to or from nothing as a deletion or a creation
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "mod.py").write_bytes(content)
    git(folder, "apply", "--whitespace=nowarn", stdin=text)
    assert (folder / "mod.py").read_bytes() == after
