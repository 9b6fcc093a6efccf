"""Answers are kept with the files they rest on, and asked for again when one of those changes."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from investigator.code.contents import EVERYTHING, Contents
from investigator.code.syntax import Place
from investigator.engines.interface import RunnerChoice, Step, Told
from investigator.engines.remembered import (
    MOST_ENTRIES,
    Memory,
    as_choice,
    as_told,
)
from investigator.model import Json, Known, NotKnown, Outcome, Refused, Runner, Unsupported
from tests.support.builders import TextTree, source
from tests.support.miniature_vllm import checkpoint
from tests.support.records import Shelf

A, B = "vllm/a.py", "vllm/b.py"


class Engine:
    """Answers with the text of ``a.py``; counts how often it was asked."""

    def __init__(self, tree: TextTree, *rests_on: str) -> None:
        self.tree = tree
        self.rests_on = rests_on or (A,)
        self.asked = 0

    def __call__(self) -> tuple[Told, Mapping[str, str]]:
        self.asked += 1
        present = self.tree.paths()
        digests = {path: self.tree.digest(path) if path in present else "" for path in self.rests_on}
        return Told(outcome=Known(self.tree.texts[A]), steps=(Step(Place(A, 1, 1), "says so"),)), digests


def tree(**texts: str) -> TextTree:
    return TextTree(source("vllm"), {f"vllm/{name}.py": text for name, text in texts.items()})


def memory(shelf: Shelf, **draft: Json) -> Memory:
    """A memory as a new process would make it."""
    return Memory(shelf, checkpoint(**draft), {})


def test_the_second_time_nobody_is_asked() -> None:
    shelf, engine = Shelf(), Engine(tree(a="one"))

    first = memory(shelf).of(engine.tree).told("offset/v1", engine)
    second = memory(shelf).of(engine.tree).told("offset/v1", engine)

    assert first == second
    assert second.outcome == Known("one")
    assert engine.asked == 1


def test_a_change_in_a_file_that_the_answer_rests_on_is_seen() -> None:
    shelf = Shelf()
    before, after = Engine(tree(a="one", b="x")), Engine(tree(a="two", b="x"))
    memory(shelf).of(before.tree).told("offset/v1", before)

    assert memory(shelf).of(after.tree).told("offset/v1", after).outcome == Known("two")
    assert after.asked == 1


def test_a_change_elsewhere_is_none() -> None:
    """What carries an answer from one release to the next."""
    shelf = Shelf()
    before, after = Engine(tree(a="one", b="x")), Engine(tree(a="one", b="y"))
    memory(shelf).of(before.tree).told("offset/v1", before)

    assert memory(shelf).of(after.tree).told("offset/v1", after).outcome == Known("one")
    assert after.asked == 0


def test_a_file_that_was_looked_for_and_appears_is_a_change() -> None:
    shelf = Shelf()
    before = Engine(tree(a="one"), A, B)
    memory(shelf).of(before.tree).told("offset/v1", before)
    after = Engine(tree(a="one", b=""), A, B)

    memory(shelf).of(after.tree).told("offset/v1", after)

    assert after.asked == 1


def test_after_a_full_search_any_python_file_counts_and_no_other_does() -> None:
    shelf = Shelf()
    first = tree(a="one", b="x")
    rests = {EVERYTHING: Contents(first).fact(EVERYTHING)}
    memory(shelf).of(first).told("offset/v1", lambda: (Told(outcome=Known(1)), rests))

    with_readme = TextTree(source("vllm"), {**first.texts, "vllm/README.md": "new"})
    same = memory(shelf).of(with_readme).told("offset/v1", lambda: (Told(outcome=Known(2)), rests))
    other = memory(shelf).of(tree(a="one", b="y")).told("offset/v1", lambda: (Told(outcome=Known(3)), rests))

    assert (same.outcome, other.outcome) == (Known(1), Known(3))


@pytest.mark.parametrize(
    "changed",
    [
        lambda shelf: memory(shelf, block_size=8),
        lambda shelf: Memory(shelf, checkpoint(), {"VLLM_USE_V2_MODEL_RUNNER": "1"}),
    ],
    ids=["another checkpoint", "another environment"],
)
def test_another_case_is_asked_anew(changed: Callable[[Shelf], Memory]) -> None:
    shelf, engine = Shelf(), Engine(tree(a="one"))
    memory(shelf).of(engine.tree).told("offset/v1", engine)

    changed(shelf).of(engine.tree).told("offset/v1", engine)

    assert engine.asked == 2


def test_questions_are_apart() -> None:
    shelf, engine = Shelf(), Engine(tree(a="one"))

    memory(shelf).of(engine.tree).told("offset/v1", engine)
    memory(shelf).of(engine.tree).told("offset/v2", engine)

    assert engine.asked == 2


def test_each_record_is_read_once_however_many_trees_are_asked() -> None:
    shelf = Shelf()
    shared = memory(shelf)

    for text in ("one", "two", "one", "two", "three"):
        engine = Engine(tree(a=text))
        assert shared.of(engine.tree).told("offset/v1", engine).outcome == Known(text)

    assert (shelf.read, shelf.written) == (1, 3)


def test_threads_lose_no_answer() -> None:
    shelf = Shelf()
    shared = memory(shelf)
    engines = [Engine(tree(a=str(number))) for number in range(MOST_ENTRIES)]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda engine: shared.of(engine.tree).told("offset/v1", engine), engines))
    for engine in engines:
        memory(shelf).of(engine.tree).told("offset/v1", engine)

    assert [engine.asked for engine in engines] == [1] * MOST_ENTRIES


def test_the_oldest_answers_make_room() -> None:
    shelf = Shelf()
    shared = memory(shelf)
    engines = [Engine(tree(a=str(number))) for number in range(MOST_ENTRIES + 1)]
    for engine in engines:
        shared.of(engine.tree).told("offset/v1", engine)

    for engine in (engines[-1], engines[0]):
        shared.of(engine.tree).told("offset/v1", engine)

    assert (engines[-1].asked, engines[0].asked) == (1, 2)


@pytest.mark.parametrize(
    "outcome",
    [
        Known([1, None, "two"]),
        Known({"running": 3}),
        Known(None),
        Refused("NotImplementedError: mixed"),
        Unsupported("no such method"),
        NotKnown("a loop"),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
@pytest.mark.parametrize("live", [True, False, None])
def test_every_answer_comes_back_as_it_was(outcome: Outcome, live: bool | None) -> None:
    shelf = Shelf()
    told = Told(
        outcome=outcome,
        steps=(Step(Place(A, 3, 5), "reads the key"), Step(Place(B, 1, 1), "hands it on")),
        assumptions=("one GPU",),
        note="off by default",
        live=live,
    )
    memory(shelf).of(tree(a="")).told("q", lambda: (told, {}))

    assert memory(shelf).of(tree(a="")).told("q", lambda: (Told(outcome=Known("asked again")), {})) == told


@pytest.mark.parametrize(
    "strange", ["text", 7, [], [3], [{"files": []}], [{"told": {}}], {"files": {}, "told": {}}], ids=repr
)
def test_a_record_of_another_shape_is_none(strange: Json) -> None:
    class Strange(Shelf):
        def record(self, kind: str, key: str) -> Json | None:
            return strange

    engine = Engine(tree(a="one"))

    assert memory(Strange()).of(engine.tree).told("q", engine).outcome == Known("one")
    assert engine.asked == 1


@pytest.mark.parametrize("runner", [Runner.V1, Runner.V2, None])
def test_a_choice_of_runner_is_kept_as_an_answer(runner: Runner | None) -> None:
    choice = RunnerChoice(runner=runner, why="the flag is off", steps=(Step(Place(A, 2, 2), "decides"),))

    assert as_choice(as_told(choice)) == choice
