"""JSON from outside: what is refused, with which error, and what is said."""

import pytest

from investigator.checkpoints.strict_json import MAX_BYTES, read_json, read_object
from investigator.errors import InvestigateError, LimitError, UsageError


def test_plain_json_is_read() -> None:
    text = '{"ids": [1, 16], "eps": 1e-6, "window": null, "name": "\\u00e9 \\ud83d\\ude00 { [ \\""}'

    assert read_json(text.encode(), "config.json") == {
        "ids": [1, 16],
        "eps": 1e-6,
        "window": None,
        "name": 'é 😀 { [ "',
    }


def test_a_byte_order_mark_is_no_error() -> None:
    assert read_json(b'\xef\xbb\xbf{"a": 1}', "config.json") == {"a": 1}


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (b"{", UsageError, "is not JSON"),
        (b"", UsageError, "config.json of a/b is empty"),
        (b"\xef\xbb\xbf \n", UsageError, "config.json of a/b is empty"),
        (b"{'a': 1}", UsageError, "is not JSON"),
        (b'{"a": 1} {"b": 2}', UsageError, "is not JSON"),
        (b'{"a": "\xff"}', UsageError, "not UTF-8 at byte 7"),
        (b'{"a": NaN}', UsageError, "holds NaN"),
        (b'{"a": -Infinity}', UsageError, "holds -Infinity"),
        (b'{"a": 1e999}', LimitError, "too large"),
        (b'{"a": 1234567890123456789}', LimitError, "19 digits"),
        (b'{"x": {"a": 1, "b": 2, "a": 3}}', UsageError, "the key 'a' twice"),
        (rb'{"name": "\ud83d"}', UsageError, "half of a character"),
        (b"[" * 65 + b"]" * 65, LimitError, "deeper than 64"),
        (b"[" * 200_000, LimitError, "deeper than 64"),
        (b" " * (MAX_BYTES + 1), LimitError, "4,194,305 bytes"),
    ],
)
def test_what_two_readers_would_read_differently_is_refused(
    data: bytes, error: type[InvestigateError], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        read_json(data, "config.json of a/b")

    assert str(caught.value).startswith("config.json of a/b")
    assert caught.value.advice


def test_the_limits_themselves_are_allowed() -> None:
    deepest: object = 1
    for _ in range(64):
        deepest = [deepest]

    assert read_json(b"[" * 64 + b"1" + b"]" * 64, "x") == deepest
    assert read_json(b"[123456789012345678]", "x") == [123456789012345678]


@pytest.mark.parametrize(("data", "kind"), [(b"[]", "a list"), (b'"text"', "str"), (b"3", "int")])
def test_a_config_must_be_an_object(data: bytes, kind: str) -> None:
    with pytest.raises(UsageError, match=f"holds {kind} where an object was expected"):
        read_object(data, "config.json")
