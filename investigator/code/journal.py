"""A journal of changes to the interpreted program's objects, so that they can be undone.

To take both sides of an undecided condition, the first is run, its changes are noted and
undone, and the second is run; ``heap`` joins the two. An object that was made after a level was
opened is not noted in it: nobody on the other side can see it, so there is nothing to undo.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from investigator.code.heap import Container, Contents, T
from investigator.code.values import (
    ABSENT,
    ClassValue,
    FunctionValue,
    Instance,
    Stream,
    Value,
)


@dataclass(eq=False)
class Level:
    """What one span of execution touched: each container with its content before.

    ``keys``: where it is asked for, which keys of a dict were assigned (None: any).
    """

    opened: int
    before: Contents = field(default_factory=dict)
    keys: dict[int, set[Any] | None] | None = None


@dataclass
class Journal:
    """Open levels, innermost last. ``copied`` counts the elements it has copied so far."""

    levels: list[Level] = field(default_factory=list)
    copied: int = 0
    _clock: int = 0
    _tracking: list[Level] = field(default_factory=list)
    _born: dict[int, tuple[object, int]] = field(default_factory=dict)

    def born(self, container: T) -> T:
        """Note that a container was made just now."""
        if self.levels:
            self._clock += 1
            self._born[id(container)] = (container, self._clock)
        return container

    def made_since(self, value: Value, level: Level) -> bool:
        """Whether an object was made after a level was opened."""
        container = value
        if isinstance(value, Instance):
            container = value.attributes
        elif isinstance(value, Stream):
            container = value.position
        elif isinstance(value, (FunctionValue, ClassValue)):
            container = value.scope.variables
        return self._birth(container) > level.opened

    def _birth(self, container: Container) -> int:
        found = self._born.get(id(container))
        return found[1] if found is not None else 0

    def touch(self, container: Container, key: Any = None) -> None:
        """Note the content of a container before it is changed (at a key, where that is known;
        ABSENT: at keys that are noted apart)."""
        if not self.levels:
            return
        identity = id(container)
        if identity not in self.levels[-1].before:
            birth, content = self._birth(container), None
            for level in reversed(self.levels):
                if level.opened < birth:
                    break
                if identity not in level.before:
                    if content is None:
                        content = container.copy()
                        self.copied += len(container)
                    level.before[identity] = (container, content)
        for level in self._tracking:
            if level.keys is not None and identity in level.before:
                touched = level.keys.setdefault(identity, set())
                if key is None:
                    level.keys[identity] = None
                elif key is ABSENT:
                    pass
                elif touched is not None:
                    touched.add(key)

    def open(self, *, keys: bool = False) -> Level:
        """Begin a span whose changes can be undone or joined."""
        self._clock += 1
        level = Level(self._clock, keys={} if keys else None)
        self.levels.append(level)
        if keys:
            self._tracking.append(level)
        return level

    def close(self, level: Level) -> None:
        """End a span; spans that were opened later stay open."""
        self.levels = [other for other in self.levels if other is not level]
        if level.keys is not None:
            self._tracking = [other for other in self._tracking if other is not level]
        if not self.levels:
            self._born.clear()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Work something out as if no level were open: it holds on every side."""
        kept = self.levels, self._tracking, self._born
        self.levels, self._tracking, self._born = [], [], {}
        try:
            yield
        finally:
            self.levels, self._tracking, self._born = kept

    def fill(self, container: Container, content: Container) -> None:
        """Give a container this content, in place."""
        self.copied += len(content)
        container.clear()
        if isinstance(container, list):
            container.extend(content)
        else:
            container.update(content)

    def undo(self, level: Level) -> None:
        """Put everything the span touched back."""
        for container, content in level.before.values():
            self.fill(container, content)

    def install(self, contents: Contents) -> None:
        """Make the present state one that some side had arrived at."""
        for container, content in contents.values():
            self.change(container, content)

    def change(self, container: Container, content: Container) -> None:
        """Give a container another content; noted as a change of the keys that differ."""
        if isinstance(container, dict) and isinstance(content, dict):
            missing = object()
            differ = [
                key
                for key in {**container, **content}
                if container.get(key, missing) is not content.get(key, missing)
            ]
            if not differ and list(container) == list(content):
                return
            for key in differ:
                self.touch(container, key)
        self.touch(container, ABSENT)
        self.fill(container, content)
