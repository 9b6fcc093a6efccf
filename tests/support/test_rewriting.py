"""A shape leaves what code does as it is: each is run by Python before and after."""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.code.random_programs.by_python import LeftOpen, run_by_python
from tests.code.random_programs.modules import PROGRAM
from tests.code.random_programs.programs import seeded
from tests.support.rewriting import SHAPES, Files, rewritten
from tests.support.rewriting.names import private_names_changed

TOY = "shaped/parts.py"
FILES: Files = {
    "shaped/__init__.py": b"",
    "shaped/limits.py": b"MOST = 3\n\n\ndef most(by=1):\n    return MOST * by\n",
    TOY: b'''\
"""A toy that every shape finds something in."""

from __future__ import annotations

from shaped.limits import most

STEP = 1


def _shifted(number, step):
    """One further."""
    moved = number + step
    return moved


class Picker:
    def __init__(self, config):
        self.config = config
        self.step = STEP
        self.names = self._named("a")

    def _named(self, prefix, count=2):
        names = []
        for number in range(count):
            if number >= 0:
                names.append(f"{prefix}{number}")
        return names

    def _kind(self):
        method = self.config.get("method")
        if not method:
            return "none"
        if method == "block":
            return "dense"
        elif method == "tree":
            kind = "tree"
        else:
            kind = "other"
        return kind

    def _numbers(self):
        asked = self.config.get("numbers")
        if not asked:
            if self.config.get("strict"):
                raise ValueError("no numbers")
            asked = range(most())
        elif len(asked) > 3:
            return tuple(_shifted(number, step=5) for number in asked[:3])
        else:
            asked = [number for number in asked if number]
        self.last = asked
        found = [_shifted(number, self.step) for number in asked]
        return tuple(found)

    def take(self):
        kept = self._numbers()
        names = self._named("b", count=1)
        total = sum(kept) if kept else 0
        return kept, total, self._kind(), names + self.names, sorted(vars(self.config))


class Config:
    def __init__(self, method, **values):
        self.method = method
        self.values = values

    def get(self, key):
        if key == "method":
            return self.method if self.method in ("block", "tree", "odd") else None
        return self.values.get(key)

    @property
    def is_tree(self):
        if self.method == "tree":
            return True
        else:
            return False


def picked(method, **values):
    config = Config(method, **values)
    return Picker(config).take(), config.is_tree
''',
}
CASES: list[Mapping[str, object]] = [
    {"method": "block"},
    {"method": "tree", "strict": True},
    {"method": "tree", "numbers": [4, 0, 6]},
    {"method": "odd", "numbers": [4, 5, 6, 7]},
    {"method": "", "numbers": [0]},
]
NAMES = ["a0", "a1"]
EXPECTED = [
    (((1, 2, 3), 6, "dense", ["b0", *NAMES], ["method", "values"]), False),
    "no numbers",
    (((5, 7), 12, "tree", ["b0", *NAMES], ["method", "values"]), True),
    (((9, 10, 11), 30, "other", ["b0", *NAMES], ["method", "values"]), False),
    (((), 0, "none", ["b0", *NAMES], ["method", "values"]), False),
]
ALONE = {"split_into_module", "written_anew"}
"""Shapes that are not put to programs of one file made at random."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "shaped"]:
        del sys.modules[name]


def results(folder: Path, files: Files) -> list[object]:
    """What the toy picks in each case, or what its error says."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    picked = __import__("shaped.parts", fromlist=["picked"]).picked
    found: list[object] = []
    for case in CASES:
        try:
            found.append(picked(**case))
        except ValueError as error:
            found.append(str(error))
    return found


def test_the_toy_itself(folder: Path) -> None:
    assert results(folder, FILES) == EXPECTED


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_changes_the_text_and_nothing_else(folder: Path, name: str) -> None:
    if name == "properties_for_attributes":  # what vars() shows is the one thing that it changes
        expected = [each if isinstance(each, str) else _with_kept(each) for each in EXPECTED]
    else:
        expected = list(EXPECTED)

    files = rewritten(FILES, [TOY], SHAPES[name])

    assert files[TOY] != FILES[TOY]
    assert results(folder, files) == expected


def _with_kept(result: object) -> object:
    assert isinstance(result, tuple)
    return ((*result[0][:4], ["_kept_method", "_kept_values"]), result[1])


def test_private_names_are_changed_everywhere(folder: Path) -> None:
    files = private_names_changed(FILES, [TOY])

    assert b"_own_shifted" in files[TOY]
    assert results(folder, files) == EXPECTED


def test_all_shapes_one_after_another(folder: Path) -> None:
    files = dict(FILES)
    for name, shape in SHAPES.items():
        if name != "properties_for_attributes":
            files = rewritten(files, [TOY], shape)

    assert results(folder, files) == EXPECTED


# -- on programs made at random ----------------------------------------------------------


def plain(value: object) -> str:
    """A result, or an exception, without where its objects lie."""
    kind = type(value).__name__ if isinstance(value, BaseException) else ""
    return kind or re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def differences(seeds: range) -> tuple[list[str], int]:
    """Shapes that change what a program comes to, and how many texts were compared."""
    found, compared = [], 0
    for seed in seeds:
        text, (given,) = seeded(seed, runs=1, in_order=True)
        try:
            real = plain(run_by_python(text, given))
        except LeftOpen:
            continue
        for name in SHAPES.keys() - ALONE:
            again = rewritten({PROGRAM: text.encode()}, [PROGRAM], SHAPES[name])[PROGRAM].decode()
            if again == text:
                continue
            compared += 1
            try:
                came_to = plain(run_by_python(again, given))
            except LeftOpen:
                continue
            if came_to != real:
                found.append(f"{name} on {seed}: {real} became {came_to}")
    return found, compared


def test_programs_do_what_they_did() -> None:
    found, compared = differences(range(6))

    assert found == []
    assert compared > 10


@pytest.mark.slow
def test_many_programs_do_what_they_did() -> None:
    found, compared = differences(range(1000, 1120))

    assert found == []
    assert compared > 400
