"""The package that every random program stands in: what its function ``run`` may use.

``made/shapes.py`` holds classes, ``made/tools.py`` functions and module-level state,
``made/__init__.py`` hands some of them on; ``made/program.py`` is the program itself, which
gets them by every kind of import.
"""

from __future__ import annotations

SHAPES = """
from __future__ import annotations

import contextlib
import enum
import functools
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Kind", "Mode", "Level", "Point", "Pair", "Guard", "Config", "Box", "Down", "Frozen"]


class Kind(enum.Enum):
    LEFT = 1
    RIGHT = 2


class Mode(str, enum.Enum):
    FAST = "fast"
    SLOW = "slow"


class Level(enum.IntEnum):
    LOW = enum.auto()
    HIGH = enum.auto()

    @property
    def other(self):
        return Level.LOW if self is Level.HIGH else Level.HIGH

    @classmethod
    def of(cls, number):
        return cls.HIGH if number > 2 else cls.LOW


class Base:
    shared = 7
    log = None

    def __init__(self, size, items=None):
        self.size = size
        self.items = [] if items is None else items

    @property
    def double(self):
        return self.size * 2

    @double.setter
    def double(self, value):
        self.size = value // 2

    def add(self, item, *more, times=1):
        for _ in range(times):
            self.items.append(item)
        self.items.extend(more)
        return len(self.items)

    def describe(self):
        return f"{type(self).__name__}:{self.size}"

    @classmethod
    def make(cls, size):
        return cls(size)

    @staticmethod
    def twice(value):
        return value + value


class Derived(Base):
    shared = 8

    def __init__(self, size, items=None, extra=5):
        super().__init__(size + 1, items)
        self.extra = extra

    def describe(self):
        return "derived " + super().describe()

    def __len__(self):
        return len(self.items)

    def __getitem__(self, key):
        return self.items[key]

    def __iter__(self):
        return iter(self.items)

    def __contains__(self, item):
        return item in self.items


class Loud:
    def describe(self):
        return super().describe() + "!"

    def __getattr__(self, name):
        if name == "nope" or name.startswith("_"):
            raise AttributeError(name)
        return len(name)


class Counted:
    made = 0

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        type(self).made += 1

    def describe(self):
        return "counted " + super().describe()

    @functools.cached_property
    def total(self):
        return sum(self.items) + self.size


class Mixed(Loud, Counted, Derived):
    def __eq__(self, other):
        return isinstance(other, Base) and self.size == other.size

    def __add__(self, other):
        return self.size + other

    def __call__(self, value):
        return value - self.size


@dataclass
class Point:
    x: int
    y: int = 2
    tags: list = field(default_factory=list)

    def __post_init__(self):
        self.norm = self.x + self.y


@dataclass
class Spot(Point):
    z: int = 1

    def __post_init__(self):
        pass


@dataclass(frozen=True)
class Frozen:
    ids: tuple = (1,)
    table: dict = field(default_factory=dict)

    @classmethod
    def of(cls, items):
        return cls(tuple(items), {str(item): item for item in items})

    @property
    def first(self):
        return self.ids[0] if self.ids else 0


class Pair(NamedTuple):
    left: int
    right: int = 4


class Guard:
    def __init__(self, seen, swallow):
        self.seen = seen
        self.swallow = swallow

    def __enter__(self):
        self.seen.append(-1)
        return self

    def __exit__(self, kind, error, trace):
        self.seen.append(-2)
        return self.swallow and kind is not None and issubclass(kind, Exception)


class Config:
    kind = "plain"

    def __init__(self, **given):
        self.size = given.pop("size", 4)
        for name, value in given.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        super().__setattr__("size" if name == "alias" else name, value)

    def __getitem__(self, name):
        return getattr(self, name)

    def __setitem__(self, name, value):
        setattr(self, name, value)

    def __iadd__(self, other):
        self.size += other
        return self

    def __bool__(self):
        return self.size != 0

    def __format__(self, spec):
        return f"{self.kind}:{self.size}:{spec}"

    def to_dict(self):
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def get(self, name, default=None):
        return getattr(self, name, default)


def register(kind):
    def mark(cls):
        cls.kind = kind
        return cls

    return mark


@register("box")
class Box(Config):
    def __delattr__(self, name):
        setattr(self, name, 0)

    def __copy__(self):
        return type(self)(size=self.size + 1)


class Down:
    def __init__(self, start):
        self.left = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.left <= 0:
            raise StopIteration
        self.left -= 1
        return self.left


@contextlib.contextmanager
def changed(owner, value):
    before = owner.size
    owner.size = value
    try:
        yield value
    finally:
        owner.size = before
"""

TOOLS = """
import contextlib
import functools

LIMIT = 3
NAMES = ["one", "two"]
NAMES.append("three")
SIZES = {"one": 1}
SIZES["two"] = 2
total = 0


class Odd(ValueError):
    pass


def reset():
    global total
    total = 0


def count(step=1):
    global total
    total += step
    return total


def optional(value, default=None, *rest, key="k", **more):
    if value is None:
        return default
    return [value, default, list(rest), key, sorted(more)]


def named(a, /, b=2, *, c=3, **more):
    return a + b * c + sum(more.values())


def collect(item, into=[]):
    into.append(item)
    return len(into)


def risky(value):
    if value % 3 == 0:
        raise Odd(f"value {value}")
    if value % 5 == 0:
        raise KeyError("five")
    return value


def depth(value):
    return 0 if value <= 0 else 1 + depth(min(value, 9) - 2)


def plus_one(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return wrapper


@plus_one
def wrapped(value):
    return value * 2


def numbers(stop):
    for number in range(stop):
        yield number * number


def drip(items, seen):
    for item in items:
        seen.append(item)
        if item == 4:
            return
        yield item * 2


def both(items, seen):
    yield from drip(items, seen)
    yield len(seen)


@functools.lru_cache(maxsize=2)
def kept(value):
    count()
    return [value]


@contextlib.contextmanager
def counted(step):
    try:
        yield count(step)
    except KeyError:
        count(2)
    count()


def counter(start):
    def step(by=1):
        nonlocal start
        start += by
        return start

    return step
"""

PACKAGE = """
from .shapes import *
from .shapes import Base, Derived, Mixed as Blend
from .shapes import changed
from .tools import Odd, NAMES
"""

HEAD = """
from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import itertools

import made.tools as helpers
from made import Base, Blend, Box, Config, Derived, Down, Frozen, Guard, Kind, Level, Mode, NAMES, Odd
from made import Pair, Point, changed
from made.shapes import Spot
from .tools import *
from .tools import SIZES as sizes, collect, reset
"""

FILES = {"made/__init__.py": PACKAGE, "made/shapes.py": SHAPES, "made/tools.py": TOOLS}
"""The files beside the program, by path."""
PROGRAM = "made/program.py"
"""Where the program stands."""
_CLASSES = """Base Blend Mixed Derived Guard Kind Mode Level Odd Pair Point Spot Loud Counted Config Box Down
Frozen"""
_FUNCTIONS = """reset count optional named collect risky depth wrapped plus_one numbers wrapper drip both kept
counted counter step changed"""
_METHODS = """make add describe twice of to_dict get __enter__ __exit__ __eq__ __add__ __call__ __len__
__iter__ __iadd__ __format__ __copy__"""
FOLLOWED = frozenset(f"{_CLASSES} {_FUNCTIONS} {_METHODS}".split())
"""What the interpreter is to enter, although it stands in another file than the caller."""
