"""Patches and their proofs are kept for as long as what they rest on is the same."""

import pytest

from investigator.conduct import Repairs
from investigator.kept_repairs import kept
from investigator.model import Json, NotChecked, Remedy, RemedyKind
from investigator.sources.interface import Tree
from tests.support.builders import TextTree, patch, source
from tests.support.records import Shelf


class Workshop:
    """Makes a patch after reading ``a.py``; counts how often."""

    def __init__(self, *not_checked: NotChecked) -> None:
        self.made = 0
        self.not_checked = not_checked

    def __call__(self, tree: Tree) -> Repairs:
        self.made += 1
        return Repairs(
            patches=(patch(text=tree.read("vllm/a.py").decode()),),
            not_checked=self.not_checked,
            proofs={"order": {"0001-shift.patch": ["0002-drop.patch"]}, "together": None},
            settings={"rope": (Remedy(kind=RemedyKind.SETTING, ref="--flag", effect="avoids it"),)},
            detours=({"command": "vllm serve x --flag", "avoids": ["rope"]},),
        )


def tree(a: str = "one\n", b: str = "x\n") -> TextTree:
    return TextTree(source(), {"vllm/a.py": a, "vllm/b.py": b})


def test_the_second_run_takes_them_as_they_were() -> None:
    shelf, workshop = Shelf(), Workshop(NotChecked(what="a patch for rope", why="no repair is known"))

    first = kept(shelf, tree(), "case", workshop)
    second = kept(shelf, tree(b="y\n"), "case", workshop)

    assert first == second
    assert second.patches[0] == patch(text="one\n")
    assert workshop.made == 1


@pytest.mark.parametrize(
    ("engine", "case"), [(tree(a="two\n"), "case"), (tree(), "another case")], ids=["file", "facts"]
)
def test_a_change_in_what_they_rest_on_makes_them_anew(engine: TextTree, case: str) -> None:
    shelf, workshop = Shelf(), Workshop()
    kept(shelf, tree(), "case", workshop)

    made = kept(shelf, engine, case, workshop)

    assert workshop.made == 2
    assert made.patches[0].text == engine.texts["vllm/a.py"]


def test_what_git_refused_is_tried_again() -> None:
    """It may have been the disk, or git that was not there."""
    shelf = Shelf()
    workshop = Workshop(NotChecked(what="a patch", why="tried with git: does not apply: no space left"))

    for _ in range(2):
        kept(shelf, tree(), "case", workshop)

    assert workshop.made == 2


@pytest.mark.parametrize(
    "strange",
    [None, "text", [], {"seen": {}}, {"seen": {}, "repairs": {}}, {"seen": 3, "repairs": {"patches": []}}],
    ids=repr,
)
def test_a_record_of_another_shape_is_none(strange: Json) -> None:
    class Strange(Shelf):
        def record(self, kind: str, key: str) -> Json | None:
            return strange

    workshop = Workshop()

    assert kept(Strange(), tree(), "case", workshop).patches[0].text == "one\n"
    assert workshop.made == 1
