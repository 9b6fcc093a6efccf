"""The effect of a change is the difference of the answers."""

import pytest

from investigator.model import Verdict
from investigator.patches.verify import Question, Verdicts
from investigator.pull_requests.effect import Change, contained_by_effect, effect_of
from investigator.pull_requests.fit import Fit
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
    quoted,
)

SHIFT = changes(worker=(WORKER, FIXED_WORKER))


def test_the_effect_is_exactly_what_changes() -> None:
    effect = effect_of(SHIFT, engine(), ask)

    assert effect.changes == (Change(OFFSET, Verdict.BROKEN, Verdict.HONOURED),)
    assert str(effect) == "target-layer-offset/v1: broken → honoured"
    assert effect.unchanged == (DROP,)
    assert effect.repairs == (OFFSET,)
    assert (effect.fit, effect.contained) == (Fit.APPLIES, False)


def test_a_change_that_answers_nothing_anew_says_so() -> None:
    effect = effect_of(changes(worker=(WORKER, WORKER + b"# end\n")), engine(), ask)

    assert (effect.changes, str(effect)) == ((), "changes no answer")


def test_taking_a_repair_back_is_seen_as_harm() -> None:
    effect = effect_of(changes(worker=(FIXED_WORKER, WORKER)), engine(worker=FIXED_WORKER), ask)

    assert [change.harms for change in effect.changes] == [True]
    assert effect.repairs == ()


def test_one_that_is_there_is_contained_and_asks_nothing() -> None:
    def never(tree: object) -> Verdicts:
        raise AssertionError("nothing has to be asked")

    effect = effect_of(SHIFT, engine(worker=FIXED_WORKER), never, before={})

    assert (effect.fit, effect.contained) == (Fit.CONTAINED, True)


def test_one_that_conflicts_because_a_later_form_is_there_is_contained_by_effect() -> None:
    later = WORKER.replace(
        b"    ids = config.target_layer_ids\n    return tuple(ids)\n",
        b"    return tuple(layer + 1 for layer in config.ids())\n",
    )

    effect = effect_of(SHIFT, engine(worker=later), ask, repairs=["target-layer-offset"])

    assert (effect.fit, effect.contained) == (Fit.CONFLICTS, True)
    assert effect.why == (
        "what it repairs is honoured here: target-layer-offset; "
        "as text it conflicts at vllm/worker.py:3: line 5 is not what the change expects; "
        "0 of 1 lines that it adds are here"
    )


def test_without_a_record_the_line_that_decides_tells_what_is_there() -> None:
    """Nobody wrote down what this pull request repairs; the engine's deciding line is one it adds."""
    later = FIXED_WORKER.replace(b"    ids = config.target_layer_ids\n", b"    ids = config.ids()\n")
    tree = engine(worker=later)
    evidence = {OFFSET: [quoted(tree, "vllm/worker.py", "layer + 1")]}

    effect = effect_of(SHIFT, tree, ask, evidence=evidence)
    blind = effect_of(SHIFT, tree, ask)

    assert effect.contained is True
    assert effect.why.startswith("target-layer-offset/v1 is honoured here by a line that it adds")
    assert blind.contained is None
    assert blind.why.startswith("it conflicts at vllm/worker.py:3")


def test_one_line_of_many_is_not_the_change() -> None:
    """The deciding line is here, but little else of what the pull request adds."""
    large = FIXED_WORKER + b"".join(b"def helper_%d(): ...\n" % i for i in range(9))
    tree = engine(
        worker=FIXED_WORKER.replace(b"    ids = config.target_layer_ids\n", b"    ids = config.ids()\n")
    )
    evidence = {OFFSET: [quoted(tree, "vllm/worker.py", "layer + 1")]}

    effect = effect_of(changes(worker=(WORKER, large)), tree, ask, evidence=evidence)

    assert effect.contained is None
    assert effect.why.endswith("1 of 10 lines that it adds are here")


def test_a_deciding_line_that_was_there_before_the_change_proves_nothing() -> None:
    change = changes(worker=(FIXED_WORKER, FIXED_WORKER.replace(b"import os\n", b"import sys\n")))
    tree = engine(worker=FIXED_WORKER.replace(b"import os\n", b"import re\n"))
    evidence = {OFFSET: [quoted(tree, "vllm/worker.py", "layer + 1")]}

    assert effect_of(change, tree, ask, evidence=evidence).contained is None


def test_a_change_outside_the_engine_cannot_be_decided() -> None:
    effect = effect_of((), engine(), ask)

    assert (effect.fit, effect.contained) == (Fit.OUTSIDE, None)


def test_two_repairs_at_once() -> None:
    both = changes(worker=(WORKER, FIXED_WORKER), scheduler=(SCHEDULER, FIXED_SCHEDULER))

    assert effect_of(both, engine(), ask).repairs == (OFFSET, DROP)


@pytest.mark.parametrize(
    ("verdicts", "repairs", "contained"),
    [
        ({OFFSET: Verdict.HONOURED}, ["target-layer-offset"], True),
        ({OFFSET: Verdict.BROKEN}, ["target-layer-offset"], False),
        ({OFFSET: Verdict.HONOURED, DROP: Verdict.BROKEN}, ["target-layer-offset", "cache-drop"], False),
        ({OFFSET: Verdict.UNKNOWN}, ["target-layer-offset"], None),
        ({OFFSET: Verdict.REFUSED}, ["target-layer-offset"], None),
        ({OFFSET: Verdict.HONOURED}, ["lookahead"], None),
        ({OFFSET: Verdict.HONOURED}, [], None),
    ],
)
def test_what_a_record_says_is_compared_with_the_verdicts(
    verdicts: dict[Question, Verdict], repairs: list[str], contained: bool | None
) -> None:
    assert contained_by_effect(verdicts, repairs)[0] is contained


def test_one_runner_that_keeps_it_and_one_that_breaks_it_is_not_contained() -> None:
    v2: Question = ("target-layer-offset", None)

    found = contained_by_effect({OFFSET: Verdict.BROKEN, v2: Verdict.HONOURED}, ["target-layer-offset"])

    assert found[0] is False
