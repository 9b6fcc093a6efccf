"""Random programs and their arguments, as strategies and by seed.

A program is the text of a module with a function ``run``. It is run by Python itself
(``by_python``) and by the interpreter (``asking``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.code.random_programs.choices import Choices, Drawn, Seeded, one_of
from tests.code.random_programs.maker import PARAMETERS, Maker
from tests.code.random_programs.modules import HEAD

Arguments = dict[str, Any]


def program(choices: Choices, *, in_order: bool) -> str:
    """The text of a module with a function ``run``, which returns all that it knows."""
    maker = Maker(choices, in_order=in_order)
    maker.put(1, "reset()")
    maker.put(1, "conf = Config(size=b)")
    maker.kinds["conf"] = "conf"
    maker.block(1, 8)
    known = ", ".join(sorted(maker.kinds))
    maker.put(1, f"return [{known}, helpers.total, Base.shared, Derived.shared, Blend.made, sizes, NAMES]")
    body = "\n".join(maker.lines)
    return f"{HEAD}\n\ndef run({', '.join(PARAMETERS)}):\n{body}\n"


def arguments(choices: Choices) -> Arguments:
    """One value for each parameter of ``run``."""

    def numbers(low: int, high: int, most: int) -> list[int]:
        return [low + choices.below(high - low + 1) for _ in range(choices.below(most + 1))]

    return {
        "a": choices.below(14) - 4,
        "b": choices.below(14) - 4,
        "flag": choices.below(2) == 1,
        "word": one_of(choices, ["", "a", "bc", "one", "fast"]),
        "xs": numbers(-2, 6, 4),
        "ys": numbers(-2, 6, 4),
        "table": dict(zip(["a", "one", "bc"], numbers(0, 5, 2), strict=False)),
        "thing": one_of(choices, [None, 0, 1, 2, 3]),
    }


@st.composite
def programs(draw: Callable[[Any], Any], *, in_order: bool) -> str:
    """Programs, for hypothesis."""
    return program(Drawn(draw), in_order=in_order)


@st.composite
def inputs(draw: Callable[[Any], Any]) -> Arguments:
    """Arguments, for hypothesis."""
    return arguments(Drawn(draw))


def seeded(seed: int, *, runs: int, in_order: bool) -> tuple[str, list[Arguments]]:
    """The program of a number, and some arguments for it."""
    text = program(Seeded(f"program {seed}"), in_order=in_order)
    return text, [arguments(Seeded(f"arguments {seed} {number}")) for number in range(runs)]


def unknown_inputs(choices: Choices) -> frozenset[str]:
    """The parameters that the interpreter is not to know, at least one."""
    count = 1 + choices.below(5)
    return frozenset(one_of(choices, sorted(PARAMETERS)) for _ in range(count))
