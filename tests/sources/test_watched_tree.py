"""What was looked at in a tree is what a later tree is compared by."""

from investigator.sources.watched_tree import LISTING, WatchedTree, is_as_seen
from tests.support.builders import TextTree, source

FILES = {"vllm/a.py": "a = 1\n", "vllm/b.py": "b = 2\n"}


def tree(**changes: str) -> TextTree:
    return TextTree(source(), {**FILES, **{f"vllm/{name}.py": text for name, text in changes.items()}})


def test_only_what_was_read_or_compared_counts() -> None:
    watched = WatchedTree(tree())
    watched.read("vllm/a.py")

    assert watched.seen == {"vllm/a.py": tree().digest("vllm/a.py")}
    assert is_as_seen(tree(b="b = 3\n"), watched.seen)
    assert not is_as_seen(tree(a="a = 3\n"), watched.seen)


def test_a_file_that_is_gone_is_a_change() -> None:
    watched = WatchedTree(tree())
    watched.digest("vllm/a.py")

    assert not is_as_seen(TextTree(source(), {"vllm/b.py": "b = 2\n"}), watched.seen)


def test_whoever_lists_the_files_sees_a_new_one() -> None:
    watched = WatchedTree(tree())
    assert list(watched.paths()) == ["vllm/a.py", "vllm/b.py"]

    assert set(watched.seen) == {LISTING}
    assert is_as_seen(tree(b="b = 3\n"), watched.seen)
    assert not is_as_seen(tree(c="c = 1\n"), watched.seen)


def test_bringing_files_near_is_no_look_at_them() -> None:
    watched = WatchedTree(tree())
    watched.prefetch(["vllm/a.py"])

    assert watched.seen == {}
    assert watched.source == source()
