"""What is known of types from outside the tree: literal types, and dicts of modules."""

import pytest

from tests.code.running import reason, run

HEAD = "from typing import Literal, get_args\nfrom torch import nn\n"


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("Kind = Literal['a', 'b']\ndef run():\n    return get_args(Kind)\n", ("a", "b")),
        ("Kind = Literal['a']\ndef run():\n    return get_args(Kind)\n", ("a",)),
        (
            "Few = Literal['a', 'b']\nMore = Literal['c', Few, 'c']\ndef run():\n    return get_args(More)\n",
            ("c", "a", "b"),
        ),
        ("Kind = Literal['a', 1, True]\ndef run():\n    return get_args(Kind)\n", ("a", 1, True)),
        (
            "Kind = Literal['a']\ndef run():\n    return 'a' in get_args(Kind), 'b' in get_args(Kind)\n",
            (True, False),
        ),
    ],
    ids=["values", "one", "nested", "kinds", "membership"],
)
def test_the_values_of_a_literal_type(body: str, value: object) -> None:
    assert run(HEAD + body) == value


def test_other_types_are_not_followed() -> None:
    found = run(HEAD + "def run():\n    return get_args(list[int])\n")

    assert "get_args() of a type that is not followed" in reason(found)


def test_a_dict_of_modules_is_a_dict_that_knows_what_it_is() -> None:
    body = (
        "def run():\n    made = nn.ModuleDict({str(i): [i] for i in range(2)})\n"
        "    return made['1'], list(made.values()), isinstance(made, nn.ModuleDict), "
        "isinstance({}, nn.ModuleDict)\n"
    )

    assert run(HEAD + body) == ([1], [[0], [1]], True, False)


def test_whether_a_list_is_a_list_of_modules_is_not_known() -> None:
    found = run(HEAD + "def run():\n    return isinstance(nn.ModuleList([1]), nn.ModuleList)\n")

    assert found is not False
