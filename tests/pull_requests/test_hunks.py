"""Hunks go where git puts them, or nowhere."""

import random
import subprocess
from pathlib import Path

import pytest

from investigator.pull_requests.hunks import Misfit, apply_hunks, unapply_hunks
from investigator.sources.diff_reader import Hunk, hunks_between, read_diff

TEXT = b"one\ntwo\nthree\nfour\nfive\n"
HUNK = Hunk(2, 2, ((" ", b"two\n"), ("-", b"three\n"), ("+", b"3\n"), (" ", b"four\n")))


def hunks(before: bytes, after: bytes) -> tuple[Hunk, ...]:
    header = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n"
    body = hunks_between(before, after)
    return read_diff(header + body, "x")[0].hunks if body else ()


def test_a_hunk_in_its_place() -> None:
    assert apply_hunks(TEXT, [HUNK]) == b"one\ntwo\n3\nfour\nfive\n"


def test_a_hunk_whose_place_has_moved_is_found() -> None:
    assert apply_hunks(b"zero\n" * 50 + TEXT, [HUNK]) == b"zero\n" * 50 + b"one\ntwo\n3\nfour\nfive\n"


def test_the_nearest_of_several_places_is_taken() -> None:
    block = b"two\nthree\nfour\n"
    text = block + b"x\n" * 10 + block + b"x\n" * 10 + block
    far = Hunk(14, 14, HUNK.lines)

    assert apply_hunks(text, [far]) == block + b"x\n" * 10 + b"two\n3\nfour\n" + b"x\n" * 10 + block


def test_a_different_line_is_never_passed_over() -> None:
    misfit = apply_hunks(TEXT.replace(b"four", b"FOUR"), [HUNK])

    assert misfit == Misfit(2, "line 4 is not what the change expects")


def test_a_file_that_is_too_short_says_so() -> None:
    assert apply_hunks(b"one\ntwo\nthree\n", [HUNK]) == Misfit(2, "the file ends before the change")


def test_hunks_keep_their_order() -> None:
    """The second hunk's lines stand above the first one's place only: that is no fit."""
    first = Hunk(4, 4, (("-", b"four\n"), ("+", b"4\n"), (" ", b"five\n")))
    second = Hunk(7, 7, (("-", b"two\n"), ("+", b"2\n"), (" ", b"three\n")))

    assert apply_hunks(TEXT, [first, second]) == Misfit(7, "the file ends before the change")


def test_a_change_that_is_there_can_be_taken_back_and_not_made_again() -> None:
    changed = b"one\ntwo\n3\nfour\nfive\n"

    assert unapply_hunks(changed, [HUNK]) == TEXT
    assert isinstance(apply_hunks(changed, [HUNK]), Misfit)


def test_into_an_empty_file_and_back() -> None:
    added = Hunk(0, 1, (("+", b"a\n"), ("+", b"b")))

    assert apply_hunks(b"", [added]) == b"a\nb"
    assert unapply_hunks(b"a\nb", [added]) == b""


def test_a_change_that_names_no_line_beside_it_is_neither_made_nor_taken_back() -> None:
    """Lines deleted without any context would "stand there already" at the end of every file."""
    deleted = Hunk(2, 1, (("-", b"two\n"), ("-", b"three\n")))

    assert unapply_hunks(TEXT, [deleted]) == Misfit(1, "the change names no line that it stands beside")
    assert apply_hunks(TEXT, [deleted.reversed()]) == unapply_hunks(TEXT, [deleted])


@pytest.mark.parametrize("seed", range(60))
def test_the_same_as_git_on_random_texts(seed: int, tmp_path: Path) -> None:
    """Change a text at random, shift it by lines above, and compare with ``git apply``."""
    chance = random.Random(seed)
    before = [b"%d %d\n" % (i, chance.randrange(4)) for i in range(chance.randrange(1, 60))]
    after = list(before)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(after) + 1)
        after[at : at + chance.randrange(3)] = [b"new %d\n" % chance.randrange(9)] * chance.randrange(3)
    ours = [b"above %d\n" % i for i in range(chance.randrange(5))] + before
    if chance.random() < 0.3 and ours:
        ours[chance.randrange(len(ours))] = b"edited here\n"
    made = hunks(b"".join(before), b"".join(after))
    (tmp_path / "f").write_bytes(b"".join(ours))
    body = hunks_between(b"".join(before), b"".join(after))

    done = subprocess.run(
        ["git", "apply", "-"],
        cwd=tmp_path,
        input=b"--- a/f\n+++ b/f\n" + body,
        capture_output=True,
        check=False,
        env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "PATH": "/usr/bin:/bin"},
    )
    mine = apply_hunks(b"".join(ours), made)

    if done.returncode == 0 or not body:
        left = tmp_path / "f"
        assert mine == (left.read_bytes() if left.exists() else b"")
    else:
        assert isinstance(mine, Misfit)
