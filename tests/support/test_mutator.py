"""A rewrite keeps what the code does: each is run before and after, on code of this project's own."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tree_sitter import Node

from tests.support import mutator
from tests.support.mutator import Files

FILES: Files = {
    "toy/__init__.py": b"",
    "toy/limits.py": b"MOST = 3\n\n\ndef most():\n    return MOST\n",
    "toy/tables.py": b'REGISTRY = {"pick": ("toy.parts.pick", "Picker")}\n',
    "toy/parts/__init__.py": b"from .pick import Picker\n",
    "toy/parts/pick.py": b'''\
import operator as op
from toy import limits
from toy.limits import most

STEP = 1


class Picker:
    """Picks numbers."""

    def __init__(self, config):
        self.config = config

    def _numbers(self):
        """Every number, one further."""
        asked = self.config.get("numbers")
        if not asked:
            if self.config.get("strict"):
                return None
            asked = range(most())
        elif len(asked) > limits.MOST:
            return tuple(asked[: limits.MOST])
        return tuple(op.add(number, STEP) for number in asked)

    def take(self):
        found = self._numbers()
        total = 0
        for index, (left, right) in enumerate(zip(found or (), found or ())):
            total += left * right + index
        return found, total
''',
}
CASES: list[Mapping[str, object]] = [
    {},
    {"strict": True},
    {"numbers": [4, 5]},
    {"numbers": [4, 5, 6, 7]},
]
# None: 1 + 2 + 3, ids one further; strict: none; ...
EXPECTED = [((1, 2, 3), 17), (None, 0), ((5, 6), 62), ((4, 5, 6), 80)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy"]:
        del sys.modules[name]


def results(folder: Path, files: Files, module: str = "toy.parts.pick") -> list[object]:
    """What the toy picks in each case."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    found = __import__(module, fromlist=["Picker"])
    return [found.Picker(case).take() for case in CASES]


def test_the_toy_itself(folder: Path) -> None:
    assert results(folder, FILES) == EXPECTED


def test_modules_move_with_their_imports(folder: Path) -> None:
    names = {"toy/limits.py": "toy/bounds.py", "toy/parts/pick.py": "toy/parts/choose.py"}

    files = mutator.rename_modules(FILES, names)

    assert sorted(files) == sorted(names.get(path, path) for path in FILES)
    assert b'"toy.parts.choose"' in files["toy/tables.py"].replace(b"'", b'"')
    assert results(folder, files, "toy.parts.choose") == EXPECTED


def test_a_method_moves_to_a_file_of_its_own(folder: Path) -> None:
    files = mutator.move_function(FILES, "toy/parts/pick.py", "_numbers", "toy/numbers.py")

    assert b"asked" not in files["toy/parts/pick.py"]
    assert results(folder, files) == EXPECTED


def test_a_helper_is_written_out_where_it_is_called(folder: Path) -> None:
    files = mutator.inline_function(FILES, "toy/parts/pick.py", "_numbers")

    assert b"found = self._numbers()" not in files["toy/parts/pick.py"]
    assert results(folder, files) == EXPECTED


@pytest.mark.parametrize(("function", "renamed"), [("_numbers", b"asked"), ("take", b"total")])
def test_locals_get_other_names(folder: Path, function: str, renamed: bytes) -> None:
    files = mutator.rename_locals(FILES, "toy/parts/pick.py", function)

    node = mutator.function_in(files["toy/parts/pick.py"], function)
    assert node.text is not None
    assert b"renamed_" + renamed in node.text
    assert results(folder, files) == EXPECTED


def test_all_of_it_one_after_another(folder: Path) -> None:
    files = mutator.rename_locals(FILES, "toy/parts/pick.py", "Picker._numbers")
    files = mutator.move_function(files, "toy/parts/pick.py", "Picker._numbers", "toy/numbers.py")
    files = mutator.rename_modules(files, {"toy/numbers.py": "toy/many.py", "toy/limits.py": "toy/bounds.py"})

    assert results(folder, files) == EXPECTED


def test_a_fault_is_put_in(folder: Path) -> None:
    def unshift(call: Node) -> str | None:
        return "number" if call.text == b"op.add(number, STEP)" and mutator.within(call, "_numbers") else None

    files = mutator.edit_nodes(FILES, "toy/parts/pick.py", "call", unshift)

    # Unshifted: 0 1 2, none, 4 5, and the long list was never shifted.
    assert results(folder, files)[0] == ((0, 1, 2), 8)


def test_a_change_that_changes_nothing_is_an_error() -> None:
    with pytest.raises(AssertionError, match="was changed"):
        mutator.edit_nodes(FILES, "toy/limits.py", "call", lambda call: None)
    with pytest.raises(AssertionError, match="0 functions are called gone"):
        mutator.rename_locals(FILES, "toy/limits.py", "gone")
