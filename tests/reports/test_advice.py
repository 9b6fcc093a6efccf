"""What to do, in a few sentences."""

from dataclasses import replace

import pytest

from investigator.model import PatchProof, Remedy, RemedyKind, Runner, Verdict
from investigator.reports.advice import advice
from tests.support import builders

SWITCH = Remedy(kind=RemedyKind.SETTING, ref="--no-enable-prefix-caching", effect="at a cost")


def fault(contract, **changes):
    return builders.finding(contract=contract, remedies=changes.pop("remedies", ()), **changes)


def run(*findings, patches=(), pull_requests=(), **changes):
    return builders.investigation(findings=findings, patches=patches, pull_requests=pull_requests, **changes)


def patch(*repaired, eased=()):
    proof = PatchProof(applies=True, reverses=True, parses=True, repaired=repaired, eased=eased)
    return builders.patch(proof=proof)


def test_patches_come_first_with_what_they_leave():
    findings = [fault(name) for name in ("layer-types", "lookahead", "rope", "config-coverage")]
    patches = (patch("layer-types/v1", eased=("config-coverage/v1",)), patch("lookahead"))

    assert advice(run(*findings, patches=patches))[0] == (
        "Put the 2 patches below on this engine: layer-types and lookahead are repaired then, "
        "config-coverage in part; rope stays as it is."
    )


def test_a_setting_says_what_it_avoids():
    findings = [fault(name, remedies=(SWITCH,)) for name in ("cache-drop", "lookahead")]

    (step, *_) = advice(run(*findings))
    assert step == (
        "Without a patch, --no-enable-prefix-caching avoids cache-drop and lookahead, "
        "at the cost named below."
    )


def test_a_merged_pull_request_points_to_later_releases():
    pull = replace(
        builders.investigation().pull_requests[0],
        merged_at=builders.NOON,
        contained=False,
        repairs=("layer-types",),
    )
    said = advice(run(fault("layer-types"), pull_requests=(pull,)))

    assert f"Later releases: {pull.ref}, merged on 2026-10-01, repairs layer-types" in said[0]
    assert not any("Later" in step for step in advice(run(fault("rope"), pull_requests=(pull,))))
    here = replace(pull, contained=True)
    assert not any("Later" in step for step in advice(run(fault("layer-types"), pull_requests=(here,))))


def test_what_sleeps_is_said():
    assert "Dormant with the defaults of this case, until a setting changes: cache-drop." in advice(
        run(fault("cache-drop", live=False))
    )


def test_a_condition_is_the_advice():
    partial = fault("config-coverage", verdict=Verdict.PARTIAL, why="holds as long as x is set")

    assert advice(run(partial)) == ("Mind the condition of config-coverage: holds as long as x is set.",)


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([fault("rope", verdict=Verdict.HONOURED)], "Nothing needs a repair"),
        ([fault("rope", runner=Runner.V2)], "Nothing"),
        ([fault("rope", verdict=Verdict.UNKNOWN)], "Not decided: rope; the reasons are below."),
        ([fault("rope")], "No patch, no setting is known; 'investigate timeline --engine vllm' shows"),
    ],
    ids=["sound", "only on the other runner", "undecided", "no way out"],
)
def test_where_there_is_nothing_to_put_on(findings, said):
    steps = advice(
        run(*findings, fault("kept", verdict=Verdict.HONOURED)) if "Nothing" in said else run(*findings)
    )

    assert steps[0].startswith(said)


def test_an_accepted_finding_asks_for_nothing():
    known = run(fault("rope"), extra={"accepted": ["rope/v1"]})

    assert advice(known)[0].startswith("Nothing needs a repair")


def test_what_was_missing_is_named_with_what_is_undecided():
    hub = builders.agent_report("hub", error="the target's config cannot be had: give --target")
    steps = advice(
        run(fault("rope", verdict=Verdict.UNKNOWN), fault("kept", verdict=Verdict.HONOURED), agents=(hub,))
    )

    assert steps == (
        "Nothing of what was decided needs a repair.",
        "Not decided: rope; the reasons are below. "
        "Not to be had: the target's config cannot be had: give --target.",
    )
