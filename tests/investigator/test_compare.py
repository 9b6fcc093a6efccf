"""Two engines next to each other: what differs, what makes them equal, which lines changed between."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from investigator.compare import Asked, compare
from investigator.comparison import Comparison, Side
from investigator.model import Evidence, Finding, Remedy, RemedyKind, Runner, Verdict
from investigator.reports import compare as shown
from investigator.sources.text_tree import TextTree
from tests.support import builders

OLD = """\
class Planner:
    def taps(self, ids):
        return list(ids)

    def other(self):
        return 1
"""
NEW = """\
class Planner:
    def taps(self, ids):
        shifted = [number + 1 for number in ids]
        return shifted

    def other(self):
        return 2
"""
PATH = "vllm/planner.py"
OFFSET, DROP = "target-layer-offset", "cache-drop"


def finding(
    verdict: Verdict, why: str, line: int, contract: str = OFFSET, runner: Runner | None = None
) -> Finding:
    shown_at = Evidence(source="vllm", path=PATH, line=line, end_line=line, quote="x", role="shifts")
    theirs = replace(shown_at, source="draft", path="config.json")
    return builders.finding(
        contract=contract, runner=runner, verdict=verdict, why=why, evidence=(shown_at, theirs)
    )


def asked(text: str, *findings: Finding, name: str = "vllm==1", **changes: object) -> Asked:
    tree = TextTree(builders.source(), {PATH: text.encode()})
    side = Side(name=name, source=tree.source, runner=None, findings=findings, settings={})
    return Asked(replace(side, **changes), tree)


BROKEN = finding(Verdict.BROKEN, "every tap is one layer too early", 3)
HONOURED = finding(Verdict.HONOURED, "hidden_states[2, 4] are tapped", 3)


@pytest.fixture
def found() -> Comparison:
    return compare(asked(OLD, BROKEN), asked(NEW, HONOURED, name="vllm==2"), draft="z-lab/one")


def test_a_difference_shows_the_changed_lines_of_the_function_it_rests_on(found: Comparison) -> None:
    (row,) = found.differences

    assert (row.contract, row.a, row.b) == (OFFSET, BROKEN, HONOURED)
    (change,) = row.changes
    assert (change.path, change.function) == (PATH, "Planner.taps")
    assert change.diff.splitlines() == [
        f"--- a/{PATH}",
        f"+++ b/{PATH}",
        "@@ -1,2 +1,3 @@",
        " def taps(self, ids):",
        "-    return list(ids)",
        "+    shifted = [number + 1 for number in ids]",
        "+    return shifted",
    ]  # what changed in Planner.other is no part of the argument


def test_between_two_engines_no_lines_are_laid_over_each_other() -> None:
    other = TextTree(builders.source("sglang"), {PATH: NEW.encode()})
    b = Side(name="sglang==1", source=other.source, runner=None, findings=(HONOURED,), settings={})

    (row,) = compare(asked(OLD, BROKEN), Asked(b, other), draft="z-lab/one").differences

    assert row.changes == ()


def test_only_the_engines_own_lines_are_shown_for_a_side(found: Comparison) -> None:
    assert [evidence.source for evidence in found.a.evidence(found.rows[0].a)] == ["vllm"]


def test_one_verdict_for_two_reasons_is_told_apart_from_a_difference() -> None:
    off = finding(Verdict.BROKEN, "every group (off by default)", 3, DROP)
    on = finding(Verdict.BROKEN, "every group (on by default)", 3, DROP)

    found = compare(asked(OLD, off), asked(NEW, on), draft="z-lab/one")

    assert found.differences == ()
    assert [row.differs_in_kind for row in found.rows] == [True]
    assert len(found.rows[0].changes) == 1


def test_promises_that_nobody_needs_do_not_differ_in_kind() -> None:
    one = finding(Verdict.NOT_APPLICABLE, "no windows", 3)
    two = finding(Verdict.NOT_APPLICABLE, "none", 3)

    assert not compare(asked(OLD, one), asked(NEW, two), draft="d").rows[0].differs_in_kind


def test_each_engine_counts_on_the_runner_that_it_uses() -> None:
    v1 = finding(Verdict.BROKEN, "early", 3, runner=Runner.V1)
    v2 = finding(Verdict.HONOURED, "right", 3, runner=Runner.V2)
    a, b = asked(OLD, v1, v2, runner=Runner.V1), asked(NEW, v1, v2, runner=Runner.V2)

    found = compare(a, b, draft="d")

    assert [(row.a, row.b, row.in_use) for row in found.rows] == [(v1, v2, True)]


def test_a_runner_that_is_not_the_default_is_named_where_it_differs() -> None:
    same = finding(Verdict.HONOURED, "right", 3, runner=Runner.V2)
    before = finding(Verdict.BROKEN, "early", 3, runner=Runner.V1)
    after = finding(Verdict.HONOURED, "right now", 3, runner=Runner.V1)

    found = compare(
        asked(OLD, before, same, runner=Runner.V2), asked(NEW, after, same, runner=Runner.V2), draft="d"
    )

    assert [(row.a, row.b, row.in_use) for row in found.rows] == [(same, same, True), (before, after, False)]


def test_a_contract_that_one_engine_is_not_asked_about_is_no_difference() -> None:
    lookahead = finding(Verdict.HONOURED, "16 slots", 3, "lookahead")

    found = compare(asked(OLD, lookahead), asked(NEW), draft="d")

    assert (found.differences, found.rows[0].b) == ((), None)


def test_what_is_not_known_is_undecided() -> None:
    unknown = finding(Verdict.UNKNOWN, "a loop", 3)

    found = compare(asked(OLD, BROKEN), asked(NEW, unknown), draft="d")

    assert [row.contract for row in found.undecided] == [OFFSET]


SETTING = Remedy(kind=RemedyKind.SETTING, ref="VLLM_USE_V2_MODEL_RUNNER=1", effect="runs the V2 model runner")


def test_settings_are_named_for_the_side_that_needs_them() -> None:
    settings = {OFFSET: (SETTING,), DROP: ()}

    (row,) = compare(
        asked(OLD, BROKEN, settings=settings),
        asked(NEW, HONOURED, name="vllm==2", settings=settings),
        draft="d",
    ).differences

    assert row.settings == (SETTING,)


# -- as text ---------------------------------------------------------------------------


def test_the_table_on_a_terminal(found: Comparison) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(shown.for_terminal(found))
    text = console.export_text()

    assert text.splitlines()[0].rstrip() == f"z-lab/one: vllm==2 keeps {OFFSET}"
    assert "✗ broken" in text
    assert f"{PATH}:3" in text
    assert "+    shifted = [number + 1 for number in ids]" in text


def test_the_title_says_what_drafts_and_what_both_deployments_set(found: Comparison) -> None:
    own = replace(found, method="mtp", deployment={"--attention-backend": "triton"})
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(shown.for_terminal(own))

    first = console.export_text().splitlines()[0].rstrip()
    assert first == f"z-lab/one (its MTP layers), --attention-backend=triton: vllm==2 keeps {OFFSET}"
    assert shown.as_markdown(own).splitlines()[0] == (
        "# `z-lab/one` (its MTP layers): vllm==1 and vllm==2, --attention-backend=triton"
    )
    value = json.loads(shown.as_json(own))
    assert (value["method"], value["deployment"]) == ("mtp", {"--attention-backend": "triton"})


def test_the_page_in_markdown(found: Comparison) -> None:
    text = shown.as_markdown(found)

    assert f"| {OFFSET} | ✗ broken | ✓ honoured |" in text
    assert "**vllm==1**: ✗ broken: every tap is one layer too early" in text
    assert "```diff" in text


def test_the_object_in_json(found: Comparison) -> None:
    value = json.loads(shown.as_json(found))

    assert (value["schema"], value["a"]["engine"], value["b"]["engine"]) == (1, "vllm==1", "vllm==2")
    (row,) = value["contracts"]
    assert row["differs"]
    assert (row["a"]["verdict"], row["b"]["verdict"]) == ("broken", "honoured")
    assert row["a"]["evidence"][0]["line"] == 3
    assert row["changes"][0]["function"] == "Planner.taps"


def test_two_that_keep_the_same() -> None:
    found = compare(asked(OLD, HONOURED), asked(NEW, HONOURED, name="vllm==2"), draft="d")

    assert shown.conclusion(found) == "vllm==1 and vllm==2 keep the same promises"


def test_hostile_names_stay_text() -> None:
    bad = "\x1b[31m| `x` | <script>"
    found = compare(asked(OLD, BROKEN, name=bad), asked(NEW, HONOURED), draft=bad)

    console = Console(width=120, record=True, file=io.StringIO())
    console.print(shown.for_terminal(found))

    assert "\x1b[31m|" not in console.export_text()
    assert "\x1b" not in shown.as_markdown(found)
    assert "| <script>" not in shown.as_markdown(found)


def test_a_fault_of_both_that_one_sleeps_through_is_told() -> None:
    awake = replace(finding(Verdict.BROKEN, "dropped: on by default", 3), live=True)
    asleep = replace(finding(Verdict.BROKEN, "dropped: off by default", 3), live=False)

    found = compare(asked(OLD, awake), asked(OLD, asleep, name="vllm==2"), draft="d")

    assert shown.conclusion(found) == (
        "vllm==1 and vllm==2 keep the same promises; target-layer-offset is broken in both, and by default "
        "met only in vllm==1"
    )


def test_a_runner_that_is_not_the_default_is_named_in_its_heading() -> None:
    early = finding(Verdict.BROKEN, "early", 3, runner=Runner.V1)
    right = finding(Verdict.HONOURED, "right", 3, runner=Runner.V1)
    same = finding(Verdict.HONOURED, "right", 3, runner=Runner.V2)
    a, b = (asked(OLD, one, same, runner=Runner.V2) for one in (early, right))

    page = shown.as_markdown(compare(a, b, draft="d"))

    assert "## target-layer-offset on V1, not the default" in page
