"""GitHub's list of changed files, and what PyGithub raises about an answer."""

from collections.abc import Callable

import pytest
from requests.exceptions import ConnectionError as Unreachable
from requests.exceptions import ReadTimeout

from investigator.errors import NotFoundError, SourceError
from investigator.model import Json
from investigator.sources.github import PullRequestTree
from investigator.sources.github_api import _called
from investigator.sources.github_files import read_rows
from tests.support.builders import source


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"message": "no"}, "a/b#7: GitHub's file list is not a list"),
        (["a.py"], "a/b#7: GitHub's file list has a row without a file"),
        ([{"filename": "a.py"}], "a/b#7: GitHub's file list has a row without a file"),
        ([{"filename": 7, "status": "added"}], "a/b#7: GitHub's file list has a row without a file"),
    ],
)
def test_a_list_of_another_shape(data: Json, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_rows(data, "a/b#7")

    assert (str(caught.value), caught.value.advice) == (said, "try again later")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Unreachable("x"), "cannot be reached (ConnectionError)"),
        (ReadTimeout("x"), "stopped answering"),
        (RuntimeError("x"), "redirects elsewhere, which is not followed"),
        (ValueError("x"), "sent an answer that cannot be read"),
    ],
)
def test_what_the_library_raises_is_told(error: Exception, said: str) -> None:
    def ask() -> None:
        raise error

    with pytest.raises(SourceError) as caught:
        _called(ask, "a/b#7", "https://host")

    assert str(caught.value) == f"a/b#7: https://host {said}"


def test_what_is_no_answers_fault_is_a_defect() -> None:
    def ask() -> None:
        raise AttributeError("x")

    with pytest.raises(AttributeError):
        _called(ask, "a/b#7", "https://host")


@pytest.mark.parametrize("base_file", [None, lambda path: None])
def test_what_a_file_was_before_cannot_be_had(base_file: Callable[[str], bytes | None] | None) -> None:
    tree = PullRequestTree(source(), {}, base_file)

    with pytest.raises(NotFoundError, match=r"base/a\.py cannot be had"):
        tree.read("base/a.py")
