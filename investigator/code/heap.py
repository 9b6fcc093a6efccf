"""A journal of changes to the interpreted program's objects.

To take both branches of an undecided condition, the first is run, its changes are noted
and undone, the second is run, and where the two disagree the join is ``OneOf`` (few known
options) or ``Unknown``. The same journal serves a branch that returns early: the rest of
the function runs in an open level that is joined with the early return when the function ends.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from investigator.code.values import OneOf, Unknown, Value

Container = dict[Any, Any] | list[Any] | set[Any]

_ABSENT = Unknown("may not be set")
MAX_OPTIONS = 4


@dataclass
class Level:
    """What one span of execution touched: each container with its content before."""

    before: dict[int, tuple[Container, Container]] = field(default_factory=dict)


Contents = dict[int, tuple[Container, Container]]
"""Containers by id, each with a content it had at some moment."""


@dataclass
class Journal:
    """Open levels, innermost last."""

    levels: list[Level] = field(default_factory=list)

    def touch(self, container: Container) -> None:
        """Note the content of a container before it is changed."""
        for level in self.levels:
            if id(container) not in level.before:
                level.before[id(container)] = (container, container.copy())

    def open(self) -> Level:
        """Begin a span whose changes can be undone or joined."""
        level = Level()
        self.levels.append(level)
        return level

    def close(self, level: Level) -> None:
        """End a span; spans that were opened later stay open."""
        self.levels = [other for other in self.levels if other is not level]

    @staticmethod
    def fill(container: Container, content: Container) -> None:
        """Give a container this content, in place."""
        container.clear()
        if isinstance(container, list):
            container.extend(content)
        else:
            container.update(content)  # type: ignore[arg-type]

    def undo(self, level: Level) -> Contents:
        """Put everything the span touched back; returns the contents it had arrived at."""
        after = {key: (container, container.copy()) for key, (container, _) in level.before.items()}
        for container, content in level.before.values():
            self.fill(container, content)
        return after

    def join(self, level: Level, other: Contents, because: Unknown) -> None:
        """Make the present state the join of itself and the state ``other`` had arrived at.

        ``level`` is the span that led from the common start to the present state.
        """
        keys = set(level.before) | set(other)
        for key in keys:
            container = (level.before.get(key) or other[key])[0]
            there = other[key][1] if key in other else level.before[key][1]
            here = container.copy()
            joined = join_contents(here, there, because)
            if joined is not here:
                self.touch(container)
                self.fill(container, joined)


def join_contents(here: Container, there: Container, because: Unknown) -> Container:
    """The join of two contents of one container; ``here`` itself when they agree."""
    if isinstance(here, dict) and isinstance(there, dict):
        joined = {
            key: join_values(here.get(key, _ABSENT), there.get(key, _ABSENT), because)
            for key in [*here, *(k for k in there if k not in here)]
        }
        return here if _same_dict(joined, here) else joined
    if isinstance(here, list) and isinstance(there, list):
        if len(here) == len(there):
            elements = [join_values(a, b, because) for a, b in zip(here, there, strict=True)]
            return here if all(a is b for a, b in zip(elements, here, strict=True)) else elements
        common: list[Value] = []
        for a, b in zip(here, there, strict=False):
            if not same(a, b):
                break
            common.append(a)
        return [*common, spread(because)]
    if here == there:
        return here
    return {*here, spread(because)}


def spread(because: Unknown) -> Unknown:
    """Stands for any number of elements, for a reason."""
    return Unknown(because.reason, because.place, because.not_followed, spread=True)


def _same_dict(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    return len(a) == len(b) and all(key in b and a[key] is b[key] for key in a)


def same(a: Value, b: Value) -> bool:
    """Whether two values are surely the same (``1`` and ``True`` are not)."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, (Unknown, OneOf)):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    try:
        return bool(a == b)
    except RecursionError:
        return False


def join_values(a: Value, b: Value, because: Unknown) -> Value:
    """``a`` where the two agree; else what is known about either."""
    if same(a, b):
        return a
    options = list(_options(a))
    for option in _options(b):
        if not any(same(option, known) for known in options):
            options.append(option)
    if len(options) > MAX_OPTIONS:
        return because
    return OneOf(tuple(options), because.place, because)


def _options(value: Value) -> Iterable[Value]:
    return value.options if isinstance(value, OneOf) else (value,)
