"""What is said about a document that is not the one that was expected."""

import json
import operator
from collections.abc import Callable

import pytest

from investigator.errors import what_is_wrong


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda: {}["case"], "it has no 'case'"),
        (lambda: operator.getitem(3, "case"), "it has another shape ('int' object is not subscriptable)"),  # type: ignore[call-overload]
        (lambda: [].items(), "it has another shape ('list' object has no attribute 'items')"),  # type: ignore[attr-defined]
        (lambda: int("x"), "invalid literal for int() with base 10: 'x'"),
        (lambda: json.loads(""), "Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_a_missing_key_is_named_as_one(read: Callable[[], object], said: str) -> None:
    with pytest.raises((KeyError, TypeError, AttributeError, ValueError)) as caught:
        read()

    assert what_is_wrong(caught.value) == said
