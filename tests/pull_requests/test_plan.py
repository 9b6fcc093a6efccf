"""Several pull requests on one engine: stacks, duplicates, and the few that are enough."""

from investigator.model import Verdict
from investigator.patches.verify import Verdicts
from investigator.pull_requests.plan import Candidate, plan
from investigator.sources.interface import Tree
from tests.support.small_engine import (
    DROP,
    FIXED_SCHEDULER,
    FIXED_WORKER,
    OFFSET,
    SCHEDULER,
    WORKER,
    ask,
    changes,
    engine,
)

SHIFT = Candidate(ref="e#1", files=changes(worker=(WORKER, FIXED_WORKER)))
DROPS = Candidate(ref="e#2", files=changes(scheduler=(SCHEDULER, FIXED_SCHEDULER)))
BOTH = Candidate(
    ref="e#3", files=changes(worker=(WORKER, FIXED_WORKER), scheduler=(SCHEDULER, FIXED_SCHEDULER))
)
AGAIN = Candidate(
    ref="e#4",
    files=changes(
        worker=(WORKER, WORKER.replace(b"tuple(ids)", b"tuple(1 + layer + 1 - 1 for layer in ids)"))
    ),
)
ON_TOP = Candidate(
    ref="e#5",
    files=changes(
        worker=(FIXED_WORKER, FIXED_WORKER.replace(b"layer + 1 for", b"layer + 1 + 0 for")),
        scheduler=(SCHEDULER, FIXED_SCHEDULER),
    ),
)
HARMFUL = Candidate(
    ref="e#6",
    files=changes(
        worker=(FIXED_WORKER, WORKER),
        scheduler=(SCHEDULER, FIXED_SCHEDULER),
    ),
)


def test_one_that_repairs_everything_beats_two() -> None:
    found = plan([SHIFT, DROPS, BOTH], engine(), ask)

    assert (found.smallest, found.repaired) == (("e#3",), (OFFSET, DROP))


def test_two_that_repair_one_each_go_together() -> None:
    found = plan([SHIFT, DROPS], engine(), ask)

    assert (found.smallest, found.repaired) == (("e#1", "e#2"), (OFFSET, DROP))
    assert found.complete


def test_those_that_repair_the_same_are_redundant() -> None:
    found = plan([SHIFT, AGAIN], engine(), ask)

    assert found.redundant == (("e#1", "e#4"),)
    assert found.smallest == ("e#1",)


def test_one_that_needs_another_below_it_is_stacked_and_applied_in_order() -> None:
    found = plan([ON_TOP, SHIFT], engine(), ask)

    assert found.stacks == (("e#5", "e#1"),)
    assert (found.smallest, found.repaired) == (("e#1", "e#5"), (OFFSET, DROP))


def test_one_that_breaks_a_kept_promise_is_never_chosen() -> None:
    found = plan([HARMFUL], engine(worker=FIXED_WORKER), ask)

    assert found.effects["e#6"].repairs == (DROP,)
    assert found.smallest == ()


def test_one_that_is_there_already_is_not_chosen() -> None:
    found = plan([SHIFT, DROPS], engine(worker=FIXED_WORKER), ask)

    assert found.effects["e#1"].contained is True
    assert found.smallest == ("e#2",)


def test_nothing_to_choose_from() -> None:
    found = plan([], engine(), ask)

    assert (found.smallest, found.repaired, found.stacks) == ((), (), ())


def test_the_search_ends_and_says_that_it_was_cut_short() -> None:
    """Twenty that each repair a question of their own: how often is asked has a bound."""
    many = [
        Candidate(ref=f"e#{i}", files=changes(**{f"m{i}": (b"a\n", b"b\n")}))  # one file each
        for i in range(20)
    ]
    asked = 0

    def count(tree: Tree) -> Verdicts:
        nonlocal asked
        asked += 1
        return {
            (f"q{i}", None): Verdict.HONOURED if tree.read(f"vllm/m{i}.py") == b"b\n" else Verdict.BROKEN
            for i in range(20)
        }

    base = engine()
    tree = type(base)(base.source, {f"vllm/m{i}.py": b"a\n" for i in range(20)})
    found = plan(many, tree, count)

    assert asked <= 1 + 20 + 12
    assert not found.complete
    assert 1 <= len(found.smallest) <= 4
