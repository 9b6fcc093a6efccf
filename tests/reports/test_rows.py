"""What a report shows first, and what it folds away."""

from investigator.model import NotChecked, Runner, Verdict
from investigator.reports import content
from investigator.reports.rows import decisive, table_rows, telling
from tests.support import builders


def reads(*keys, source="vllm"):
    return tuple(
        builders.evidence(source=source, line=n, role=f"reads {key}") for n, key in enumerate(keys, 1)
    )


def test_findings_to_act_on_stand_alone_and_the_rest_by_verdict():
    findings = (
        builders.finding(contract="rope", runner=None, verdict=Verdict.HONOURED),
        builders.finding(contract="mask-token", runner=Runner.V1, verdict=Verdict.HONOURED),
        builders.finding(contract="layer-types", runner=Runner.V2, verdict=Verdict.BROKEN),
        builders.finding(contract="lookahead", runner=None, verdict=Verdict.PARTIAL),
    )

    rows = table_rows(builders.investigation(findings=findings))

    assert [(row.contracts, row.verdict.value, row.runner, row.in_use) for row in rows] == [
        (("lookahead",), "partial", None, True),
        (("rope", "mask-token"), "honoured", Runner.V1, True),
        (("layer-types",), "broken", Runner.V2, False),
    ]


def test_runners_stay_apart_where_none_is_known_to_be_in_use():
    findings = tuple(builders.finding(runner=runner, verdict=Verdict.HONOURED) for runner in Runner)

    rows = table_rows(builders.investigation(findings=findings, default_runner=None))

    assert [row.runner for row in rows] == [Runner.V1, Runner.V2]


def test_runners_that_are_not_supported_for_different_reasons_have_a_row_each():
    findings = tuple(
        builders.finding(contract=name, verdict=Verdict.UNSUPPORTED, why=why)
        for name, why in (("rope", "no method"), ("lookahead", "no method"), ("mask-token", "no runner"))
    )

    rows = table_rows(builders.investigation(findings=findings))

    assert [(row.contracts, row.why) for row in rows] == [
        (("rope", "lookahead"), "no method"),
        (("mask-token",), "no runner"),
    ]


def test_what_one_error_refuses_has_one_row_with_every_way_out():
    findings = tuple(
        builders.finding(contract=name, verdict=Verdict.REFUSED, why="the engine stops: ValueError")
        for name in ("rope", "lookahead")
    )

    investigation = builders.investigation(findings=findings)

    (row,) = table_rows(investigation)

    assert (row.contracts, row.why) == (("rope", "lookahead"), "the engine stops: ValueError")
    assert [way.name for way in content.in_short(investigation, row)] == ["0.22.1", "0001-shift.patch"]


def test_little_evidence_is_shown_whole():
    finding = builders.finding(evidence=reads(*"abcdefgh"))

    assert decisive(finding) == (finding.evidence, ())


def test_of_much_evidence_the_places_about_the_named_keys_are_shown():
    evidence = (*reads(*(f"key_{n}" for n in range(9))), *reads("layer_types", source="dflash"))
    finding = builders.finding(happens="never reach the draft model: layer_types, key_3", evidence=evidence)

    shown, more = decisive(finding)

    assert [(item.source, item.role) for item in shown] == [
        ("vllm", "reads key_3"),
        ("dflash", "reads layer_types"),
    ]
    assert len(more) == 8


def test_without_a_named_key_each_source_shows_its_first():
    evidence = (*reads(*"abcdefgh"), *reads(*"xyz", source="dflash"))
    finding = builders.finding(why="they differ", happens="they differ", evidence=evidence)

    shown, more = decisive(finding)

    assert "".join(item.role[-1] for item in shown) == "abcxyz"
    assert "".join(item.role[-1] for item in more) == "defgh"


def test_a_kept_promise_is_shown_in_the_engine():
    finding = builders.finding(
        evidence=(builders.evidence(source="draft"), builders.evidence(line=7), builders.evidence(line=9))
    )

    found = telling(builders.investigation(), finding)

    assert found is not None
    assert (found.source, found.line) == ("vllm", 7)
    assert telling(builders.investigation(), builders.finding(evidence=())) is None


def test_what_is_open_is_told_once_for_each_reason():
    findings = tuple(
        builders.finding(contract=name, runner=None, verdict=Verdict.UNKNOWN, why="no target")
        for name in ("rope", "head-sharing")
    )
    open_too = (
        NotChecked(what="rope in vllm-1.whl", why="no target"),
        NotChecked(what="the card", why="the Hub is away"),
        NotChecked(what="the config", why="the Hub is away"),
    )

    found = content.unchecked(builders.investigation(findings=findings, not_checked=open_too))

    assert found == (
        content.Unchecked("no target", ("rope", "head-sharing"), ()),
        content.Unchecked("the Hub is away", (), ("the card", "the config")),
    )
