"""Ways to serve without a patch: what each avoids, and what it leaves."""

import shlex
from dataclasses import replace

from investigator.model import Finding, Runner, Verdict
from investigator.patches.detours import Detour, detours, remedies_of, usable
from investigator.patches.settings import Setting
from tests.patches import miniature

SWITCH = Setting(contract="layer-types", environment={"VLLM_USE_V2_MODEL_RUNNER": "1"}, effect="runs V2")
DROP_OFF = Setting(contract="cache-drop", speculative={"disable_drop": True}, effect="keeps the block")
NO_CACHE = Setting(contract="cache-drop", flags=("--no-enable-prefix-caching",), effect="no reuse")
NO_CACHE_TOO = replace(NO_CACHE, contract="lookahead")


def finding(contract: str, runner: Runner | None = None, verdict: Verdict = Verdict.BROKEN) -> Finding:
    (made,) = miniature.fault(contract).findings
    return replace(made, runner=runner, verdict=verdict)


TYPES_V1 = finding("layer-types", Runner.V1)
TYPES_V2 = finding("layer-types", Runner.V2, Verdict.HONOURED)
DROP = finding("cache-drop")
LOOKAHEAD = finding("lookahead")


def told(found: Detour) -> tuple[Runner | None, tuple[str, ...], tuple[str, ...]]:
    return found.runner, found.avoids, found.leaves


def ways(settings: list[Setting], findings: list[Finding], **environment: str) -> tuple[Detour, ...]:
    given = Setting(contract="", effect="", environment=environment)
    return detours(miniature.checkpoint(), settings, findings, Runner.V1, given)


def test_one_way_stays_on_the_runner_and_one_switches() -> None:
    stay, switch = ways([SWITCH, DROP_OFF, NO_CACHE], [TYPES_V1, TYPES_V2, DROP])
    assert told(stay) == (Runner.V1, ("cache-drop",), ("layer-types",))
    assert told(switch) == (Runner.V2, ("layer-types", "cache-drop"), ())
    assert shlex.split(switch.command)[0] == "VLLM_USE_V2_MODEL_RUNNER=1"
    assert '"disable_drop": true' in switch.command
    assert "--no-enable-prefix-caching" not in switch.command


def test_a_setting_that_avoids_two_faults_needs_no_other() -> None:
    (found,) = ways([DROP_OFF, NO_CACHE, NO_CACHE_TOO], [DROP, LOOKAHEAD])
    assert told(found) == (Runner.V1, ("cache-drop", "lookahead"), ())
    assert shlex.split(found.command)[-1] == "--no-enable-prefix-caching"
    assert "disable_drop" not in found.command


def test_a_runner_with_as_many_faults_is_no_way() -> None:
    other = finding("target-layer-offset", Runner.V2)
    assert ways([SWITCH], [TYPES_V1, TYPES_V2, other]) == ()


def test_what_is_not_known_there_is_said() -> None:
    (found,) = ways([SWITCH], [TYPES_V1, TYPES_V2, finding("rope", Runner.V2, Verdict.UNKNOWN)])
    assert (found.avoids, found.undecided) == (("layer-types",), ("rope",))


def test_a_runner_that_stops_on_this_drafter_is_not_offered() -> None:
    refused = finding("target-capture", Runner.V2, Verdict.REFUSED)
    assert usable([SWITCH, DROP_OFF], [TYPES_V1, refused]) == (DROP_OFF,)
    assert usable([SWITCH, DROP_OFF], [TYPES_V1, TYPES_V2]) == (SWITCH, DROP_OFF)


def test_on_a_runner_that_stops_there_is_no_way_but_to_leave_it() -> None:
    refused = replace(TYPES_V1, verdict=Verdict.REFUSED)
    (found,) = ways([SWITCH, DROP_OFF], [refused, TYPES_V2, DROP])
    assert told(found) == (Runner.V2, ("layer-types", "cache-drop"), ())


def test_what_the_deployment_sets_stays_set() -> None:
    (found,) = ways([DROP_OFF], [DROP], VLLM_X="1 2")
    assert shlex.split(found.command)[:3] == ["VLLM_X=1 2", "vllm", "serve"]


def test_each_finding_gets_its_settings() -> None:
    found = remedies_of([SWITCH, DROP_OFF, NO_CACHE], [TYPES_V1, TYPES_V2, DROP, LOOKAHEAD])
    assert {question: [remedy.ref for remedy in remedies] for question, remedies in found.items()} == {
        "layer-types/v1": ["VLLM_USE_V2_MODEL_RUNNER=1"],
        "cache-drop": ["""--speculative-config '{"disable_drop": true}'""", "--no-enable-prefix-caching"],
    }
