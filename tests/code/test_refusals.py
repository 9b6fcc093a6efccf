"""What objects and plain values refuse to do, and what objects do in a way of their own instead."""

from __future__ import annotations

import pytest

from investigator.code.values import Raised, Unknown
from tests.code.running import run

CLASSES = """
    import copy
    import enum
    import triton
    from dataclasses import dataclass, field

    class Bare:
        pass

    class Row:
        def __init__(self, *items): self.items = items
        def __getitem__(self, number): return self.items[number]
        def __setitem__(self, number, value): pass

    class Named:
        def keys(self): return ["a", "b"]
        def __getitem__(self, name): return name * 2

    class Loud:
        def __getattr__(self, name): return len(name)

    class Size:
        def __init__(self, size): self.size = size
        def __lt__(self, other): return self.size < other.size

    @dataclass
    class Point:
        x: int = 1

    @dataclass(frozen=True)
    class Frozen:
        ids: list = field(default_factory=list)

    class Kind(enum.Enum):
        LEFT = 1

    class Level(enum.IntEnum):
        LOW = 1

    def mark(cls):
        return cls

    @triton.jit
    def kernel(x):
        pass

    @mark
    class Marked:
        pass
"""


def value_of(expression: str) -> object:
    return run(f"{CLASSES}\n    def run():\n        return {expression}\n")


@pytest.mark.parametrize(
    "expression",
    [
        "len(Bare())",
        "abs(Bare())",
        "int(Bare())",
        "range(Bare())",
        "len([].append)",
        "-(lambda: 1)",
        "(lambda: 1)[0]",
        "Bare() < 1",
        "Marked() < 1",
        "[Bare()] < 1",
        "[Bare(), 1] < [Bare(), 2]",
        "KeyError('k') + 1",
        "max(1, Bare())",
        "min([Bare(), Bare()])",
        "sorted([Bare(), 1])",
        "[1, Bare()].sort()",
        "1 in Bare()",
        "Bare() in 'text'",
        "list(Bare())",
        "'text'.startswith(Bare())",
        "f'{Bare():>3}'",
        "f'{[1]:>3}'",
        "enumerate([], 1.5)",
        "getattr(Bare(), Bare())",
        "hasattr(Bare(), 1)",
        "sum(x for x in 5)",
        "{**Bare()}",
        "dict(Bare())",
        "dict(Loud())",
        "{}.update(Loud())",
        "{Point(): 1}",
        "{Frozen(): 1}",
        "{1} & [2]",
        "{}.items() in {1}",
        "copy.copy({}.items())",
        "1 | (lambda: 1)",
        "(x for x in Bare())",
    ],
)
def test_a_type_error(expression: str) -> None:
    with pytest.raises(Raised, match="TypeError"):
        value_of(expression)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("Bare()[0] = 1", "TypeError"),
        ("Bare[0] = 1", "TypeError"),
        ("[].append[0] = 1", "TypeError"),
        ("del Bare()[0]", "TypeError"),
        ("del Row(1)[0]", "AttributeError"),
        ("del Frozen().ids", "FrozenInstanceError"),
        ("iter([]).extra", "AttributeError"),
        ("{}.items().extra", "AttributeError"),
    ],
)
def test_statements_that_raise(statement: str, error: str) -> None:
    with pytest.raises(Raised, match=error):
        run(f"{CLASSES}\n    def run():\n        {statement}\n")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("list(Row(4, 5))", [4, 5]),
        ("[x + 1 for x in Row(4, 5)], 5 in Row(4, 5), 6 in Row(4)", ([5, 6], True, False)),
        ("dict(Named()), {'a': 1, **Named()}", ({"a": "aa", "b": "bb"}, {"a": "aa", "b": "bb"})),
        ("(lambda **given: given)(**Named())", {"a": "aa", "b": "bb"}),
        ("max([Size(2), Size(3), Size(1)]).size if False else min([Size(2), Size(1)]).size", 1),
        ("[s.size for s in sorted([Size(2), Size(3), Size(1)])]", [1, 2, 3]),
        ("[s.size for s in sorted([Size(2), Size(3), Size(1)], reverse=True)]", [3, 2, 1]),
        ("[n for n, _ in sorted([(1, Bare()), (0, Bare())])]", [0, 1]),
        ("(1, Bare()) < (2, Bare()), [Bare()] < [Bare(), 1] if False else 3", (True, 3)),
        ("max([Bare()]).__class__.__name__", "Bare"),
        ("{1} in {frozenset([1]), 2}, {1} in {2}", (True, False)),
        ("copy.deepcopy([Kind.LEFT])[0] is Kind.LEFT", True),
        ("hasattr(iter([]), 'extra'), hasattr({}.items(), 'extra')", (False, False)),
    ],
)
def test_what_objects_do_in_their_own_way(expression: str, value: object) -> None:
    assert value_of(expression) == value


@pytest.mark.parametrize(
    "expression",
    ["f'{Level.LOW!r}'", "kernel[1]", "len(kernel)", "hasattr(lambda: 1, 'extra')", "vars(Level.LOW)"],
)
def test_what_is_not_known(expression: str) -> None:
    assert isinstance(value_of(expression), Unknown)
