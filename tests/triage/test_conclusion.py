"""Symptom and findings joined."""

from collections.abc import Callable

import pytest

from investigator.model import Finding, Runner, Verdict
from investigator.triage import Triage
from investigator.triage.conclusion import conclusion, confirm

Judged = Callable[[str], Triage]


def finding(
    contract: str, verdict: Verdict, runner: Runner | None = None, *, live: bool | None = None
) -> Finding:
    return Finding(contract=contract, runner=runner, verdict=verdict, why="", agents=("a", "b"), live=live)


def every(triage: Triage, verdict: Verdict) -> list[Finding]:
    return [finding(suspect.contract, verdict) for suspect in triage.suspects]


def test_a_broken_strong_suspect_is_the_answer(judged: Judged) -> None:
    triage = judged("seed.log")
    found = [
        finding("layer-types", Verdict.BROKEN, Runner.V1),
        finding("layer-types", Verdict.HONOURED, Runner.V2),
    ]
    assert conclusion(triage, found) == (
        "The engine was found to break layer-types, which is known to look exactly like this."
    )
    first = confirm(triage, found)[0]
    assert (first.suspect.contract, first.verdicts) == ("layer-types", ("v1 broken", "v2 honoured"))


def test_a_weak_suspect_only_can_look_like_this(judged: Judged) -> None:
    found = [finding("target-layer-offset", Verdict.BROKEN)]
    assert "can look like this" in conclusion(judged("seed.log"), found)


def test_a_fault_that_sleeps_is_shown_and_not_blamed(judged: Judged) -> None:
    triage = judged("no-prefix-hits-metrics.txt")
    found = [*every(triage, Verdict.HONOURED)[1:], finding("cache-drop", Verdict.BROKEN, live=False)]
    assert "No contract" in conclusion(triage, found)
    assert confirm(triage, found)[0].verdicts == ("broken (not in this case's settings)",)


def test_all_sound_points_away_from_the_engine(judged: Judged) -> None:
    triage = judged("seed.log")
    assert "look at the pairing" in conclusion(triage, every(triage, Verdict.HONOURED))
    triage = judged("decays-early-metrics.txt")
    assert "speaks for the engine" in conclusion(triage, every(triage, Verdict.HONOURED))


@pytest.mark.parametrize("verdict", [Verdict.UNKNOWN, None])
def test_what_is_not_decided_is_said(judged: Judged, verdict: Verdict | None) -> None:
    triage = judged("seed.log")
    found = every(triage, Verdict.HONOURED)[1:]
    found += [finding(triage.suspects[0].contract, verdict)] if verdict else []
    assert "not decided" in conclusion(triage, found)


def test_without_findings_nothing_is_concluded(judged: Judged) -> None:
    assert conclusion(judged("seed.log"), []) == ""
