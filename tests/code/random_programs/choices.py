"""Where a random program's choices come from: a hypothesis strategy, or a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices(Protocol):
    """Makes choices, one after another."""

    def below(self, count: int) -> int:
        """A number from 0 to ``count`` - 1."""
        ...


class Drawn:
    """Choices that hypothesis makes, and shrinks: the first option is the simplest."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw

    def below(self, count: int) -> int:
        return int(self.draw(st.integers(0, count - 1)))


class Seeded:
    """Choices that a seed makes: ten times as fast, for long campaigns."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def below(self, count: int) -> int:
        return self.random.randrange(count)


def one_of(choices: Choices, options: Sequence[T]) -> T:
    """One of the options."""
    return options[choices.below(len(options))]


def chance(choices: Choices, percent: int) -> bool:
    """True about so often."""
    return choices.below(100) >= 100 - percent
